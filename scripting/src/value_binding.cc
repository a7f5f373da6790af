// What the functions of values share: arguments, elements, statistics and memory.
//
// The bytes of arrays are not Lua's memory; LuaBudget counts them, and the work on them, against
// the limits of the state. The statistics of a value are computed once, when they are first needed.
// A wrong argument is a UsageError.

#include "value_binding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "array_reductions.h"
#include "cupel/core/error.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestComputedName = 120;

Statistics magnitudes_of(const Statistics& of_values) {
  Statistics statistics = of_values;
  statistics.counts.pos_inf += std::exchange(statistics.counts.neg_inf, 0);
  statistics.min = of_values.abs_min;
  statistics.max = of_values.abs_max;
  statistics.sum = of_values.l1;
  statistics.mean = of_values.abs_mean;
  statistics.variance = of_values.abs_variance;
  return statistics;
}

}  // namespace

std::shared_ptr<AlignedBuffer> LuaBudget::allocate(std::size_t bytes) {
  struct Block {
    Held held;
    AlignedBuffer buffer;
  };
  Held held(lua_, bytes + sizeof(Block));
  const auto block = std::make_shared<Block>(Block{std::move(held), AlignedBuffer(bytes)});
  return {block, &block->buffer};
}

void fail(std::string_view function, const std::string& problem) {
  throw UsageError(std::string(function) + ": " + problem);
}

std::string number_text(double number) {
  std::array<char, 32> text;
  const int size = lua_number2str(text.data(), text.size(), number);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::string computed_name(std::string_view function, std::string_view a, std::string_view b) {
  std::string name = std::string(function) + "(" + std::string(a);
  if (!b.empty()) name.append(", ").append(b);
  name += ")";
  return name.size() <= kLongestComputedName ? name : std::string(function) + "(...)";
}

void push_element(lua_State* lua, const Array& array, std::int64_t index) {
  if (array.is_text()) {
    const std::string_view text = array.text_at(index);
    constexpr std::size_t kCharactersPerInstruction = 64;
    if (text.size() >= kCharactersPerInstruction)
      LuaState::of(lua).charge(lua,
                               static_cast<std::int64_t>(text.size() / kCharactersPerInstruction));
    push(lua, text);
  } else if (array.dtype() == DType::Bool) {
    push(lua, array.data()[index] != std::byte{0});
  } else if (const std::optional<std::int64_t> integer = array.integer_at(index)) {
    push(lua, *integer);
  } else {
    push(lua, array.at(index));
  }
}

void push_element(lua_State* lua, const Value& value, std::int64_t index) {
  if (value.magnitudes)
    push(lua, std::abs(value.array.at(index)));
  else
    push_element(lua, value.array, index);
}

int Element::push(lua_State* lua) const {
  if (magnitude)
    scripting_detail::push(lua, std::abs(array.at(index)));
  else
    push_element(lua, array, index);
  return 1;
}

template <>
Value& check_object<Value>(lua_State* lua, int argument) {
  if (Value* const value = find_object<Value>(lua, argument)) return *value;
  fail(function_name(lua), std::string("a value is expected") +
                               (argument == 1 ? " before ':'" : "") + ", not " +
                               luaL_typename(lua, argument));
}

const Array& elements_of(lua_State* lua, Value& value) {
  if (!value.magnitudes) return value.array;
  LuaBudget budget(lua);
  Array magnitudes = apply(budget, Unary::Abs, value.array);
  auto known = std::make_shared<Known>();
  if (value.known->statistics) known->statistics = magnitudes_of(*value.known->statistics);
  value.array = std::move(magnitudes);
  value.known = std::move(known);
  value.magnitudes = false;
  return value.array;
}

void require_numbers(lua_State* lua, const Value& value) {
  if (value.array.is_text())
    fail(function_name(lua), value.name + " is utf8, which are no numbers");
}

const Array& numbers_of(lua_State* lua, Value& value) {
  require_numbers(lua, value);
  return elements_of(lua, value);
}

const Statistics& known_statistics(lua_State* lua, Value& value) {
  if (!value.known->statistics) {
    LuaBudget budget(lua);
    value.known->statistics = statistics_of(budget, value.array);
  }
  return *value.known->statistics;
}

OperandArgument OperandArgument::from_lua(lua_State* lua, int place) {
  if (lua_type(lua, place) == LUA_TNUMBER) {
    const double number = lua_tonumber(lua, place);
    return {Operand(number), number_text(number)};
  }
  Value* const value = find_object<Value>(lua, place);
  if (value == nullptr)
    fail(function_name(lua),
         std::string("a value or a number is expected, not ") + luaL_typename(lua, place));
  return {Operand(numbers_of(lua, *value)), value->name};
}

Shape require_common_shape(std::string_view function, const OperandArgument& a,
                           const OperandArgument& b) {
  const std::optional<Shape> shape = common_shape(a.operand.shape(), b.operand.shape());
  if (!shape)
    fail(function, "shapes " + shape_text(a.operand.shape()) + " of " + a.name + " and " +
                       shape_text(b.operand.shape()) + " of " + b.name + " do not fit");
  return *shape;
}

std::size_t check_axis(const Value& value, std::int64_t axis, const char* function) {
  const auto rank = static_cast<std::int64_t>(value.shape().rank());
  const std::int64_t index = axis < 0 ? axis + rank : axis - 1;
  if (index < 0 || index >= rank)
    fail(function, "axis " + std::to_string(axis) + " is not among the " + std::to_string(rank) +
                       " of " + value.name + ", whose shape is " + shape_text(value.shape()));
  return static_cast<std::size_t>(index);
}

ShapeArgument ShapeArgument::from_lua(lua_State* lua, int place) {
  const bool is_table = lua_istable(lua, place);
  const std::size_t rank = is_table
                               ? lua_rawlen(lua, place)
                               : static_cast<std::size_t>(std::max(0, lua_gettop(lua) - place + 1));
  if (rank > Shape::kMaxRank) fail(function_name(lua), "a shape has 32 axes at most");
  std::vector<std::int64_t> extents;
  const auto read = [&](int at) {
    extents.push_back(read_argument<std::int64_t>(lua, at, "an extent"));
  };
  if (is_table) for_each_element(lua, place, rank, [&](lua_Unsigned /*i*/) { read(-1); });
  for (std::size_t i = 0; i < rank && !is_table; ++i) read(place + static_cast<int>(i));
  return {Shape(extents)};
}

}  // namespace cupel::scripting_detail
