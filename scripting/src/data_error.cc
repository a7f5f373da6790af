// Errors of queries as values of scripts.
//
// An exception that a query of the run throws becomes a userdata with the fields of the exception;
// another exception becomes a text with its place. The exception itself is kept, and goes to the
// runner if the script does not catch the error. The memory of the error counts against the limit.

#include "data_error.h"

#include <memory>
#include <utility>
#include <variant>

#include "arguments.h"
#include "cupel/core/error.h"
#include "sandbox_functions.h"
#include "sol_binding.h"
#include "trial_object.h"

namespace cupel::scripting_detail {

template <>
struct ObjectType<DataError> {
  static constexpr const char* kName = "data error";
};

namespace {

constexpr std::int64_t kLookingForTensors = 5000;

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

// Names are looked for when somebody reads the message: many scripts only ask whether there is a
// tensor.
std::string message_of(lua_State* lua, const DataError& error) {
  if (!error.question) return error.message;
  LuaState::of(lua).charge(lua, kLookingForTensors);
  return error.message + error.question();
}

std::string error_text(DataError& error, sol::this_state lua) {
  return error.place + message_of(lua, error);
}

using FieldValue = std::variant<std::string, std::int64_t>;

std::optional<FieldValue> error_field(DataError& error, AnyArgument key, sol::this_state lua) {
  if (lua_type(lua, key.place) != LUA_TSTRING) return std::nullopt;
  const std::string_view name = check_text(lua, key.place);
  if (name == "kind") return error.kind;
  if (name == "message") return message_of(lua, error);
  if (name == "tensor" && error.tensor) return *error.tensor;
  if (name == "step" && error.step) return *error.step;
  if (name == "worker" && error.worker) return *error.worker;
  return std::nullopt;
}

}  // namespace

bool DataError::skips_step() const noexcept {
  return kind == "StepUnavailable" || kind == "TensorUnavailable" ||
         kind == "TensorUnavailableForStep" || damaged_value;
}

void add_data_errors(lua_State* lua) {
  register_type<DataError>(lua, method<&error_text>("__tostring"), method<&error_field>("__index"));
}

void push_exception(lua_State* lua, const std::exception& error) {
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
  push_object(lua, std::make_shared<DataError>(*std::move(failure)));
}

const DataError* to_data_error(lua_State* lua, int value) noexcept {
  return find_object<DataError>(lua, value);
}

}  // namespace cupel::scripting_detail
