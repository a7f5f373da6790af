#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../scripting/src/lua_state.h"
#include "../../scripting/src/sandbox.h"

namespace cupel::testing {

/// A sandbox, and what its scripts print and answer.
class Script {
 public:
  explicit Script(const ScriptLimits& limits = {}, scripting_detail::SandboxOptions options = {})
      : state(limits) {
    options.print = [this](std::string_view line) { printed.emplace_back(line); };
    scripting_detail::make_sandbox(state, std::move(options));
  }

  /// Runs a chunk and returns the first value that it returns, as tostring says it.
  std::string run(const std::string& text) {
    state.load("local function run() " + text + "\nend return tostring((run()))", "rule.lua");
    state.call(0, 1, "rule.lua");
    std::size_t size = 0;
    const char* const answer = lua_tolstring(state.get(), -1, &size);
    const std::string result(answer, size);
    lua_pop(state.get(), 1);
    return result;
  }
  /// The error that a chunk ends with.
  ScriptError error(const std::string& text) {
    try {
      run(text);
    } catch (const ScriptError& error) {
      return error;
    }
    return {"none", 0, "there was no error"};
  }

  scripting_detail::LuaState state;
  std::vector<std::string> printed;
};

}  // namespace cupel::testing
