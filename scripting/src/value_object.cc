#include "value_object.h"

#include <algorithm>
#include <vector>

#include "arguments.h"
#include "array_reductions.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "value_binding.h"

namespace cupel::lua {
namespace {

constexpr std::int64_t kLookingForNames = 2000;
constexpr std::int64_t kMaking = 20;

// The metatable's place in the registry.
char metatable_key;

constexpr const char* kFields[] = {"dtype", "elements", "name", "shape"};

bool push_field(lua_State* lua, const Value& value, std::string_view name) {
  if (name == "dtype") {
    push_string(lua, to_string(value.dtype()));
  } else if (name == "elements") {
    lua_pushinteger(lua, value.array.elements());
  } else if (name == "name") {
    push_string(lua, value.name);
  } else if (name == "shape") {
    lua_createtable(lua, static_cast<int>(value.shape().rank()), 0);
    lua_Integer axis = 0;
    for (const std::int64_t extent : value.shape()) {
      lua_pushinteger(lua, extent);
      lua_rawseti(lua, -2, ++axis);
    }
  } else {
    return false;
  }
  return true;
}

[[noreturn]] void fail_unknown(lua_State* lua, std::string_view name) {
  LuaState::of(lua).charge(lua, kLookingForNames);
  std::vector<std::string> names(std::begin(kFields), std::end(kFields));
  lua_pushnil(lua);
  while (lua_next(lua, lua_upvalueindex(1)) != 0) {
    lua_pop(lua, 1);
    names.emplace_back(lua_tostring(lua, -1));
  }
  std::sort(names.begin(), names.end());
  const std::string shown = shortened(name);
  throw UsageError("a value has no field or method " + shown + did_you_mean(shown, names));
}

// v[i]: the element, or the slice along the first axis.
int index_by_number(lua_State* lua, Value& value) {
  const std::int64_t number = check_integer(lua, 2, "v[i]", "the index");
  const Shape& shape = value.shape();
  if (shape.rank() == 0) fail("v[i]", value.name + " has no axes; its element is v:item()");
  const std::int64_t index = number < 0 ? number + shape[0] : number - 1;
  // Nothing follows the last, so that ipairs ends.
  if (number > 0 && index == shape[0]) {
    lua_pushnil(lua);
    return 1;
  }
  if (index < 0 || index >= shape[0])
    fail("v[i]", "index " + std::to_string(number) + " is not in 1 to " + std::to_string(shape[0]) +
                     " of " + value.name + ", whose shape is " + shape_text(shape));
  if (shape.rank() == 1) {
    push_element(lua, value, index);
  } else {
    const Shape rest = without_axis(shape, 0);
    push(lua, value.array.part(index * rest.elements(), rest), value.name, nullptr,
         value.magnitudes);
  }
  return 1;
}

// Upvalue: the methods.
int index(lua_State* lua) {
  Value& value = check_value(lua, 1, "v[i]");
  if (lua_type(lua, 2) == LUA_TNUMBER) return index_by_number(lua, value);
  if (to_value(lua, 2) != nullptr) return where(lua);
  if (lua_type(lua, 2) != LUA_TSTRING)
    fail("v[i]", std::string("the index is a ") + luaL_typename(lua, 2));
  lua_pushvalue(lua, 2);
  if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  std::size_t size = 0;
  const char* const name = lua_tolstring(lua, 2, &size);
  if (!push_field(lua, value, {name, size})) fail_unknown(lua, {name, size});
  return 1;
}

int new_index(lua_State*) {
  throw UsageError("a value cannot be changed; operations make new ones");
}

int length(lua_State* lua) {
  const Value& value = check_value(lua, 1, "#");
  if (value.shape().rank() == 0) fail("#", value.name + " has no axes");
  lua_pushinteger(lua, value.shape()[0]);
  return 1;
}

int to_text(lua_State* lua) {
  const Value& value = check_value(lua, 1, "tostring");
  push_string(lua,
              std::string(to_string(value.dtype())) + shape_text(value.shape()) + " " + value.name);
  return 1;
}

// For operators that cannot yield masks, because what they yield is made a boolean.
int refuse_order(lua_State*) {
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
  LuaState::of(lua).push_object(
      lua,
      std::make_shared<Value>(
          Value{std::move(held), std::move(array), std::move(name), std::move(known), magnitudes}),
      &metatable_key);
}

Value* to_value(lua_State* lua, int argument) noexcept {
  return static_cast<Value*>(LuaState::object_at(lua, argument, &metatable_key));
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
  lua_newtable(lua);
  lua_newtable(lua);
  add_value_access(lua);
  add_value_operations(lua);
  add_value_reductions(lua);
  push_function<index>(lua, 1);
  lua_setfield(lua, -2, "__index");
  set_function<new_index>(lua, "__newindex");
  set_function<length>(lua, "__len");
  set_function<to_text>(lua, "__tostring");
  set_function<refuse_order>(lua, "__lt");
  set_function<refuse_order>(lua, "__le");
  // As Lua's own errors call it: "attempt to call a tensor value".
  lua_pushliteral(lua, "tensor");
  lua_setfield(lua, -2, "__name");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  add_value_operators(lua);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &metatable_key);
  add_value_makers(lua);
}

}  // namespace cupel::lua
