// Arguments of scripts: tables of named arguments, single arguments and lists.
//
// Every function of ours reads its arguments here, so that each mistake has the same words. The
// reader of tables takes all values in the pass that looks for unknown keys. The thread of the Lua
// state runs it. A wrong argument is a UsageError, which becomes an error of the script.

#include "arguments.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "mistakes.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestShown = 100;
constexpr lua_Unsigned kLongestList = 10'000;
// No name and no pattern is as long.
constexpr std::size_t kLongestEntry = std::size_t{64} << 10U;
constexpr std::int64_t kCall = 20;
constexpr std::size_t kMostUnknown = 100;
constexpr const char* kMissing = "is not given";
constexpr const char* kWholeNumber = "a whole number";

std::string type_problem(const std::string& type, const char* wanted) {
  return "is " + type + ", not " + wanted;
}

// The text at a place of the stack where there is one.
std::string_view text_of(lua_State* lua, int place) noexcept {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, place, &size);
  return {text, size};
}

// An entry of a list, which is no list itself.
std::string text_in(lua_State* lua, int place, const std::string& where) {
  const std::string_view text = text_at(lua, place);
  if (text.data() == nullptr)
    throw UsageError(where + " " + type_problem(type_of(lua, place), "a text"));
  if (text.size() > kLongestEntry) throw UsageError(where + " is a text of more than 64 KiB");
  return std::string(text);
}

std::string unknown_problem(std::string_view function, std::string_view key,
                            std::initializer_list<std::string_view> known) {
  std::vector<std::string> names(known.begin(), known.end());
  std::string problem = std::string(function) + " does not know " + shortened(key);
  const std::string question = did_you_mean(shortened(key), names);
  problem += question;
  if (question.empty() && !names.empty()) problem += "; it knows ";
  if (question.empty())
    for (std::size_t i = 0; i < names.size(); ++i) problem += (i == 0 ? "" : ", ") + names[i];
  return problem;
}

// In the words of named arguments.
[[noreturn]] void fail_argument(lua_State* lua, int argument, const char* what,
                                const char* wanted) {
  const std::string problem = std::string(function_name(lua)) + ": " + what + " ";
  if (lua_isnoneornil(lua, argument)) throw UsageError(problem + kMissing);
  if (lua_type(lua, argument) == LUA_TNUMBER && wanted == kWholeNumber)
    throw UsageError(problem + "is no whole number");
  throw UsageError(problem + type_problem(type_of(lua, argument), wanted));
}

template <class T>
std::optional<T> read_optional(lua_State* lua, int argument, const char* what) {
  if (lua_isnoneornil(lua, argument)) return std::nullopt;
  return read_argument<T>(lua, argument, what);
}

}  // namespace

NamedArguments::NamedArguments(lua_State* lua, int argument, std::string_view function,
                               std::initializer_list<std::string_view> known, Mistakes* mistakes)
    : lua_(lua), table_(lua_absindex(lua, argument)), function_(function), mistakes_(mistakes) {
  LuaState::of(lua).charge(lua, kCall);
  if (known.size() > kMostKeys) throw std::logic_error("too many keys for a table");
  const int type = lua_type(lua, table_);
  if (type <= LUA_TNIL) return;
  if (type != LUA_TTABLE) {
    add("", this->function() + " takes a table of named arguments, not " + type_of(lua, table_));
    return;
  }
  // Lua's order of keys is another one in each process; the errors are the same in all of them.
  std::set<std::string_view> unknown;
  std::size_t unknown_keys = 0;
  bool has_nameless = false;
  for_each_entry(lua, table_, [&] {
    if (!unknown.empty() || has_nameless) LuaState::of(lua).charge(lua, 1);
    if (lua_type(lua, -2) != LUA_TSTRING) {
      has_nameless = true;
      return;
    }
    const std::string_view key = text_of(lua, -2);
    if (std::find(known.begin(), known.end(), key) != known.end()) return take(key);
    ++unknown_keys;
    unknown.insert(key);
    if (unknown.size() > kMostUnknown) unknown.erase(std::prev(unknown.end()));
  });
  if (has_nameless) add("", this->function() + " takes names, and has an entry without one");
  for (const std::string_view key : unknown)
    add(key, unknown_problem(this->function(), key, known));
  if (mistakes_ != nullptr) mistakes_->count(unknown_keys - unknown.size());
}

