// Reads the parameters that a rule declares, from its table `params`: each is a default, or a table
// with a default or a kind. A default becomes the text that a user would write, and is read back by
// the reader of parameters: so a default that is out of its own range, or that no text can give, is
// a mistake of the file. Runs inside of the door, in the examination of a file. Mistakes are
// collected; sizes are bounded and counted, because a file may be hostile.

#include "declared_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "arguments.h"
#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestParameter = 64;
constexpr std::size_t kMostParameters = 100;
constexpr lua_Unsigned kMostEntries = 1000;
constexpr std::size_t kLongestEntry = 4096;
constexpr std::int64_t kReading = 20;
// Of defaults, helps and choices of one rule.
constexpr std::size_t kMostParametersText = std::size_t{16} << 10U;
constexpr std::array<std::string_view, 2> kTaken = {"other_trial", "other_trials"};
constexpr std::array kKinds = {ParameterKind::Float, ParameterKind::Int, ParameterKind::Bool,
                               ParameterKind::Text, ParameterKind::List};

std::string entry_text(lua_State* lua, int place) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, place, &size);
  if (size > kLongestEntry) throw UsageError("rule: params hold a text of more than 4 KiB");
  return {text, size};
}

std::size_t text_size(const Parameter& parameter) {
  std::size_t bytes = parameter.default_text.value_or("").size() + parameter.help.size();
  for (const std::string& choice : parameter.choices) bytes += choice.size() + sizeof(std::string);
  return bytes;
}

// ---- a default gives a parameter its kind ----

// A default as the script has it.
struct Default {
  ParameterKind kind;
  std::string text;
  ParameterValue value;
};

// Throws unless the table on top holds nothing but its entries 1 to `size`.
void require_list(lua_State* lua, lua_Unsigned size, const std::string& where) {
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pop(lua, 1);
    const bool is_entry = lua_isinteger(lua, -1) != 0 && lua_tointeger(lua, -1) >= 1 &&
                          static_cast<lua_Unsigned>(lua_tointeger(lua, -1)) <= size;
    if (is_entry) continue;
    throw UsageError(where + (size == 0 ? " is a table without default = ..."
                                        : " is a list that has names, too"));
  }
}

Default read_list(lua_State* lua, const std::string& where) {
  const lua_Unsigned size = lua_rawlen(lua, -1);
  if (size > kMostEntries) throw UsageError(where + " is a list of more than 1000");
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(size));
  require_list(lua, size, where);
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (lua_Unsigned i = 1; i <= size; ++i) {
    const int type = lua_rawgeti(lua, -1, static_cast<lua_Integer>(i));
    if (type == LUA_TNUMBER) {
      numbers.push_back(lua_tonumber(lua, -1));
      texts.push_back(shortest_text(numbers.back()));
    } else if (type == LUA_TSTRING) {
      texts.push_back(entry_text(lua, -1));
    }
    lua_pop(lua, 1);
    if (texts.size() != i || (!numbers.empty() && numbers.size() != i))
      throw UsageError(where + " is a list of texts, or of numbers");
  }
  std::string text = join_list(texts);
  if (numbers.empty()) return {ParameterKind::List, std::move(text), std::move(texts)};
  return {ParameterKind::Numbers, std::move(text), std::move(numbers)};
}

// The value on top. Throws UsageError where it is no default.
Default read_default(lua_State* lua, const std::string& where) {
  switch (lua_type(lua, -1)) {
    case LUA_TBOOLEAN: {
      const bool value = lua_toboolean(lua, -1) != 0;
      return {ParameterKind::Bool, value ? "True" : "False", value};
    }
    case LUA_TNUMBER: {
      if (lua_isinteger(lua, -1) != 0) {
        const std::int64_t value = lua_tointeger(lua, -1);
        return {ParameterKind::Int, std::to_string(value), value};
      }
      const double value = lua_tonumber(lua, -1);
      if (!std::isfinite(value)) throw UsageError(where + " is not finite");
      return {ParameterKind::Float, shortest_text(value), value};
    }
    case LUA_TSTRING: {
      std::string value = entry_text(lua, -1);
      std::string text = value;
      return {ParameterKind::Text, std::move(text), std::move(value)};
    }
    case LUA_TTABLE:
      return read_list(lua, where);
    default:
      throw UsageError(where + " is a " + luaL_typename(lua, -1) +
                       "; a default is a number, a text, true or false, or a list");
  }
}

// ---- {default =, kind =, required =, at_least =, ...} ----

