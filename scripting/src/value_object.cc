// The type of values: fields, indices and the list of all methods.
//
// A value refers to an array, which values of other shapes and slices share. Values never change,
// except that magnitudes and statistics are computed when they are first needed. The thread of the
// Lua state runs it.

#include "value_object.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "arguments.h"
#include "array_reductions.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "sol_binding.h"
#include "value_binding.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kLookingForNames = 2000;
constexpr std::int64_t kMaking = 20;

constexpr const char* kFields[] = {"dtype", "elements", "name", "shape"};

// What v[key] is.
using Indexed = std::variant<std::string, std::int64_t, IntegerList, Element, NewValue>;

std::optional<Indexed> field_of(const Value& value, std::string_view name) {
  if (name == "dtype") return std::string(to_string(value.dtype()));
  if (name == "elements") return value.array.elements();
  if (name == "name") return value.name;
  if (name == "shape") return IntegerList{{value.shape().begin(), value.shape().end()}};
  return std::nullopt;
}

[[noreturn]] void fail_unknown(lua_State* lua, std::string_view name) {
  LuaState::of(lua).charge(lua, kLookingForNames);
  push_methods(lua, &object_key<Value>);
  std::vector<std::string> names = names_in(lua, lua_gettop(lua));
  names.insert(names.end(), std::begin(kFields), std::end(kFields));
  const std::string shown = shortened(name);
  throw UsageError("a value has no field or method " + shown + did_you_mean(shown, names));
}

// v[i]: the element, or the slice along the first axis.
std::optional<Indexed> index_by_number(const Value& value, std::int64_t number) {
  const Shape& shape = value.shape();
  if (shape.rank() == 0) fail("v[i]", value.name + " has no axes; its element is v:item()");
  const std::int64_t index = number < 0 ? number + shape[0] : number - 1;
  // Nothing follows the last, so that ipairs ends.
  if (number > 0 && index == shape[0]) return std::nullopt;
  if (index < 0 || index >= shape[0])
    fail("v[i]", "index " + std::to_string(number) + " is not in 1 to " + std::to_string(shape[0]) +
                     " of " + value.name + ", whose shape is " + shape_text(shape));
  if (shape.rank() == 1) return Element{value.array, index, value.magnitudes};
  const Shape rest = without_axis(shape, 0);
  return NewValue{value.array.part(index * rest.elements(), rest), value.name, nullptr,
                  value.magnitudes};
}

std::optional<Indexed> element_or_field(Value& value, AnyArgument key) {
  if (Value* const mask = find_object<Value>(key.lua, key.place))
    return where(value, *mask, AnyArgument{key.lua, key.place + 1});
  switch (lua_type(key.lua, key.place)) {
    case LUA_TNUMBER:
      return index_by_number(value, read_argument<std::int64_t>(key.lua, key.place, "the index"));
    case LUA_TSTRING:
      break;
    default:
      fail("v[i]", "the index is " + type_of(key.lua, key.place));
  }
  const auto name = read_argument<std::string_view>(key.lua, key.place, "the index");
  if (auto field = field_of(value, name)) return field;
  fail_unknown(key.lua, name);
}

// v[key], v.name and v:method, in whose way sol2 would be at every call: the second upvalue is the
// table of methods.
int index(lua_State* lua) {
  Value& value = check_object<Value>(lua, 1);
  if (lua_type(lua, 2) == LUA_TSTRING) {
    lua_pushvalue(lua, 2);
    if (lua_rawget(lua, lua_upvalueindex(2)) != LUA_TNIL) return 1;
  }
  return sol::stack::push(lua, element_or_field(value, {lua, 2}));
}

void new_index() { throw UsageError("a value cannot be changed; operations make new ones"); }

std::int64_t length(Value& value) {
  if (value.shape().rank() == 0) fail("#", value.name + " has no axes");
  return value.shape()[0];
}

std::string value_text(Value& value) {
  return std::string(to_string(value.dtype())) + shape_text(value.shape()) + " " + value.name;
}

// For operators that cannot yield masks, because what they yield is made a boolean.
void refuse_order() {
  throw UsageError("values are compared by methods: v:lt(x), v:le(x), v:gt(x), v:ge(x)");
}

}  // namespace

void push(lua_State* lua, Array array, std::string name, std::shared_ptr<Known> known,
          bool magnitudes) {
  // What the state and the memory allocator keep of each object beside it.
  constexpr std::size_t kOverhead = 200;
  LuaState::of(lua).charge(lua, kMaking);
  if (known == nullptr) known = std::make_shared<Known>();
  Held held(lua, sizeof(Value) + sizeof(Known) + name.size() + kOverhead);
  push_object(lua, std::make_shared<Value>(Value{std::move(held), std::move(array), std::move(name),
                                                 std::move(known), magnitudes}));
}

void push_value(lua_State* lua, TensorValue value, std::string_view what) {
  struct HeldTensor {
    Held held;
    TensorValue value;
  };
  Held held(lua, value.bytes().size() + sizeof(HeldTensor));
  const auto tensor =
      std::make_shared<const HeldTensor>(HeldTensor{std::move(held), std::move(value)});
  push(lua, Array(std::shared_ptr<const TensorValue>(tensor, &tensor->value)), std::string(what));
}

double reduce(lua_State* lua, TensorValue value, Reduction reduction) {
  LuaBudget budget(lua);
  const Array array(std::make_shared<const TensorValue>(std::move(value)));
  return reduce(budget, array, reduction, statistics_of(budget, array));
}

void add_value_functions(lua_State* lua) {
  std::vector<Method> methods = {
      method<&index>("__index", "v[i]"), method<&new_index>("__newindex"),
      method<&length>("__len", "#"),     method<&value_text>("__tostring", "tostring"),
      method<&refuse_order>("__lt"),     method<&refuse_order>("__le")};
  for (const auto& more : {access_methods(), operation_methods(), reduction_methods()})
    methods.insert(methods.end(), more.begin(), more.end());
  register_type<Value>(lua, std::span<const Method>(methods));
  add_value_makers(lua);
}

}  // namespace cupel::scripting_detail