// Keeps the value on top: asking Lua for it again would take longer than all the rest.
void NamedArguments::take(std::string_view key) {
  Entry& entry = entries_[count_++];
  entry.key = {key.data(), key.size()};
  entry.type = lua_type(lua_, -1);
  if (entry.type == LUA_TSTRING) entry.text.data = lua_tolstring(lua_, -1, &entry.text.size);
  if (entry.type == LUA_TBOOLEAN) entry.boolean = lua_toboolean(lua_, -1) != 0;
  if (entry.type != LUA_TNUMBER) return;
  const std::optional<std::int64_t> integer = integer_at(lua_, -1);
  entry.number = lua_tonumber(lua_, -1);
  entry.integer = integer.value_or(0);
  entry.is_integer = integer.has_value();
}

void NamedArguments::report(std::string_view key, const Entry& entry, const char* wanted) const {
  report(key, type_problem(std::string("a ") + lua_typename(lua_, entry.type), wanted));
}

std::string NamedArguments::function() const {
  return std::string(function_.empty() ? function_name(lua_) : function_);
}

void NamedArguments::add(std::string_view key, std::string message) const {
  if (mistakes_ == nullptr) throw UsageError(message);
  mistakes_->add(key, std::move(message));
}

void NamedArguments::report(std::string_view key, const std::string& what) const {
  add(key, function() + ": " + std::string(key) + " " + what);
}

void NamedArguments::fail(std::string_view key, const std::string& what) const {
  throw UsageError(function() + ": " + std::string(key) + " " + what);
}

bool NamedArguments::push(std::string_view key) const {
  if (!has(key)) return false;
  push_string(lua_, key);
  lua_rawget(lua_, table_);
  return true;
}

std::optional<std::int64_t> NamedArguments::integer(std::string_view key) const {
  const Entry* const entry = find(key, LUA_TNUMBER, kWholeNumber);
  if (entry != nullptr && entry->is_integer) return entry->integer;
  if (entry != nullptr) report(key, "is no whole number");
  return std::nullopt;
}

std::vector<std::string> NamedArguments::texts(std::string_view key) const {
  if (!push(key)) return {};
  const int top = lua_gettop(lua_);
  std::vector<std::string> texts;
  try {
    texts = texts_at(lua_, top, function() + ": " + std::string(key));
  } catch (const UsageError& error) {
    add(key, error.what());
  }
  lua_settop(lua_, top - 1);
  return texts;
}

std::vector<double> NamedArguments::numbers(std::string_view key) const {
  constexpr lua_Unsigned kMost = 100;
  std::vector<double> numbers;
  if (find(key, LUA_TTABLE, "a list of numbers") == nullptr) return numbers;
  push(key);
  const lua_Unsigned size = lua_rawlen(lua_, -1);
  for_each_element(lua_, -1, std::min(size, kMost), [&](lua_Unsigned /*i*/) {
    if (lua_type(lua_, -1) == LUA_TNUMBER) numbers.push_back(lua_tonumber(lua_, -1));
  });
  lua_pop(lua_, 1);
  if (numbers.size() != size) report(key, "is not a list of numbers");
  return numbers;
}

Mode NamedArguments::mode(std::string_view key) const {
  const auto name = text(key);
  if (!name) return Mode::Global;
  try {
    return parse_mode(shortened(*name));
  } catch (const UsageError& error) {
    add(key, error.what());
  }
  return Mode::Global;
}

std::string_view NamedArguments::required_text(std::string_view key) const {
  if (!has(key)) report(key, kMissing);
  return text(key).value_or(std::string_view());
}

std::int64_t NamedArguments::required_integer(std::string_view key) const {
  if (!has(key)) report(key, kMissing);
  return integer(key).value_or(0);
}

