#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "held.h"
#include "lua_state.h"

namespace cupel::scripting_detail {

/// What a query of a run failed with, as scripts see it: a value with the fields `kind` (the name
/// of the exception), `message`, and `tensor`, `step` and `worker` where the exception has them,
/// which reads as its message.
struct DataError {
  std::string kind;
  std::string message;
  std::string place = {};  ///< Of the call in the script, "rule.lua:3: ".
  std::optional<std::string> tensor = std::nullopt;
  std::optional<std::int64_t> step = std::nullopt;
  std::optional<std::string> worker = std::nullopt;
  bool damaged_value = false;  ///< A FormatError that is a DamagedValue.
  std::exception_ptr exception = nullptr;
  /// Of a tensor that a run does not have: asks on behalf of its message which one was meant.
  std::function<std::string()> question = nullptr;
  std::optional<Held> held = std::nullopt;  ///< For all of it, once scripts have it.

  /// Whether it only means that there is nothing to be judged at a step.
  bool skips_step() const noexcept;
};

/// Makes the type known to a state.
void add_data_errors(lua_State* lua);

/// Pushes the exception that is being handled: as a DataError if it is of the kinds that queries
/// throw, else as a text with its place.
void push_exception(lua_State* lua, const std::exception& error);

/// The value as one; null if it is something else.
const DataError* to_data_error(lua_State* lua, int value) noexcept;

}  // namespace cupel::scripting_detail
