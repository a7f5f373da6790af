#include "declared_needs.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/rules/tensor_number.h"

namespace cupel::lua {
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

// A list of sources, any one of which is enough.
std::vector<TensorSource> read_sources(lua_State* lua, int table, const char* key,
                                       const std::string& where) {
  std::vector<TensorSource> sources;
  const std::string list = where + ": " + key;
  lua_pushstring(lua, key);
  const int type = lua_rawget(lua, table);
  if (type != LUA_TNIL && type != LUA_TTABLE)
    throw UsageError(list + " is a " + lua_typename(lua, type) + ", not a list");
  const lua_Unsigned size = type == LUA_TTABLE ? lua_rawlen(lua, -1) : 0;
  if (size > kMostSources) throw UsageError(list + " is a list of more than 100");
  for (lua_Unsigned i = 1; i <= size; ++i) {
    lua_rawgeti(lua, -1, static_cast<lua_Integer>(i));
    sources.push_back(read_source(lua, list + "[" + std::to_string(i) + "]"));
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  return sources;
}

// What is said by `reductions`, `shape`, `raw` and `counts`, the short form.
void read_short_form(const NamedArguments& said, TensorNeed& need) {
  TensorSource together{TensorSource::Kind::Reductions};
  Reduction last;
  for (const std::string& name : said.texts("reductions"))
    together.reductions.add(last = require_reduction(name));
  together.shape = said.boolean("shape").value_or(false);
  const TensorSource value = TensorSource::value();
  if (said.boolean("raw").value_or(false)) {
    need.suffices = {value};
    if (!together.reductions.empty()) need.spares = {together};
  } else if (said.boolean("counts").value_or(false)) {
    need.suffices = {TensorSource::counts(), value};
  } else if (together.reductions.size() == 1 && !together.shape) {
    need.suffices = sources_of(last);
  } else if (!together.reductions.empty()) {
    need.suffices = {together, value};
  } else {
    need.suffices = {TensorSource::any(1), value};
  }
}

TensorNeed read_need(lua_State* lua, int table, const std::string& rule) {
  const std::string where = rule + ": needs";
  const NamedArguments said(lua, table, where.c_str(),
                            {"collections", "patterns", "any", "reductions", "raw", "counts",
                             "shape", "suffices", "spares", "modes", "steps", "every", "optional"});
  TensorNeed need;
  need.tensors.collections = said.texts("collections");
  need.tensors.patterns = said.texts("patterns");
  need.tensors.all_if_none = true;
  need.tensors.any_suffices = said.boolean("any").value_or(false);
  read_short_form(said, need);
  if (auto sources = read_sources(lua, table, "suffices", where); !sources.empty()) {
    for (const char* key : {"reductions", "raw", "counts", "shape"})
      if (said.has(key)) said.fail(key, "is said by suffices, too; leave one of them out");
    need.suffices = std::move(sources);
  }
  if (auto sources = read_sources(lua, table, "spares", where); !sources.empty())
    need.spares = std::move(sources);
  for (const std::string& mode : said.texts("modes")) need.modes.push_back(parse_mode(mode));
  const auto steps = [&](const char* key) {
    const auto number = said.integer(key);
    if (number && (*number < 1 || *number > kMostSteps))
      said.fail(key, "is to be from 1 to 1000000000");
    return number;
  };
  need.steps.value = steps("steps").value_or(1);
  if (const auto every = steps("every")) need.at_least_every = NeededNumber{*every, ""};
  need.optional = said.boolean("optional").value_or(false);
  return need;
}

}  // namespace

RuleNeeds read_needs(lua_State* lua, int table, const std::string& rule) {
  if (!lua_istable(lua, table))
    throw UsageError(rule + ": needs are a table, not a " + luaL_typename(lua, table));
  RuleNeeds needs;
  const lua_Unsigned size = lua_rawlen(lua, table);
  if (size == 0) {
    needs.tensors.push_back(read_need(lua, table, rule));
    if (text_of(needs.tensors.back()) > kMostNeedsText)
      throw UsageError(rule + ": needs hold more than 256 KiB of text");
    return needs;
  }
  if (size > kMostNeeds) throw UsageError(rule + ": more than 1000 needs");
  std::size_t bytes = 0;
  for (lua_Unsigned i = 1; i <= size; ++i) {
    if (lua_rawgeti(lua, table, static_cast<lua_Integer>(i)) != LUA_TTABLE)
      throw UsageError(rule + ": needs[" + std::to_string(i) + "] is a " + luaL_typename(lua, -1) +
                       ", not a table");
    needs.tensors.push_back(read_need(lua, lua_gettop(lua), rule));
    lua_pop(lua, 1);
    bytes += text_of(needs.tensors.back());
    if (bytes > kMostNeedsText) throw UsageError(rule + ": needs hold more than 256 KiB of text");
  }
  return needs;
}

}  // namespace cupel::lua
