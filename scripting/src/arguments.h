#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mode.h"
#include "lua_state.h"

namespace cupel::lua {

/// The named arguments of a function, `f{name = value, ...}`: a table of the stack, or nothing.
/// What it hands out as views lives as long as the table is on the stack.
class NamedArguments {
 public:
  /// Throws UsageError where the argument is no table, or has a key that is not among `known`.
  NamedArguments(lua_State* lua, int argument, const char* function,
                 std::initializer_list<std::string_view> known);

  bool has(const char* key) const;

  // Each gives nothing where the key is absent, and throws UsageError for another type.
  std::optional<std::string_view> text(const char* key) const;
  std::optional<std::int64_t> integer(const char* key) const;
  std::optional<double> number(const char* key) const;
  std::optional<bool> boolean(const char* key) const;
  /// A text, or a list of texts.
  std::vector<std::string> texts(const char* key) const;
  Mode mode(const char* key = "mode") const;  ///< Global where it is absent.

  /// Like text(), which has to be there.
  std::string_view required_text(const char* key) const;
  double required_number(const char* key) const;

  [[noreturn]] void fail(const char* key, const std::string& what) const;

 private:
  int push(const char* key) const;  // returns the type
  lua_State* lua_;
  int table_;
  std::uint64_t keys_ = 0;  // that are there, as bits
  const char* function_;
};

/// A text, or a list of texts, at a place of the stack; throws UsageError, which calls it `where`.
std::vector<std::string> texts_at(lua_State* lua, int place, const std::string& where);

/// An argument that may be left out, with a mode's name in any case.
Mode mode_argument(lua_State* lua, int argument);
/// An argument that has to be there; throws UsageError, which calls it `what`.
std::int64_t check_step(lua_State* lua, int argument, const char* function,
                        const char* what = "step");
std::string_view check_name(lua_State* lua, int argument, const char* function,
                            const char* what = "name");

/// What errors show of a script's text.
std::string shortened(std::string_view text);

void push_string(lua_State* lua, std::string_view text);
/// Pushes a table of texts, or of numbers, and counts the work.
void push_list(lua_State* lua, const std::vector<std::string>& texts);
void push_list(lua_State* lua, const std::vector<std::int64_t>& numbers);

}  // namespace cupel::lua
