// Methods that choose among the elements of a value, and bring elements into Lua.
//
// Slices of whole rows share the bytes of the value. Tables of elements have a limit of elements,
// and counts of tables and elements go against the instructions. A place outside of the value is an
// error with the value's shape.

#include <algorithm>
#include <optional>
#include <vector>

#include "array_reductions.h"
#include "sol_binding.h"
#include "value_binding.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kMostInTable = 10'000;
constexpr std::int64_t kMostInAnyTable = 1'000'000;
constexpr std::int64_t kMostIndices = 1'000;

// All arguments from the first one on, as indices.
struct IndicesArgument {
  std::vector<std::int64_t> indices;
  static IndicesArgument from_lua(lua_State* lua, int place) {
    IndicesArgument given;
    const int last = lua_gettop(lua);
    if (last - place >= static_cast<int>(Shape::kMaxRank)) fail("at", "too many indices");
    for (; place <= last; ++place)
      given.indices.push_back(read_argument<std::int64_t>(lua, place, "an index"));
    return given;
  }
};

Element at(Value& value, IndicesArgument given) {
  const Shape& shape = value.shape();
  if (given.indices.size() != shape.rank())
    fail("at", std::to_string(given.indices.size()) + " indices are not one for each axis of " +
                   value.name + ", whose shape is " + shape_text(shape));
  std::int64_t place = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const std::int64_t number = given.indices[i];
    const std::int64_t extent = shape[i];
    const std::int64_t index = number < 0 ? number + extent : number - 1;
    if (index < 0 || index >= extent)
      fail("at", "index " + std::to_string(number) + " is not in 1 to " + std::to_string(extent) +
                     " of axis " + std::to_string(i + 1) + " of " + value.name +
                     ", whose shape is " + shape_text(shape));
    place = place * extent + index;
  }
  return {value.array, place, value.magnitudes};
}

Element item(Value& value) {
  if (value.array.elements() != 1)
    fail("item", value.name + " has " + std::to_string(value.array.elements()) +
                     " elements, not one; its shape is " + shape_text(value.shape()));
  return {value.array, 0, value.magnitudes};
}

// What of an axis is asked for: v:slice(axis, first, last, step), or a table of these.
struct SliceArgument {
  std::int64_t axis = 1;
  std::int64_t first = 1;
  std::int64_t last = -1;
  std::int64_t step = 1;
  static SliceArgument from_lua(lua_State* lua, int place) {
    SliceArgument slice;
    const auto take = [](std::int64_t& into, std::optional<std::int64_t> given) {
      into = given.value_or(into);
    };
    if (lua_type(lua, place) == LUA_TNUMBER || lua_gettop(lua) > place) {
      using Optional = std::optional<std::int64_t>;
      slice.axis = read_argument<std::int64_t>(lua, place, "axis");
      take(slice.first, read_argument<Optional>(lua, place + 1, "first"));
      take(slice.last, read_argument<Optional>(lua, place + 2, "last"));
      take(slice.step, read_argument<Optional>(lua, place + 3, "step"));
    } else {
      const NamedArguments options =
          TableArgument{lua, place}.read({"axis", "first", "last", "step"});
      take(slice.axis, options.integer("axis"));
      take(slice.first, options.integer("first"));
      take(slice.last, options.integer("last"));
      take(slice.step, options.integer("step"));
    }
    return slice;
  }
};

// Positions are like those of string.sub, but for those that are outside.
NewValue take_slice(Value& value, SliceArgument wanted, sol::this_state lua) {
  const auto [axis_number, first, last, step] = wanted;
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
  return {slice(budget, value.array, axis, begin, count, step), value.name, nullptr,
          value.magnitudes};
}

NewValue reshaped(Value& value, const Shape& shape) {
  return {value.array.reshaped(shape), value.name, value.known, value.magnitudes};
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

NewValue reshape(Value& value, ShapeArgument wanted) {
  const Shape shape = completed(wanted.shape, value.array.elements());
  if (shape.elements() != value.array.elements())
    fail("reshape", value.name + " has " + std::to_string(value.array.elements()) +
                        " elements, which are not those of the shape " + shape_text(wanted.shape));
  return reshaped(value, shape);
}

NewValue flatten(Value& value) { return reshaped(value, Shape{value.array.elements()}); }

void require_mask(const Value& mask, const char* function) {
  if (mask.dtype() != DType::Bool)
    fail(function, mask.name + " is " + std::string(to_string(mask.dtype())) +
                       ", not a mask as v:gt(0) makes it");
}

// How many elements a table may have.
using MostArgument = Argument<std::optional<std::int64_t>, "most">;

std::int64_t check_most(MostArgument given, const char* function, std::int64_t otherwise) {
  const std::int64_t most = (*given).value_or(otherwise);
  if (most < 0 || most > kMostInAnyTable)
    fail(function, "a table has 0 to " + std::to_string(kMostInAnyTable) + " elements, not " +
                       std::to_string(most));
  return most;
}

// A list of places, and how many there are.
struct Indices {
  Array mask;
  std::int64_t most;
  int push(lua_State* lua) const {
    LuaBudget budget(lua);
    lua_newtable(lua);
    std::int64_t count = 0;
    const std::byte* const flags = mask.data();
    for_each_piece(budget, mask.elements(), Cost::Single, [&](auto begin, auto size) {
      for (std::int64_t i = begin; i < begin + size; ++i) {
        if (flags[i] == std::byte{0} || ++count > most) continue;
        sol::stack::push(lua, i + 1);
        lua_rawseti(lua, -2, count);
      }
    });
    sol::stack::push(lua, count);
    return 2;
  }
};

Indices indices(Value& mask, MostArgument most) {
  require_mask(mask, "indices");
  return {mask.array, check_most(most, "indices", kMostIndices)};
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

// Tables of elements, nested as the axes are.
struct NestedTables {
  Array array;
  int push(lua_State* lua) const {
    std::int64_t element = 0;
    push_nested(lua, array, 0, element);
    return 1;
  }
};

NestedTables to_table(Value& value, MostArgument given, sol::this_state lua) {
  const std::int64_t most = check_most(given, "to_table", kMostInTable);
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
  return {elements_of(lua, value)};
}

}  // namespace

NewValue where(Value& value, Value& mask, AnyArgument more) {
  require_mask(mask, "where");
  if (!lua_isnoneornil(more.lua, more.place))
    fail("where", "a mask is all it takes; it yields the elements that the mask has");
  if (mask.shape() != value.shape())
    fail("where", "shapes " + shape_text(value.shape()) + " of " + value.name + " and " +
                      shape_text(mask.shape()) + " of the mask " + mask.name + " are not the same");
  LuaBudget budget(more.lua);
  return {select(budget, value.array, mask.array), value.name, nullptr, value.magnitudes};
}

std::vector<Method> access_methods() {
  return {method<&at>("at"),           method<&item>("item"),        method<&take_slice>("slice"),
          method<&reshape>("reshape"), method<&flatten>("flatten"),  method<&where>("where"),
          method<&indices>("indices"), method<&to_table>("to_table")};
}

}  // namespace cupel::scripting_detail
