#include "data_error.h"

#include <memory>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "sandbox_functions.h"
#include "trial_object.h"

namespace cupel::lua {
namespace {

constexpr std::int64_t kLookingForTensors = 5000;

// The metatable, in the registry.
char type_key;

// Derived classes before their bases; nothing for what is no failure of a query.
std::optional<DataError> data_error_of(const std::exception& error) {
  if (const auto* e = dynamic_cast<const ShapeUnavailableForStep*>(&error))
    return DataError{"ShapeUnavailableForStep", e->what(), {}, e->name, e->step};
  if (const auto* e = dynamic_cast<const TensorUnavailableForStep*>(&error))
    return DataError{"TensorUnavailableForStep", e->what(), {}, e->name, e->step};
  if (const auto* e = dynamic_cast<const UnknownTensor*>(&error)) {
    DataError failure{"TensorUnavailable", e->what(), {}, e->name};
    failure.question = [unknown = *e] { return unknown.question(); };
    return failure;
  }
  if (const auto* e = dynamic_cast<const TensorUnavailable*>(&error))
    return DataError{"TensorUnavailable", e->what(), {}, e->name};
  if (const auto* e = dynamic_cast<const StepUnavailable*>(&error))
    return DataError{"StepUnavailable", e->what(), {}, {}, e->step};
  if (const auto* e = dynamic_cast<const StepNotYetAvailable*>(&error))
    return DataError{"StepNotYetAvailable", e->what(), {}, {}, e->step};
  if (const auto* e = dynamic_cast<const NoMoreData*>(&error))
    return DataError{"NoMoreData", e->what(), {}, {}, e->step};
  if (const auto* e = dynamic_cast<const InvalidWorker*>(&error))
    return DataError{"InvalidWorker", e->what(), {}, {}, {}, e->worker};
  if (dynamic_cast<const FormatError*>(&error) != nullptr) {
    const bool damaged_value = dynamic_cast<const DamagedValue*>(&error) != nullptr;
    return DataError{
        .kind = "FormatError", .message = error.what(), .damaged_value = damaged_value};
  }
  if (dynamic_cast<const StoreError*>(&error) != nullptr)
    return DataError{"StoreError", error.what(), {}};
  return std::nullopt;
}

const DataError& self_of(lua_State* lua) { return *to_data_error(lua, 1); }

// Names are looked for when somebody reads the message: many scripts only ask whether there is a
// tensor.
std::string message_of(lua_State* lua, const DataError& error) {
  if (!error.question) return error.message;
  LuaState::of(lua).charge(lua, kLookingForTensors);
  return error.message + error.question();
}

int to_text(lua_State* lua) {
  push_string(lua, self_of(lua).place + message_of(lua, self_of(lua)));
  return 1;
}

int field(lua_State* lua) {
  const DataError& error = self_of(lua);
  const std::string_view name = check_text(lua, 2);
  if (name == "kind")
    push_string(lua, error.kind);
  else if (name == "message")
    push_string(lua, message_of(lua, error));
  else if (name == "tensor" && error.tensor)
    push_string(lua, *error.tensor);
  else if (name == "step" && error.step)
    lua_pushinteger(lua, *error.step);
  else if (name == "worker" && error.worker)
    push_string(lua, *error.worker);
  else
    lua_pushnil(lua);
  return 1;
}

}  // namespace

bool DataError::skips_step() const noexcept {
  return kind == "StepUnavailable" || kind == "TensorUnavailable" ||
         kind == "TensorUnavailableForStep" || damaged_value;
}

void add_data_errors(lua_State* lua) {
  lua_newtable(lua);
  set_function<to_text>(lua, "__tostring");
  set_function<field>(lua, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &type_key);
}

void push_caught(lua_State* lua, const std::exception& error) {
  std::string place = LuaState::place_of(lua);
  std::optional<DataError> failure = data_error_of(error);
  if (!failure) {
    push_string(lua, place + error.what());
    return;
  }
  failure->place = std::move(place);
  // What the exception itself holds is of the same size; and these come and go among others.
  const std::size_t bytes =
      3 * (sizeof(DataError) + failure->message.size() + failure->tensor.value_or("").size() +
           failure->worker.value_or("").size());
  failure->held.emplace(lua, bytes);
  failure->exception = std::current_exception();
  LuaState::of(lua).push_object(lua, std::make_shared<DataError>(*std::move(failure)), &type_key);
}

const DataError* to_data_error(lua_State* lua, int value) noexcept {
  return static_cast<const DataError*>(LuaState::object_at(lua, value, &type_key));
}

}  // namespace cupel::lua
