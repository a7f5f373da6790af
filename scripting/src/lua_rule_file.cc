#include "cupel/scripting/lua_rule_file.h"

#include <utility>

#include "cupel/core/error.h"
#include "lua_rule.h"
#include "rule_script.h"
#include "rule_source.h"

namespace cupel {
namespace {

// Of a file that is only asked what it holds.
void be_silent(std::string_view /*line*/) {}

// "GradientTooLarge" and "gradient_too_large" are one name.
std::string folded(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c != '_') text += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return text;
}

std::string all_names(const std::vector<LuaRuleInfo>& rules) {
  std::string text;
  for (const LuaRuleInfo& rule : rules) text += (text.empty() ? "" : ", ") + rule.name;
  return text;
}

}  // namespace

struct LuaRuleFile::State {
  std::shared_ptr<const lua::RuleSource> source;
  std::vector<lua::RuleDefinition> definitions;
  std::vector<LuaRuleInfo> rules;

  std::size_t index_of(std::string_view name) const {
    if (name.empty() && rules.size() == 1) return 0;
    if (name.empty())
      throw UsageError(source->path() + " has several rules; name one of them, " + source->path() +
                       ":NAME: " + all_names(rules));
    for (const bool exact : {true, false})
      for (std::size_t i = 0; i < rules.size(); ++i)
        if (exact ? rules[i].name == name : folded(rules[i].name) == folded(name)) return i;
    throw UsageError(source->path() + " has no rule " + std::string(name) + "; it has " +
                     all_names(rules));
  }
};

LuaRuleFile::LuaRuleFile(const std::string& path, const ScriptLimits& limits)
    : state_(std::make_unique<State>()) {
  state_->source = std::make_shared<const lua::RuleSource>(path, limits);
  try {
    state_->definitions = lua::RuleScript(state_->source, be_silent, 0).definitions();
  } catch (const ScriptError& error) {
    const std::string line = state_->source->line(error.chunk, error.line);
    if (line.empty()) throw;
    throw ScriptError(error.chunk, error.line, error.problem + ", in \"" + line + "\"", error.limit,
                      error.traceback);
  }
  for (const auto& definition : state_->definitions) state_->rules.push_back(definition.info);
}

LuaRuleFile::~LuaRuleFile() = default;
LuaRuleFile::LuaRuleFile(LuaRuleFile&&) noexcept = default;
LuaRuleFile& LuaRuleFile::operator=(LuaRuleFile&&) noexcept = default;

const std::string& LuaRuleFile::path() const noexcept { return state_->source->path(); }

const std::vector<LuaRuleInfo>& LuaRuleFile::rules() const noexcept { return state_->rules; }

const LuaRuleInfo& LuaRuleFile::rule(std::string_view name) const {
  return state_->rules[state_->index_of(name)];
}

RuleNeeds LuaRuleFile::needs(std::string_view name, const RuleParameters& parameters) const {
  const std::size_t rule = state_->index_of(name);
  const lua::RuleDefinition& definition = state_->definitions[rule];
  const lua::ParameterValues values =
      lua::convert_parameters(definition.info.name, definition.parameters, parameters);
  lua::RuleScript script(state_->source, be_silent, 0);
  return script.needs(rule, values);
}

std::unique_ptr<Rule> LuaRuleFile::make(Trial& base, std::string_view name,
                                        const RuleParameters& parameters,
                                        std::vector<std::unique_ptr<Trial>> others) const {
  const std::size_t rule = state_->index_of(name);
  return std::make_unique<lua::LuaRule>(state_->source, rule, state_->rules[rule].name, base,
                                        parameters, std::move(others));
}

std::string LuaRuleFile::fingerprint() const { return state_->source->fingerprint(); }

}  // namespace cupel
