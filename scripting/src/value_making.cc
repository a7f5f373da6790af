// Functions that make values from what scripts have: numbers, booleans, texts, and tables of them,
// nested or flat.
//
// The shape follows from the first elements of nested tables; a table of another length is an
// error. Memory for the elements is counted before they are read.

#include <algorithm>
#include <cstring>
#include <vector>

#include "array_text.h"
#include "cupel/core/nearest_names.h"
#include "sol_binding.h"
#include "value_binding.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kElementsPerCharge = 64;

// Pushes the first element of a nested table, or whatever else is at `argument`, and returns the
// extents of the tables above it.
std::vector<std::int64_t> push_first(lua_State* lua, int argument) {
  std::vector<std::int64_t> extents;
  lua_pushvalue(lua, argument);
  while (lua_istable(lua, -1)) {
    if (extents.size() == Shape::kMaxRank) fail("value", "tables are nested in more than 32 axes");
    extents.push_back(static_cast<std::int64_t>(lua_rawlen(lua, -1)));
    lua_rawgeti(lua, -1, 1);
    lua_remove(lua, -2);
  }
  return extents;
}

DType dtype_of_element(lua_State* lua, int place) {
  switch (lua_type(lua, place)) {
    case LUA_TBOOLEAN:
      return DType::Bool;
    case LUA_TSTRING:
      return DType::Utf8;
    default:
      return DType::F64;
  }
}

DType check_dtype(const NamedArguments& options, const char* function, DType otherwise) {
  const auto given = options.text("dtype");
  if (!given) return otherwise;
  const std::string name = shortened(*given);
  const std::optional<DType> dtype = parse_dtype(name);
  if (dtype && *dtype != DType::F16 && *dtype != DType::BF16) return *dtype;
  std::vector<std::string> names;
  for (const DType each : kAllDTypes)
    if (each != DType::F16 && each != DType::BF16) names.emplace_back(to_string(each));
  fail(function, "no values of dtype " + name + " are made here" + did_you_mean(name, names));
}

// Goes through the elements of nested tables of a shape, or of a flat table.
class Reader {
 public:
  Reader(lua_State* lua, const Shape& shape) : lua_(lua), shape_(shape) {}
  // Calls visit() with each element on top. The table is at `place`.
  template <class F>
  void read(int place, std::size_t axis, F&& visit) {
    luaL_checkstack(lua_, 4, "too many axes");
    if (axis == shape_.rank()) return visit_one(place, visit);
    const std::int64_t extent = shape_[axis];
    const bool is_table = lua_istable(lua_, place);
    const lua_Unsigned size = lua_rawlen(lua_, place);
    if (!is_table || static_cast<std::int64_t>(size) != extent)
      fail("value",
           "tables are ragged: " +
               (is_table ? "one of " + std::to_string(size) + " elements" : type_of(lua_, place)) +
               " where the shape " + shape_text(shape_) + " has " + std::to_string(extent));
    LuaState::of(lua_).charge(lua_, 1);
    for_each_element(lua_, place, size, [&](lua_Unsigned /*i*/) { read(-1, axis + 1, visit); });
  }

 private:
  template <class F>
  void visit_one(int place, F&& visit) {
    if (++read_ % kElementsPerCharge == 0) LuaState::of(lua_).charge(lua_, kElementsPerCharge);
    visit(place);
  }
  lua_State* lua_;
  Shape shape_;
  std::int64_t read_ = 0;
};

template <class T>
T checked_integer(lua_State* lua, int place, DType dtype) {
  const std::optional<std::int64_t> integer = integer_at(lua, place);
  if (!integer || !std::in_range<T>(*integer))
    fail("value", std::string(lua_tostring(lua, place)) + " is no element of dtype " +
                      std::string(to_string(dtype)));
  return static_cast<T>(*integer);
}

template <class T>
std::size_t store(T element, std::byte* out) noexcept {
  std::memcpy(out, &element, sizeof element);
  return sizeof element;
}

// Stores the element at a place of the stack; returns its size.
std::size_t store_element(lua_State* lua, int place, DType dtype, std::byte* out) {
  const int type = lua_type(lua, place);
  if (type != (dtype == DType::Bool ? LUA_TBOOLEAN : LUA_TNUMBER))
    fail("value", type_of(lua, place) + " is no element of dtype " + std::string(to_string(dtype)));
  switch (dtype) {
    case DType::Bool:
      return store(static_cast<std::uint8_t>(lua_toboolean(lua, place)), out);
    case DType::I8:
      return store(checked_integer<std::int8_t>(lua, place, dtype), out);
    case DType::I16:
      return store(checked_integer<std::int16_t>(lua, place, dtype), out);
    case DType::I32:
      return store(checked_integer<std::int32_t>(lua, place, dtype), out);
    case DType::I64:
      return store(checked_integer<std::int64_t>(lua, place, dtype), out);
    case DType::U8:
      return store(checked_integer<std::uint8_t>(lua, place, dtype), out);
    case DType::U16:
      return store(checked_integer<std::uint16_t>(lua, place, dtype), out);
    case DType::U32:
      return store(checked_integer<std::uint32_t>(lua, place, dtype), out);
    case DType::U64:
      return store(checked_integer<std::uint64_t>(lua, place, dtype), out);
    case DType::F32:
      return store(static_cast<float>(lua_tonumber(lua, place)), out);
    default:
      return store(lua_tonumber(lua, place), out);
  }
}