double NamedArguments::required_number(std::string_view key) const {
  if (!has(key)) report(key, kMissing);
  return number(key).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::vector<std::string> texts_at(lua_State* lua, int place, const std::string& where) {
  if (!lua_istable(lua, place)) return {text_in(lua, place, where)};
  const lua_Unsigned size = lua_rawlen(lua, place);
  if (size > kLongestList) throw UsageError(where + " is a list of more than 10,000");
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(size));
  std::vector<std::string> texts;
  // The list may hold one long text many times.
  std::size_t bytes = 0;
  for_each_element(lua, place, size, [&](lua_Unsigned i) {
    texts.push_back(text_in(lua, -1, where + "[" + std::to_string(i) + "]"));
    bytes += texts.back().size();
    if (bytes > kLongestText) throw UsageError(where + " holds more than 1 MiB of text");
  });
  return texts;
}

std::string_view function_name(lua_State* lua) noexcept {
  return text_at(lua, lua_upvalueindex(1));
}

template <>
std::int64_t read_argument(lua_State* lua, int argument, const char* what) {
  if (const std::optional<std::int64_t> integer = integer_at(lua, argument)) return *integer;
  fail_argument(lua, argument, what, kWholeNumber);
}

template <>
double read_argument(lua_State* lua, int argument, const char* what) {
  if (lua_type(lua, argument) != LUA_TNUMBER) fail_argument(lua, argument, what, "a number");
  return lua_tonumber(lua, argument);
}

template <>
LuaNumber read_argument(lua_State* lua, int argument, const char* what) {
  int is_number = 0;
  const double number = lua_tonumberx(lua, argument, &is_number);
  if (is_number == 0) fail_argument(lua, argument, what, "a number");
  return {number};
}

template <>
std::string_view read_argument(lua_State* lua, int argument, const char* what) {
  const std::string_view text = text_at(lua, argument);
  if (text.data() == nullptr) fail_argument(lua, argument, what, "a text");
  return text;
}

template <>
std::optional<std::int64_t> read_argument(lua_State* lua, int argument, const char* what) {
  return read_optional<std::int64_t>(lua, argument, what);
}

template <>
std::optional<double> read_argument(lua_State* lua, int argument, const char* what) {
  return read_optional<double>(lua, argument, what);
}

template <>
Mode read_argument(lua_State* lua, int argument, const char* what) {
  const auto name = read_optional<std::string_view>(lua, argument, what);
  return name ? parse_mode(shortened(*name)) : Mode::Global;
}

std::string type_of(lua_State* lua, int place) {
  return std::string("a ") + luaL_typename(lua, place);
}

std::vector<std::string> names_in(lua_State* lua, int table) {
  constexpr std::size_t kMost = 500;
  constexpr std::size_t kLongest = 64;
  std::vector<std::string> names;
  for_each_entry(lua, table, [&] {
    const std::string_view name = text_at(lua, -2);
    if (!name.empty() && name.size() <= kLongest && names.size() < kMost) names.emplace_back(name);
  });
  // The table's order is another one at each run.
  std::sort(names.begin(), names.end());
  return names;
}

bool has_entry(lua_State* lua, int table, std::string_view name) {
  table = lua_absindex(lua, table);
  push_string(lua, name);
  const bool is_there = lua_rawget(lua, table) != LUA_TNIL;
  lua_pop(lua, 1);
  return is_there;
}

std::string_view text_at(lua_State* lua, int place) noexcept {
  return lua_type(lua, place) == LUA_TSTRING ? text_of(lua, place) : std::string_view();
}

std::optional<std::int64_t> integer_at(lua_State* lua, int place) noexcept {
  int is_integer = 0;
  const lua_Integer integer = lua_tointegerx(lua, place, &is_integer);
  if (is_integer == 0 || lua_type(lua, place) != LUA_TNUMBER) return std::nullopt;
  return integer;
}

std::string shortened(std::string_view text) { return std::string(text.substr(0, kLongestShown)); }

}  // namespace cupel::scripting_detail