bool is_of_numbers(ParameterKind kind) {
  return kind == ParameterKind::Float || kind == ParameterKind::Int ||
         kind == ParameterKind::Numbers;
}

// Whether the reader of users' values makes the declared value of the default's text.
bool reads_back(const Parameter& parameter, const ParameterValue& declared) {
  ParameterMistakes found;
  const ParameterValues values =
      read_parameters(std::span<const Parameter>(&parameter, 1), {}, found);
  const ParameterValue* const value = values.find(parameter.name);
  return found.empty() && value != nullptr && *value == declared;
}

// Reads the declaration of one parameter, and adds each mistake in it.
class ParameterDeclaration {
 public:
  // The declaration is on top of the stack.
  ParameterDeclaration(lua_State* lua, const std::string& name, Mistakes& mistakes)
      : lua_(lua),
        where_("params." + name),
        fields_(lua, lua_gettop(lua), where_,
                {"default", "kind", "required", "help", "at_least", "at_most", "above", "below",
                 "one_of"},
                &mistakes),
        mistakes_(mistakes),
        parameter_{.name = name} {}

  Parameter read() {
    take_default();
    const bool has_kind = read_kind();
    read_required();
    parameter_.help = fields_.text("help").value_or("");
    if (has_kind || declared_) read_bounds_and_choices();
    if (declared_) check_default();
    return std::move(parameter_);
  }

 private:
  void take_default() {
    if (!fields_.push("default")) return;
    const int top = lua_gettop(lua_);
    try {
      declared_ = read_default(lua_, where_);
      parameter_.kind = declared_->kind;
      parameter_.default_text = declared_->text;
    } catch (const UsageError& error) {
      mistakes_.add("default", error.what());
    }
    lua_settop(lua_, top - 1);
  }

  // Returns whether there is a kind, or a mistake in its stead.
  bool read_kind() {
    const auto name = fields_.text("kind");
    const bool has_former_kind = read_former_kind();
    if (!name) {
      if (!fields_.has("default") && !fields_.has("kind") && !has_former_kind)
        fields_.report("kind", "is not given; a parameter without default has a kind");
      return false;
    }
    const auto* const kind = std::find_if(
        kKinds.begin(), kKinds.end(), [&](ParameterKind one) { return to_string(one) == *name; });
    if (kind == kKinds.end()) {
      fields_.report("kind", R"(is to be "float", "int", "bool", "text" or "list")");
      return false;
    }
    if (!declared_) {
      parameter_.kind = *kind;
    } else if (*kind == ParameterKind::Float && declared_->kind == ParameterKind::Int) {
      parameter_.kind = ParameterKind::Float;
      declared_->value = static_cast<double>(std::get<std::int64_t>(declared_->value));
    } else if (*name != to_string(declared_->kind)) {
      fields_.report("kind", "is " + std::string(*name) + ", and the default is of the kind " +
                                 std::string(to_string(declared_->kind)));
    }
    return true;
  }

  // Returns whether there is the key `type`, the former name of `kind`, and gives the mistake its
  // hint.
  bool read_former_kind() {
    if (!has_entry(lua_, -1, "type")) return false;
    push_string(lua_, "type");
    lua_rawget(lua_, -2);
    const bool is_int = text_at(lua_, -1) == "int";
    lua_pop(lua_, 1);
    mistakes_.set_hint("type", is_int ? R"(kind = "int")" : R"(kind = "float")");
    return true;
  }

  void read_required() {
    parameter_.required = fields_.boolean("required").value_or(false);
    if (parameter_.required && fields_.has("default"))
      fields_.report("required", "and default exclude each other");
  }

  void read_bounds_and_choices() {
    NumberRange& range = parameter_.range;
    read_bound("at_least", "above", range.least, range.open_below);
    read_bound("at_most", "below", range.most, range.open_above);
    const bool is_int = parameter_.kind == ParameterKind::Int;
    if (is_of_numbers(parameter_.kind) && !(is_int ? range.has_whole_number() : range.has_number()))
      fields_.report(lower_bound_key(), "leaves no legal number");
    parameter_.choices = fields_.texts("one_of");
    if (!parameter_.choices.empty() && parameter_.kind != ParameterKind::Text)
      fields_.report("one_of", "is for texts");
  }

  // The bound that a range without a legal number is reported at.
  const char* lower_bound_key() const {
    for (const char* key : {"at_least", "above", "at_most"})
      if (fields_.has(key)) return key;
    return "below";
  }