std::string_view text_element(lua_State* lua, int place) {
  const std::string_view text = text_at(lua, place);
  if (text.data() == nullptr) fail("value", type_of(lua, place) + " is no element of dtype utf8");
  return text;
}

Array texts_of(lua_State* lua, const Shape& source, const Shape& shape) {
  std::size_t characters = 0;
  Reader(lua, source).read(1, 0, [&](int place) { characters += text_element(lua, place).size(); });
  LuaBudget budget(lua);
  TextArray texts(budget, shape, characters);
  Reader(lua, source).read(1, 0, [&](int place) { texts.add(text_element(lua, place)); });
  return texts.finish();
}

void check_elements(const Shape& shape, const char* function) {
  for (const std::int64_t extent : shape)
    if (extent < 0) fail(function, "the shape " + shape_text(shape) + " has a negative extent");
  constexpr std::int64_t kMost = std::int64_t{1} << 40U;
  const std::int64_t elements = shape.elements();
  if (elements < 0 || elements > kMost)
    fail(function, "the shape " + shape_text(shape) + " has more elements than any memory");
}

Shape option_shape(lua_State* lua, const NamedArguments& options, const Shape& otherwise) {
  if (!options.push("shape")) return otherwise;
  if (!lua_istable(lua, -1)) options.fail("shape", "is a table of integers");
  const Shape shape = ShapeArgument::from_lua(lua, -1).shape;
  lua_pop(lua, 1);
  check_elements(shape, "value");
  return shape;
}

// cupel.value(x), cupel.value(x, {shape =, dtype =})
NewValue make_value(AnyArgument from, TableArgument table) {
  lua_State* const lua = from.lua;
  if (lua_isnoneornil(lua, from.place)) fail("value", "a number or a table is expected, not nil");
  lua_settop(lua, 2);
  const NamedArguments options = table.read({"shape", "dtype"});
  const Shape source(push_first(lua, 1));
  const DType dtype = check_dtype(options, "value", dtype_of_element(lua, -1));
  check_elements(source, "value");
  const Shape shape = option_shape(lua, options, source);
  // A single element fills the shape.
  const bool fills = source.rank() == 0;
  if (!fills && shape.elements() != source.elements())
    fail("value", std::to_string(source.elements()) + " elements are not those of the shape " +
                      shape_text(shape));
  if (dtype == DType::Utf8) {
    if (fills && shape.elements() != 1) fail("value", "a text does not fill a shape");
    return {texts_of(lua, source, shape), "value"};
  }
  LuaBudget budget(lua);
  const Array::Blank result = Array::make(budget, dtype, shape);
  std::byte* out = result.data;
  if (fills) {
    std::byte element[sizeof(double)];
    const std::size_t size = store_element(lua, 1, dtype, element);
    for_each_piece(budget, shape.elements(), Cost::Single, [&](auto, auto count) {
      for (std::int64_t i = 0; i < count; ++i, out += size) std::memcpy(out, element, size);
    });
  } else {
    Reader(lua, source).read(1, 0, [&](int place) {
      out += store_element(lua, place, dtype, out);
    });
  }
  return {result.array, "value"};
}

// cupel.zeros{2, 3}, cupel.zeros({2, 3}, {dtype = "i32"})
NewValue make_zeros(AnyArgument extents, TableArgument table) {
  lua_State* const lua = extents.lua;
  if (!lua_istable(lua, extents.place))
    fail("zeros",
         std::string("a table of extents is expected, not ") + luaL_typename(lua, extents.place));
  const NamedArguments options = table.read({"dtype"});
  const Shape shape = ShapeArgument::from_lua(lua, extents.place).shape;
  check_elements(shape, "zeros");
  const DType dtype = check_dtype(options, "zeros", DType::F64);
  if (dtype == DType::Utf8) fail("zeros", "texts are no numbers");
  LuaBudget budget(lua);
  const Array::Blank result = Array::make(budget, dtype, shape);
  const std::int64_t bytes = shape.elements() * static_cast<std::int64_t>(element_size(dtype));
  constexpr std::int64_t kWord = 8;
  for_each_piece(budget, (bytes + kWord - 1) / kWord, Cost::Simple, [&](auto begin, auto count) {
    const std::int64_t size = std::min(count * kWord, bytes - begin * kWord);
    std::memset(result.data + begin * kWord, 0, static_cast<std::size_t>(size));
  });
  return {result.array, "zeros"};
}

bool is_value(AnyArgument any) { return find_object<Value>(any.lua, any.place) != nullptr; }

}  // namespace

void add_value_makers(lua_State* lua) {
  bind<&make_value>(lua, "value");
  bind<&make_zeros>(lua, "zeros");
  bind<&is_value>(lua, "is_value");
}

}  // namespace cupel::scripting_detail
