#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mode.h"
#include "lua_state.h"

namespace cupel::scripting_detail {

class Mistakes;

inline void push_string(lua_State* lua, std::string_view text) { push(lua, text); }

/// Pushes a table of texts, or of numbers, and counts the work.
template <class T>
void push_list(lua_State* lua, const std::vector<T>& entries) {
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(entries.size()) + 1);
  lua_createtable(lua, static_cast<int>(std::min<std::size_t>(entries.size(), 1U << 20U)), 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    push(lua, entries[i]);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
  }
}

/// Calls visit() with each key of a table, and its value above it, on top. `table` counts from the
/// bottom of the stack.
template <class F>
void for_each_entry(lua_State* lua, int table, F&& visit) {
  lua_pushnil(lua);
  for (; lua_next(lua, table) != 0; lua_pop(lua, 1)) visit();
}

/// Calls visit(i) with each of the first `count` elements of a table on top.
template <class F>
void for_each_element(lua_State* lua, int table, lua_Unsigned count, F&& visit) {
  table = lua_absindex(lua, table);
  for (lua_Unsigned i = 1; i <= count; ++i) {
    lua_rawgeti(lua, table, static_cast<lua_Integer>(i));
    visit(i);
    lua_pop(lua, 1);
  }
}

/// Reads a table `{name = value, ...}` of a script: the named arguments of a function, its options,
/// or a declaration. Every table of that form is read by this class, so that all errors have the
/// same words.
///
/// Without a list of mistakes, the first mistake is a UsageError. With one, the reader adds each
/// mistake with its key and goes on as if the entry were absent. Borrows the table, which stays
/// on the stack while the reader is used; a view that the reader returns lives as long as the
/// table.
class NamedArguments {
 public:
  /// Reads the table at the place `argument`; nil or nothing there is an empty table. `function` is
  /// the name that begins each message; empty: that of the function that runs. Keys that are not
  /// among `known` are mistakes.
  NamedArguments(lua_State* lua, int argument, std::string_view function,
                 std::initializer_list<std::string_view> known, Mistakes* mistakes = nullptr);

  bool has(std::string_view key) const noexcept { return find(key) != nullptr; }

  // Each returns nothing where the key is absent. A value of another type is a mistake.
  std::optional<std::string_view> text(std::string_view key) const {
    if (const Entry* const entry = find(key, LUA_TSTRING, "a text")) return entry->text;
    return std::nullopt;
  }
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const {
    if (const Entry* const entry = find(key, LUA_TNUMBER, "a number")) return entry->number;
    return std::nullopt;
  }
  std::optional<bool> boolean(std::string_view key) const {
    if (const Entry* const entry = find(key, LUA_TBOOLEAN, "true or false")) return entry->boolean;
    return std::nullopt;
  }
  /// A text, or a list of texts.
  std::vector<std::string> texts(std::string_view key) const;
  /// A list of numbers, of which there are not many.
  std::vector<double> numbers(std::string_view key) const;
  Mode mode(std::string_view key = "mode") const;  ///< Global where it is absent.
  /// Returns whether there is a function. A value that is no function is a mistake.
  bool function(std::string_view key) const {
    return find(key, LUA_TFUNCTION, "a function") != nullptr;
  }

  // The same for keys that are required. Where the key is missing and mistakes are collected, the
  // result is an empty text, 0 or NaN.
  std::string_view required_text(std::string_view key) const;
  std::int64_t required_integer(std::string_view key) const;
  double required_number(std::string_view key) const;

  /// Pushes the value of a key; returns false and pushes nothing where it is absent.
  bool push(std::string_view key) const;

  /// Takes `function: key what` for a mistake: adds it to the list, or throws UsageError.
  void report(std::string_view key, const std::string& what) const;
  /// Throws UsageError with that message in any case.
  [[noreturn]] void fail(std::string_view key, const std::string& what) const;

