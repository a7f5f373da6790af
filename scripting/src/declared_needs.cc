// Reads what a rule needs, from the table `needs` of its definition or from what its function of
// that name returns. Runs inside of the door. Mistakes are collected, each with its key; sizes are
// bounded, because a file may be hostile.

#include "declared_needs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/rules/tensor_number.h"

namespace cupel::scripting_detail {
namespace {

constexpr lua_Unsigned kMostNeeds = 1000;
constexpr lua_Unsigned kMostSources = 100;
constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr std::size_t kMostNeedsText = std::size_t{256} << 10U;

std::size_t text_of(const TensorNeed& need) {
  std::size_t bytes = 0;
  for (const std::string& name : need.tensors.collections)
    bytes += name.size() + sizeof(std::string);
  for (const std::string& pattern : need.tensors.patterns.texts())
    bytes += pattern.size() + sizeof(std::string);
  return bytes;
}

// The source on top: "raw", "counts", or reductions that are to be there together.
TensorSource read_source(lua_State* lua, const std::string& where) {
  const std::vector<std::string> names = texts_at(lua, -1, where);
  if (names.size() == 1 && names.front() == "raw") return TensorSource::value();
  if (names.size() == 1 && names.front() == "counts") return TensorSource::counts();
  if (names.empty()) throw UsageError(where + " is an empty list of reductions");
  TensorSource source{TensorSource::Kind::Reductions};
  for (const std::string& name : names) source.reductions.add(require_reduction(name));
  return source;
}

// Reads one table of needs.
class NeedReader {
 public:
  NeedReader(lua_State* lua, int table, const std::string& rule, Mistakes& mistakes)
      : lua_(lua),
        where_(rule + ": needs"),
        fields_(lua, table, where_,
                {"collections", "patterns", "any", "reductions", "raw", "counts", "shape",
                 "suffices", "spares", "modes", "steps", "every", "optional"},
                &mistakes),
        mistakes_(mistakes) {}

  TensorNeed read() {
    TensorNeed need;
    need.tensors.collections = fields_.texts("collections");
    attempt("patterns", [&] { need.tensors.patterns = fields_.texts("patterns"); });
    need.tensors.all_if_none = true;
    need.tensors.any_suffices = fields_.boolean("any").value_or(false);
    read_short_form(need);
    if (auto sources = read_sources("suffices"); !sources.empty()) {
      for (const char* key : {"reductions", "raw", "counts", "shape"})
        if (fields_.has(key)) fields_.report(key, "and suffices exclude each other");
      need.suffices = std::move(sources);
    }
    if (auto sources = read_sources("spares"); !sources.empty()) need.spares = std::move(sources);
    attempt("modes", [&] {
      for (const std::string& mode : fields_.texts("modes"))
        need.modes.push_back(parse_mode(shortened(mode)));
    });
    need.steps.value = steps("steps").value_or(1);
    if (const auto every = steps("every")) need.at_least_every = NeededNumber{*every, ""};
    need.optional = fields_.boolean("optional").value_or(false);
    return need;
  }

 private:
  template <class Read>
  void attempt(const char* key, Read&& read) {
    try {
      read();
    } catch (const UsageError& error) {
      mistakes_.add(key, where_ + ": " + key + ": " + error.what());
    }
  }

  std::optional<std::int64_t> steps(const char* key) {
    const auto number = fields_.integer(key);
    if (!number || (*number >= 1 && *number <= kMostSteps)) return number;
    fields_.report(key, "is to be from 1 to 1000000000");
    return std::nullopt;
  }

  // A list of sources, any one of which is enough.
  std::vector<TensorSource> read_sources(const char* key) {
    std::vector<TensorSource> sources;
    if (!fields_.push(key)) return sources;
    const int list = lua_gettop(lua_);
    const std::string where = where_ + ": " + key;
    const lua_Unsigned size = lua_istable(lua_, list) ? lua_rawlen(lua_, list) : 0;
    if (!lua_istable(lua_, list))
      mistakes_.add(key, where + " is a " + luaL_typename(lua_, list) + ", not a list");
    if (size > kMostSources) mistakes_.add(key, where + " is a list of more than 100");
    for (lua_Unsigned i = 1; i <= std::min(size, kMostSources); ++i) {
      lua_rawgeti(lua_, list, static_cast<lua_Integer>(i));
      try {
        sources.push_back(read_source(lua_, where + "[" + std::to_string(i) + "]"));
      } catch (const UsageError& error) {
        mistakes_.add(key, error.what());
      }
      lua_settop(lua_, list);
    }
    lua_pop(lua_, 1);
    return sources;
  }

  // The short form: `reductions`, `shape`, `raw` and `counts`.
  void read_short_form(TensorNeed& need) {
    TensorSource together{TensorSource::Kind::Reductions};
    Reduction last;
    for (const std::string& name : fields_.texts("reductions"))
      attempt("reductions", [&] { together.reductions.add(last = require_reduction(name)); });
    together.shape = fields_.boolean("shape").value_or(false);
    const TensorSource value = TensorSource::value();
    if (fields_.boolean("raw").value_or(false)) {
      need.suffices = {value};
      if (!together.reductions.empty()) need.spares = {together};
    } else if (fields_.boolean("counts").value_or(false)) {
      need.suffices = {TensorSource::counts(), value};
    } else if (together.reductions.size() == 1 && !together.shape) {
      need.suffices = sources_of(last);
    } else if (!together.reductions.empty()) {
      need.suffices = {together, value};
    } else {
      need.suffices = {TensorSource::any(1), value};
    }
  }

  lua_State* lua_;
  std::string where_;
  NamedArguments fields_;
  Mistakes& mistakes_;
};

}  // namespace

RuleNeeds read_needs(lua_State* lua, int table, const std::string& rule, Mistakes& mistakes) {
  RuleNeeds needs;
  if (!lua_istable(lua, table)) {
    mistakes.add("", rule + ": needs are a table, not a " + luaL_typename(lua, table));
    return needs;
  }
  const lua_Unsigned size = lua_rawlen(lua, table);
  if (size > kMostNeeds) {
    mistakes.add("", rule + ": more than 1000 needs");
    return needs;
  }
  std::size_t bytes = 0;
  // The table on top is a need; goes on unless there is too much text.
  const auto add = [&] {
    needs.tensors.push_back(NeedReader(lua, lua_gettop(lua), rule, mistakes).read());
    bytes += text_of(needs.tensors.back());
    if (bytes > kMostNeedsText) mistakes.add("", rule + ": needs hold more than 256 KiB of text");
    return bytes <= kMostNeedsText;
  };
  if (size == 0) {
    lua_pushvalue(lua, table);
    add();
    lua_pop(lua, 1);
    return needs;
  }
  bool goes_on = true;
  for (lua_Unsigned i = 1; i <= size && goes_on; ++i) {
    const std::string number = std::to_string(i);
    const Mistakes::Inside inside(mistakes, number);
    if (lua_rawgeti(lua, table, static_cast<lua_Integer>(i)) == LUA_TTABLE)
      goes_on = add();
    else
      mistakes.add(
          "", rule + ": needs[" + number + "] is a " + luaL_typename(lua, -1) + ", not a table");
    lua_pop(lua, 1);
  }
  return needs;
}

}  // namespace cupel::scripting_detail