  void read_bound(const char* closed, const char* open, double& end, bool& is_open) {
    const auto including = fields_.number(closed);
    const auto beyond = fields_.number(open);
    if (!including && !beyond) return;
    if (including && beyond)
      fields_.report(open, "and " + std::string(closed) + " exclude each other");
    if (!is_of_numbers(parameter_.kind))
      fields_.report(including ? closed : open, "is for numbers");
    is_open = beyond.has_value();
    end = including ? *including : *beyond;
  }

  // A default has to be what a user could write.
  void check_default() {
    if (reads_back(parameter_, declared_->value)) return;
    fields_.report("default", "is " + shortened(declared_->text) +
                                  (parameter_.choices.empty() ? ", which is not legal itself"
                                                              : ", which is not among one_of"));
  }

  lua_State* lua_;
  std::string where_;
  NamedArguments fields_;
  Mistakes& mistakes_;
  Parameter parameter_;
  std::optional<Default> declared_;
};

// Whether the value on top is a table with one of the fields that make it a declaration.
bool is_declaration(lua_State* lua) {
  constexpr std::array kFields = {"default", "kind", "required", "type"};
  return lua_istable(lua, -1) && std::any_of(kFields.begin(), kFields.end(), [&](const char* key) {
           return has_entry(lua, -1, key);
         });
}

// The parameter whose default or declaration is on top.
void read_parameter(lua_State* lua, const std::string& name, std::vector<Parameter>& parameters,
                    Mistakes& mistakes) {
  const Mistakes::Inside inside(mistakes, name);
  const int top = lua_gettop(lua);
  try {
    if (is_declaration(lua)) {
      ParameterDeclaration declaration(lua, name, mistakes);
      parameters.push_back(declaration.read());
    } else {
      const Default declared = read_default(lua, "params." + name);
      Parameter parameter{.name = name, .kind = declared.kind, .default_text = declared.text};
      if (!reads_back(parameter, declared.value))
        mistakes.add("", "params." + name + " is " + shortened(declared.text) +
                             ", which is no legal default");
      parameters.push_back(std::move(parameter));
    }
  } catch (const UsageError& error) {
    mistakes.add("", error.what());
  }
  lua_settop(lua, top);
}

// The names in the table on top, in their order, which is another one in each process for Lua. Its
// other keys are mistakes.
std::set<std::string_view> parameter_names(lua_State* lua, Mistakes& mistakes) {
  std::set<std::string_view> names;
  std::set<std::string_view> others;
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pop(lua, 1);
    LuaState::of(lua).charge(lua, 1);
    std::size_t size = 0;
    const bool is_text = lua_type(lua, -1) == LUA_TSTRING;
    const char* const text = is_text ? lua_tolstring(lua, -1, &size) : "";
    std::set<std::string_view>& all = is_identifier({text, size}) ? names : others;
    all.insert({text, size});
    if (all.size() > kMostParameters + 1) all.erase(std::prev(all.end()));
  }
  for (const std::string_view key : others)
    mistakes.add(key, "rule: params are names of letters, digits and '_' with their defaults");
  return names;
}

}  // namespace

bool is_identifier(std::string_view text) noexcept {
  return text.size() <= kLongestParameter && cupel::is_identifier(text);
}

std::vector<Parameter> read_declared_parameters(lua_State* lua, int table, Mistakes& mistakes) {
  std::vector<Parameter> parameters;
  const Mistakes::Inside inside(mistakes, "params");
  lua_pushliteral(lua, "params");
  const int type = lua_rawget(lua, table);
  if (type != LUA_TNIL && type != LUA_TTABLE)
    mistakes.add("", "rule: params is a " + std::string(lua_typename(lua, type)) +
                         ", not a table of defaults by name");
  if (type == LUA_TTABLE) {
    std::set<std::string_view> names = parameter_names(lua, mistakes);
    if (names.size() > kMostParameters) {
      mistakes.add("", "rule: params are more than 100");
      names.clear();
    }
    std::size_t bytes = 0;
    for (const std::string_view name : names) {
      LuaState::of(lua).charge(lua, kReading);
      if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end()) {
        mistakes.add(name, "rule: params." + std::string(name) +
                               " is what names other runs; see other_trials = ...");
        continue;
      }
      push_string(lua, name);
      lua_rawget(lua, -2);
      read_parameter(lua, std::string(name), parameters, mistakes);
      lua_pop(lua, 1);
      if (!parameters.empty() && parameters.back().name == name)
        bytes += text_size(parameters.back());
      if (bytes <= kMostParametersText) continue;
      mistakes.add("", "rule: params hold more than 16 KiB of text");
      break;
    }
  }
  lua_pop(lua, 1);
  return parameters;
}

}  // namespace cupel::scripting_detail