 private:
  static constexpr std::size_t kMostKeys = 24;
  // Without constructors: most of the entries are never used.
  struct Text {
    const char* data;
    std::size_t size;
    operator std::string_view() const noexcept { return {data, size}; }
  };
  struct Entry {
    Text key;
    Text text;
    double number;
    std::int64_t integer;
    int type;
    bool is_integer;
    bool boolean;
  };
  void take(std::string_view key);
  const Entry* find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if (entries_[i].key.size == key.size() && std::string_view(entries_[i].key) == key)
        return &entries_[i];
    return nullptr;
  }
  // The same of a value of that type; of another type it is a mistake.
  const Entry* find(std::string_view key, int type, const char* wanted) const {
    const Entry* const entry = find(key);
    if (entry == nullptr || entry->type == type) return entry;
    report(key, *entry, wanted);
    return nullptr;
  }
  void report(std::string_view key, const Entry& entry, const char* wanted) const;
  std::string function() const;
  void add(std::string_view key, std::string message) const;
  lua_State* lua_;
  int table_;
  std::size_t count_ = 0;
  std::array<Entry, kMostKeys> entries_;  // those that are there
  std::string_view function_;
  Mistakes* mistakes_;
};

/// A text, or a list of texts, at a place of the stack; throws UsageError, which calls it `where`.
std::vector<std::string> texts_at(lua_State* lua, int place, const std::string& where);

// ---- Parameters of the functions that sol_binding.h makes callable for scripts. Each type reads
// its argument from the stack with from_lua(), and throws UsageError for a wrong one, in the words
// of NamedArguments. ----

/// The name by which the running function of ours is known to scripts.
std::string_view function_name(lua_State* lua) noexcept;

/// The name of a parameter, for messages.
template <std::size_t kSize>
struct Label {
  char text[kSize];
  constexpr Label(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
};

/// Reads an argument as a whole number, a number, a text or a mode; `what` names it in messages. An
/// optional is empty where the argument is nil or absent, and a mode is Global there.
template <class T>
T read_argument(lua_State* lua, int argument, const char* what);

/// An argument called `kWhat`: `Argument<std::int64_t, "step"> step`.
template <class T, Label kWhat>
struct Argument {
  T value;
  operator const T&() const noexcept { return value; }
  const T& operator*() const noexcept { return value; }
  static Argument from_lua(lua_State* lua, int argument) {
    return {read_argument<T>(lua, argument, kWhat.text)};
  }
};
/// A number, or a text that is a number for Lua: `Argument<LuaNumber, "x"> x`.
struct LuaNumber {
  double value;
};
using StepArgument = Argument<std::int64_t, "step">;
using ModeArgument = Argument<Mode, "mode">;

/// An argument that is a table of named arguments, or nothing.
struct TableArgument {
  lua_State* lua;
  int place;
  static TableArgument from_lua(lua_State* lua, int argument) { return {lua, argument}; }
  NamedArguments read(std::initializer_list<std::string_view> known) const {
    return {lua, place, {}, known};
  }
};

/// An argument of any type, which the function looks at itself.
struct AnyArgument {
  lua_State* lua;
  int place;
  static AnyArgument from_lua(lua_State* lua, int argument) { return {lua, argument}; }
};

/// A result: a table of texts, or of numbers. Its work is counted.
template <class T>
struct List {
  std::vector<T> entries;
  int push(lua_State* lua) const {
    push_list(lua, entries);
    return 1;
  }
};
using TextList = List<std::string>;
using IntegerList = List<std::int64_t>;

/// "a number", "a table": the type of a value as messages name it.
std::string type_of(lua_State* lua, int place);
/// The keys of a table that are texts, in order; long ones, and those beyond the first 500, are
/// left out.
std::vector<std::string> names_in(lua_State* lua, int table);
/// Whether a table, whose place counts from the bottom of the stack, has a value under a name.
bool has_entry(lua_State* lua, int table, std::string_view name);
/// The text at a place of the stack; where there is another value, a view whose data() is null.
std::string_view text_at(lua_State* lua, int place) noexcept;
/// The whole number at a place of the stack; nothing where there is another value.
std::optional<std::int64_t> integer_at(lua_State* lua, int place) noexcept;
/// What errors show of a script's text.
std::string shortened(std::string_view text);

}  // namespace cupel::scripting_detail
