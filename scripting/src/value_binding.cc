#include "value_binding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "array_reductions.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"

namespace cupel::lua {
namespace {

constexpr std::size_t kLongestComputedName = 120;
constexpr std::int64_t kOptions = 20;

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

void fail(const char* function, const std::string& problem) {
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
    lua_pushlstring(lua, text.data(), text.size());
  } else if (array.dtype() == DType::Bool) {
    lua_pushboolean(lua, array.data()[index] != std::byte{0} ? 1 : 0);
  } else if (const std::optional<std::int64_t> integer = array.integer_at(index)) {
    lua_pushinteger(lua, *integer);
  } else {
    lua_pushnumber(lua, array.at(index));
  }
}

void push_element(lua_State* lua, const Value& value, std::int64_t index) {
  if (value.magnitudes)
    lua_pushnumber(lua, std::abs(value.array.at(index)));
  else
    push_element(lua, value.array, index);
}

Value& check_value(lua_State* lua, int argument, const char* function) {
  Value* const value = to_value(lua, argument);
  if (value != nullptr) return *value;
  const std::string found = luaL_typename(lua, argument);
  if (argument == 1) fail(function, "a value is expected before ':', not " + found);
  fail(function, "a value is expected, not " + found);
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

void require_numbers(const Value& value, const char* function) {
  if (value.array.is_text()) fail(function, value.name + " is utf8, which are no numbers");
}

const Array& numbers_of(lua_State* lua, Value& value, const char* function) {
  require_numbers(value, function);
  return elements_of(lua, value);
}

const Statistics& known_statistics(lua_State* lua, Value& value) {
  if (!value.known->statistics) {
    LuaBudget budget(lua);
    value.known->statistics = statistics_of(budget, value.array);
  }
  return *value.known->statistics;
}

Argument check_operand(lua_State* lua, int argument, const char* function) {
  if (lua_type(lua, argument) == LUA_TNUMBER) {
    const double number = lua_tonumber(lua, argument);
    return {Operand(number), number_text(number)};
  }
  Value* const value = to_value(lua, argument);
  if (value == nullptr)
    fail(function,
         std::string("a value or a number is expected, not ") + luaL_typename(lua, argument));
  return {Operand(numbers_of(lua, *value, function)), value->name};
}

Shape require_common_shape(const Argument& a, const Argument& b, const char* function) {
  const std::optional<Shape> shape = common_shape(a.operand.shape(), b.operand.shape());
  if (!shape)
    fail(function, "shapes " + shape_text(a.operand.shape()) + " of " + a.name + " and " +
                       shape_text(b.operand.shape()) + " of " + b.name + " do not fit");
  return *shape;
}

std::int64_t check_integer(lua_State* lua, int argument, const char* function, const char* what) {
  int is_integer = 0;
  const lua_Integer integer = lua_tointegerx(lua, argument, &is_integer);
  if (lua_type(lua, argument) == LUA_TNUMBER && is_integer != 0) return integer;
  fail(function,
       std::string(what) + " is an integer, not " +
           (lua_type(lua, argument) == LUA_TNUMBER ? number_text(lua_tonumber(lua, argument))
                                                   : luaL_typename(lua, argument)));
}

std::size_t check_axis(const Value& value, std::int64_t axis, const char* function) {
  const auto rank = static_cast<std::int64_t>(value.shape().rank());
  const std::int64_t index = axis < 0 ? axis + rank : axis - 1;
  if (index < 0 || index >= rank)
    fail(function, "axis " + std::to_string(axis) + " is not among the " + std::to_string(rank) +
                       " of " + value.name + ", whose shape is " + shape_text(value.shape()));
  return static_cast<std::size_t>(index);
}

Shape check_shape(lua_State* lua, int argument, const char* function) {
  const bool is_table = lua_istable(lua, argument);
  const std::size_t rank =
      is_table ? lua_rawlen(lua, argument)
               : static_cast<std::size_t>(std::max(0, lua_gettop(lua) - argument + 1));
  if (rank > Shape::kMaxRank) fail(function, "a shape has 32 axes at most");
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < rank; ++i) {
    const int place = argument + static_cast<int>(i);
    if (is_table) lua_rawgeti(lua, argument, static_cast<lua_Integer>(i) + 1);
    extents.push_back(check_integer(lua, is_table ? -1 : place, function, "an extent"));
    if (is_table) lua_pop(lua, 1);
  }
  return Shape(extents);
}

Options::Options(lua_State* lua, int argument, const char* function,
                 std::initializer_list<const char*> names)
    : lua_(lua), argument_(lua_isnoneornil(lua, argument) ? 0 : argument), function_(function) {
  if (argument_ == 0) return;
  if (!lua_istable(lua, argument))
    fail(function,
         std::string("a table of options is expected, not ") + luaL_typename(lua, argument));
  // Of a table that was emptied its size is gone through all the same.
  LuaState::of(lua).charge(lua, kOptions);
  std::vector<std::string> known(names.begin(), names.end());
  // Lua's order of keys is another one in each process; the error is the same in all of them.
  std::optional<std::string> unknown;
  lua_pushnil(lua);
  while (lua_next(lua, argument) != 0) {
    lua_pop(lua, 1);
    if (unknown) LuaState::of(lua).charge(lua, 1);
    constexpr std::size_t kLongest = 64;
    const std::string name = lua_type(lua, -1) == LUA_TSTRING
                                 ? std::string(lua_tostring(lua, -1)).substr(0, kLongest)
                                 : std::string("without a name");
    bool found = false;
    for (const std::string& each : known) found = found || each == name;
    if (!found) unknown = unknown ? std::min(*unknown, name) : name;
  }
  if (unknown) fail(function, "there is no option " + *unknown + did_you_mean(*unknown, known));
}

bool Options::push(const char* name) const {
  if (argument_ == 0) return false;
  lua_pushstring(lua_, name);
  if (lua_rawget(lua_, argument_) != LUA_TNIL) return true;
  lua_pop(lua_, 1);
  return false;
}

std::optional<double> Options::number(const char* name) const {
  if (!push(name)) return std::nullopt;
  if (lua_type(lua_, -1) != LUA_TNUMBER)
    fail(function_, std::string(name) + " is a number, not " + luaL_typename(lua_, -1));
  const double number = lua_tonumber(lua_, -1);
  lua_pop(lua_, 1);
  return number;
}

std::optional<std::int64_t> Options::integer(const char* name) const {
  if (!push(name)) return std::nullopt;
  const std::int64_t integer = check_integer(lua_, -1, function_, name);
  lua_pop(lua_, 1);
  return integer;
}

bool Options::flag(const char* name) const {
  if (!push(name)) return false;
  const bool flag = lua_toboolean(lua_, -1) != 0;
  lua_pop(lua_, 1);
  return flag;
}

}  // namespace cupel::lua
