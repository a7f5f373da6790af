// Methods that choose among elements, and bring them into Lua.

#include <algorithm>
#include <vector>

#include "array_reductions.h"
#include "value_binding.h"

namespace cupel::lua {
namespace {

constexpr std::int64_t kMostInTable = 10'000;
constexpr std::int64_t kMostInAnyTable = 1'000'000;
constexpr std::int64_t kMostIndices = 1'000;

int at(lua_State* lua) {
  Value& value = check_value(lua, 1, "at");
  const Shape& shape = value.shape();
  const int given = lua_gettop(lua) - 1;
  if (given != static_cast<int>(shape.rank()))
    fail("at", std::to_string(given) + " indices are not one for each axis of " + value.name +
                   ", whose shape is " + shape_text(shape));
  std::int64_t place = 0;
  for (int i = 0; i < given; ++i) {
    const std::int64_t number = check_integer(lua, i + 2, "at", "an index");
    const std::int64_t extent = shape[static_cast<std::size_t>(i)];
    const std::int64_t index = number < 0 ? number + extent : number - 1;
    if (index < 0 || index >= extent)
      fail("at", "index " + std::to_string(number) + " is not in 1 to " + std::to_string(extent) +
                     " of axis " + std::to_string(i + 1) + " of " + value.name +
                     ", whose shape is " + shape_text(shape));
    place = place * extent + index;
  }
  push_element(lua, value, place);
  return 1;
}

int item(lua_State* lua) {
  Value& value = check_value(lua, 1, "item");
  if (value.array.elements() != 1)
    fail("item", value.name + " has " + std::to_string(value.array.elements()) +
                     " elements, not one; its shape is " + shape_text(value.shape()));
  push_element(lua, value, 0);
  return 1;
}

// Positions are like those of string.sub, but for those that are outside.
int take_slice(lua_State* lua) {
  Value& value = check_value(lua, 1, "slice");
  std::int64_t axis_number = 1;
  std::int64_t first = 1;
  std::int64_t last = -1;
  std::int64_t step = 1;
  if (lua_type(lua, 2) == LUA_TNUMBER || lua_gettop(lua) > 2) {
    axis_number = check_integer(lua, 2, "slice", "the axis");
    if (!lua_isnoneornil(lua, 3)) first = check_integer(lua, 3, "slice", "first");
    if (!lua_isnoneornil(lua, 4)) last = check_integer(lua, 4, "slice", "last");
    if (!lua_isnoneornil(lua, 5)) step = check_integer(lua, 5, "slice", "step");
  } else {
    const Options options(lua, 2, "slice", {"axis", "first", "last", "step"});
    axis_number = options.integer("axis").value_or(axis_number);
    first = options.integer("first").value_or(first);
    last = options.integer("last").value_or(last);
    step = options.integer("step").value_or(step);
  }
  const std::size_t axis = check_axis(value, axis_number, "slice");
  const std::int64_t extent = value.shape()[axis];
  const std::int64_t begin = first < 0 ? first + extent : first - 1;
  const std::int64_t end = last < 0 ? last + extent + 1 : last;
  if (first == 0 || begin < 0 || begin > extent || end < 0 || end > extent)
    fail("slice", std::to_string(first) + " to " + std::to_string(last) + " is not in 1 to " +
                      std::to_string(extent) + " of axis " + std::to_string(axis + 1) + " of " +
                      value.name + ", whose shape is " + shape_text(value.shape()));
  if (step < 1) fail("slice", "a step is 1 or more, not " + std::to_string(step));
  const std::int64_t count = end > begin ? (end - begin - 1) / step + 1 : 0;
  LuaBudget budget(lua);
  push(lua, slice(budget, value.array, axis, begin, count, step), value.name, nullptr,
       value.magnitudes);
  return 1;
}

void push_reshaped(lua_State* lua, Value& value, const Shape& shape) {
  push(lua, value.array.reshaped(shape), value.name, value.known, value.magnitudes);
}

// An extent of -1 is whatever is left for it.
Shape completed(const Shape& shape, std::int64_t elements) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  const auto open = std::find(extents.begin(), extents.end(), -1);
  if (open == extents.end()) return shape;
  *open = 1;
  const std::int64_t others = Shape(extents).elements();
  if (others <= 0 || elements % others != 0) return shape;
  *open = elements / others;
  return Shape(extents);
}

int reshape(lua_State* lua) {
  Value& value = check_value(lua, 1, "reshape");
  const Shape wanted = check_shape(lua, 2, "reshape");
  const Shape shape = completed(wanted, value.array.elements());
  if (shape.elements() != value.array.elements())
    fail("reshape", value.name + " has " + std::to_string(value.array.elements()) +
                        " elements, which are not those of the shape " + shape_text(wanted));
  push_reshaped(lua, value, shape);
  return 1;
}

int flatten(lua_State* lua) {
  Value& value = check_value(lua, 1, "flatten");
  push_reshaped(lua, value, Shape{value.array.elements()});
  return 1;
}

Value& check_mask(lua_State* lua, int argument, const char* function) {
  Value& mask = check_value(lua, argument, function);
  if (mask.dtype() != DType::Bool)
    fail(function, mask.name + " is " + std::string(to_string(mask.dtype())) +
                       ", not a mask as v:gt(0) makes it");
  return mask;
}

std::int64_t check_most(lua_State* lua, const char* function, std::int64_t otherwise) {
  if (lua_isnoneornil(lua, 2)) return otherwise;
  const std::int64_t most = check_integer(lua, 2, function, "the most");
  if (most < 0 || most > kMostInAnyTable)
    fail(function, "a table has 0 to " + std::to_string(kMostInAnyTable) + " elements, not " +
                       std::to_string(most));
  return most;
}

int indices(lua_State* lua) {
  const Value& mask = check_mask(lua, 1, "indices");
  const std::int64_t most = check_most(lua, "indices", kMostIndices);
  LuaBudget budget(lua);
  lua_newtable(lua);
  std::int64_t count = 0;
  const std::byte* const flags = mask.array.data();
  for_each_piece(budget, mask.array.elements(), Cost::Single, [&](auto begin, auto size) {
    for (std::int64_t i = begin; i < begin + size; ++i) {
      if (flags[i] == std::byte{0} || ++count > most) continue;
      lua_pushinteger(lua, i + 1);
      lua_rawseti(lua, -2, count);
    }
  });
  lua_pushinteger(lua, count);
  return 2;
}

// Pushes the part of an array that begins at an element, from an axis on.
void push_nested(lua_State* lua, const Array& array, std::size_t axis, std::int64_t& element) {
  if (axis == array.shape().rank()) {
    push_element(lua, array, element++);
    return;
  }
  const std::int64_t extent = array.shape()[axis];
  luaL_checkstack(lua, 4, "too many axes");
  LuaState::of(lua).charge(lua, 4);
  lua_createtable(lua, static_cast<int>(extent), 0);
  for (std::int64_t i = 0; i < extent; ++i) {
    if (i % 64 == 0) LuaState::of(lua).charge(lua, 64);
    push_nested(lua, array, axis + 1, element);
    lua_rawseti(lua, -2, i + 1);
  }
}

int to_table(lua_State* lua) {
  Value& value = check_value(lua, 1, "to_table");
  const std::int64_t most = check_most(lua, "to_table", kMostInTable);
  // Tables count as well, for an axis of extent 0 leaves many of them.
  std::int64_t size = 1;
  std::int64_t largest = 1;
  for (const std::int64_t extent : value.shape()) {
    if (size > 0 && extent > kMostInAnyTable / size + 1) largest = kMostInAnyTable + 1;
    size = largest > kMostInAnyTable ? 0 : size * extent;
    largest = std::max(largest, size);
  }
  if (largest > most)
    fail("to_table",
         value.name + ", whose shape is " + shape_text(value.shape()) + ", has more than " +
             std::to_string(most) +
             (largest > kMostInAnyTable
                  ? " elements, and no table has"
                  : " elements; to_table(" + std::to_string(largest) + ") asks for all of them"));
  std::int64_t element = 0;
  push_nested(lua, elements_of(lua, value), 0, element);
  return 1;
}

}  // namespace

int where(lua_State* lua) {
  Value& value = check_value(lua, 1, "where");
  const Value& mask = check_mask(lua, 2, "where");
  if (!lua_isnoneornil(lua, 3))
    fail("where", "a mask is all it takes; it yields the elements that the mask has");
  if (mask.shape() != value.shape())
    fail("where", "shapes " + shape_text(value.shape()) + " of " + value.name + " and " +
                      shape_text(mask.shape()) + " of the mask " + mask.name + " are not the same");
  LuaBudget budget(lua);
  push(lua, select(budget, value.array, mask.array), value.name, nullptr, value.magnitudes);
  return 1;
}

void add_value_access(lua_State* lua) {
  set_function<at>(lua, "at");
  set_function<item>(lua, "item");
  set_function<take_slice>(lua, "slice");
  set_function<reshape>(lua, "reshape");
  set_function<flatten>(lua, "flatten");
  set_function<where>(lua, "where");
  set_function<indices>(lua, "indices");
  set_function<to_table>(lua, "to_table");
}

}  // namespace cupel::lua
