#pragma once

#include <cstdint>
#include <string_view>

#include "cupel/core/reduction.h"
#include "cupel/stats/statistics.h"
#include "cupel/trial/tensor_value.h"
#include "lua_state.h"

namespace cupel::scripting_detail {

// Tensor values in scripts: immutable arrays whose operations run here. Their bytes count against
// the state's memory, each operation's work against its instructions and its clock.
//
// What is computed is f64: integers beyond 2^53 are rounded first. Sums, means and norms are those
// of the stats room, to the bit.

/// Makes the type of values known to a state, and adds the functions that make values to the table
/// on top. Once per state.
void add_value_functions(lua_State* lua);

/// Pushes a tensor's value, without copying its bytes. `what` names it in errors:
/// "gradient/fc1.weight at step 10".
void push_value(lua_State* lua, TensorValue value, std::string_view what);

/// Counts of special values, as a table of scripts: `nan`, `pos_inf`, `neg_inf` and `zero`. The
/// zeros among values that are no floating-point numbers are counted apart.
struct CountTable {
  ValueCounts counts;
  std::int64_t zero;
  int push(lua_State* lua) const;
};

/// A reduction of a tensor's value, numbers, in pieces and at the cost of a value's method. The
/// caller counts the value's bytes.
double reduce(lua_State* lua, TensorValue value, Reduction reduction);

}  // namespace cupel::scripting_detail
