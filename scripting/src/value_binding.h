#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "array.h"
#include "array_arithmetic.h"
#include "cupel/stats/statistics.h"
#include "held.h"
#include "lua_state.h"
#include "object_type.h"

// What the functions of values share. Each is named by what scripts call it, `function`, in errors.

namespace cupel::scripting_detail {

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

/// Its name in Lua's own messages: "attempt to call a tensor value".
template <>
struct ObjectType<Value> {
  static constexpr const char* kName = "tensor";
};
/// Throws UsageError in words of its own.
template <>
Value& check_object<Value>(lua_State* lua, int argument);

void push(lua_State* lua, Array array, std::string name, std::shared_ptr<Known> known = nullptr,
          bool magnitudes = false);
/// Pushes one element: a number, a boolean or a text.
void push_element(lua_State* lua, const Array& array, std::int64_t index);
void push_element(lua_State* lua, const Value& value, std::int64_t index);

/// A result: a new value.
struct NewValue {
  Array array;
  std::string name;
  std::shared_ptr<Known> known = nullptr;
  bool magnitudes = false;
  int push(lua_State* lua) {
    scripting_detail::push(lua, std::move(array), std::move(name), std::move(known), magnitudes);
    return 1;
  }
};

/// A result: one element of an array.
struct Element {
  Array array;
  std::int64_t index;
  bool magnitude = false;
  int push(lua_State* lua) const;
};

/// The elements themselves, where they are not magnitudes that have to be computed.
const Array& elements_of(lua_State* lua, Value& value);
/// The same; throws UsageError if they are texts, which names the function that runs.
const Array& numbers_of(lua_State* lua, Value& value);
void require_numbers(lua_State* lua, const Value& value);
/// The statistics of `value.array`.
const Statistics& known_statistics(lua_State* lua, Value& value);

/// An argument that is a value or a number.
struct OperandArgument {
  Operand operand;
  std::string name;
  static OperandArgument from_lua(lua_State* lua, int place);
};
/// Throws UsageError if there is none.
Shape require_common_shape(std::string_view function, const OperandArgument& a,
                           const OperandArgument& b);

/// An axis of the value from its number in scripts, from 1 or from the end.
std::size_t check_axis(const Value& value, std::int64_t axis, const char* function);
/// An argument that is a shape: a table of integers, or all integers from its place on.
struct ShapeArgument {
  Shape shape;
  static ShapeArgument from_lua(lua_State* lua, int place);
};

std::string shape_text(const Shape& shape);  ///< "[2, 3]"
std::string number_text(double number);      ///< As Lua writes it.
/// "abs(gradient/a at step 3)"
std::string computed_name(std::string_view function, std::string_view a, std::string_view b = {});
[[noreturn]] void fail(std::string_view function, const std::string& problem);

// The methods and metamethods of values, by source file.
std::vector<Method> access_methods();
std::vector<Method> operation_methods();
std::vector<Method> reduction_methods();
/// v:where(mask), which is v[mask] as well.
NewValue where(Value& value, Value& mask, AnyArgument more);
/// Adds the functions that make values to the table on top.
void add_value_makers(lua_State* lua);

}  // namespace cupel::scripting_detail
