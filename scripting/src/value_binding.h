#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "array.h"
#include "array_arithmetic.h"
#include "cupel/stats/statistics.h"
#include "held.h"
#include "lua_state.h"

// What the functions of values share. Each is named by what scripts call it, `function`, in errors.

namespace cupel::lua {

/// What a state lets its scripts use.
class LuaBudget : public Budget {
 public:
  explicit LuaBudget(lua_State* lua) : lua_(lua) {}
  void charge(std::int64_t instructions) override { LuaState::of(lua_).charge(lua_, instructions); }
  std::shared_ptr<AlignedBuffer> allocate(std::size_t bytes) override;

 private:
  lua_State* lua_;
};

/// What is remembered of elements.
struct Known {
  std::optional<Statistics> statistics;
};

struct Value {
  Held held;
  Array array;
  std::string name;
  std::shared_ptr<Known> known;  ///< Of `array`.
  /// The value is the magnitudes of `array`, which are not computed before they are needed: their
  /// statistics are among the array's.
  bool magnitudes = false;

  DType dtype() const noexcept { return magnitudes ? DType::F64 : array.dtype(); }
  const Shape& shape() const noexcept { return array.shape(); }
};

void push(lua_State* lua, Array array, std::string name, std::shared_ptr<Known> known = nullptr,
          bool magnitudes = false);
/// Pushes one element: a number, a boolean or a text.
void push_element(lua_State* lua, const Array& array, std::int64_t index);
void push_element(lua_State* lua, const Value& value, std::int64_t index);

Value* to_value(lua_State* lua, int argument) noexcept;  ///< Null if it is none.
Value& check_value(lua_State* lua, int argument, const char* function);
/// The elements themselves, where they are not magnitudes that have to be computed.
const Array& elements_of(lua_State* lua, Value& value);
/// The same; throws UsageError if they are texts.
const Array& numbers_of(lua_State* lua, Value& value, const char* function);
void require_numbers(const Value& value, const char* function);
/// The statistics of `value.array`.
const Statistics& known_statistics(lua_State* lua, Value& value);

/// A value or a number among the arguments.
struct Argument {
  Operand operand;
  std::string name;
};
Argument check_operand(lua_State* lua, int argument, const char* function);
/// Throws UsageError if there is none.
Shape require_common_shape(const Argument& a, const Argument& b, const char* function);

std::int64_t check_integer(lua_State* lua, int argument, const char* function, const char* what);
/// An axis of the value from its number in scripts, from 1 or from the end.
std::size_t check_axis(const Value& value, std::int64_t axis, const char* function);
/// A shape from a table of integers, or from the integers from `argument` on.
Shape check_shape(lua_State* lua, int argument, const char* function);

/// The fields of a table of options; an argument that is nil or missing has none. Throws UsageError
/// where one is not among the names that are known.
class Options {
 public:
  Options(lua_State* lua, int argument, const char* function,
          std::initializer_list<const char*> names);
  std::optional<double> number(const char* name) const;
  std::optional<std::int64_t> integer(const char* name) const;
  bool flag(const char* name) const;
  /// Pushes a field; false and nothing if it is nil.
  bool push(const char* name) const;

 private:
  lua_State* lua_;
  int argument_;
  const char* function_;
};

std::string shape_text(const Shape& shape);  ///< "[2, 3]"
std::string number_text(double number);      ///< As Lua writes it.
/// "abs(gradient/a at step 3)"
std::string computed_name(std::string_view function, std::string_view a, std::string_view b = {});
[[noreturn]] void fail(const char* function, const std::string& problem);

// Each adds methods to the table on top.
void add_value_access(lua_State* lua);
void add_value_operations(lua_State* lua);
void add_value_reductions(lua_State* lua);
/// v:where(mask), which is v[mask] as well.
int where(lua_State* lua);
/// Adds operators to the metatable on top.
void add_value_operators(lua_State* lua);
/// Adds the functions that make values.
void add_value_makers(lua_State* lua);

}  // namespace cupel::lua
