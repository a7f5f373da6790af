#include "cupel/scripting/lua_rules.h"

#include <memory>
#include <utility>

#include "cupel/core/error.h"
#include "rule_runs.h"
#include "rule_script.h"
#include "rule_source.h"

namespace cupel {
namespace {

std::shared_ptr<const RuleDefinition> definition_of(
    const std::shared_ptr<scripting_detail::RuleRuns>& runs,
    const scripting_detail::RuleSource& source, const scripting_detail::DeclaredRule& rule,
    std::size_t number) {
  RuleDefinition definition = rule.definition;
  definition.file = source.path();
  definition.fingerprint = source.fingerprint();
  if (rule.needs || rule.has_needs_function)
    definition.needs_of = [runs, number](const ParameterValues& values) {
      return runs->needs(number, values);
    };
  definition.problem_of = [runs](const std::exception& error) { return runs->problem_of(error); };
  definition.make_rule = [runs, number](Trial& base, const ParameterValues& values,
                                        std::vector<std::unique_ptr<Trial>> others) {
    return runs->make(number, base, values, std::move(others));
  };
  return std::make_shared<const RuleDefinition>(std::move(definition));
}

}  // namespace

RuleFile read_lua_rules(const std::string& path, const ScriptLimits& limits,
                        const StoreSchemes& schemes) {
  RuleFile file;
  std::shared_ptr<const scripting_detail::RuleSource> source;
  try {
    source = std::make_shared<const scripting_detail::RuleSource>(path, limits, schemes);
  } catch (const Error& error) {
    file.is_readable = false;
    file.errors.push_back({.file = path, .message = error.what()});
    return file;
  }
  try {
    auto script = std::make_unique<scripting_detail::RuleScript>(source);
    file.errors = script->problems();
    if (!file.errors.empty()) return file;
    const auto runs = std::make_shared<scripting_detail::RuleRuns>(std::move(script));
    for (std::size_t i = 0; i < runs->rules().size(); ++i)
      file.definitions.push_back(definition_of(runs, *source, runs->rules()[i], i));
  } catch (const Error& error) {
    file.errors.push_back({.file = path, .message = error.what()});
  }
  return file;
}

RuleFileReader lua_rule_reader(const ScriptLimits& limits, const StoreSchemes& schemes) {
  return {.ending = ".lua", .read = [limits, schemes](const std::string& path) {
            return read_lua_rules(path, limits, schemes);
          }};
}

}  // namespace cupel
