#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lua_state.h"
#include "mistakes.h"

namespace cupel::scripting_detail {

/// The world that scripts of one rule see, beside the objects that are handed to them.
struct SandboxOptions {
  /// Takes what `print` prints, a line at a time.
  std::function<void(std::string_view line)> print = [](std::string_view) {};
  /// The text of a sibling file by its module's name, which is letters, digits and '_'; throws
  /// std::exception where there is none.
  std::function<std::string(const std::string& module)> read_module;
  /// What random numbers follow from.
  std::uint64_t seed = 0;
};

/// Makes the globals of scripts in a state from nothing: an allow-list, in which no function
/// reaches a file, a process, bytecode or a metatable, and each that may take long counts what it
/// does. Reading a global that there is not is an error that names the nearest one. The options'
/// functions live as long as the state.
void make_sandbox(LuaState& state, SandboxOptions options);

/// Lets random numbers follow from another seed from now on.
void set_seed(LuaState& state, std::uint64_t seed);

/// Records the globals that the function on top uses; the stack stays as it is.
void note_globals(LuaState& state, const std::string& chunk);

/// Ends the time when scripts may make new globals: from here on setting one is an error, too.
/// Each use of a global that is missing by now, in the functions that were noted and in those of
/// modules, is a mistake with its line, whether scripts ever get there or not.
void close_globals(LuaState& state, Mistakes& mistakes);

}  // namespace cupel::scripting_detail
