#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "cupel/core/error.h"
#include "cupel/rules/rule_definition.h"
#include "cupel/scripting/lua_rules.h"

namespace cupel::testing {

/// A problem in one line, with the file's name and without its folder:
/// `rule.lua:2: message, in "source"; hint`.
inline std::string problem_text(const RuleProblem& problem) {
  std::string text = std::filesystem::path(problem.file).filename().string();
  if (problem.line > 0) text += ":" + std::to_string(problem.line);
  text += (text.empty() ? "" : ": ") + problem.message;
  if (!problem.source_line.empty()) text += ", in \"" + problem.source_line + "\"";
  if (!problem.hint.empty()) text += "; " + problem.hint;
  return text;
}

/// The errors of a file, one a line; "" where there are none.
inline std::string errors_text(const RuleFile& file) {
  std::string text;
  for (const RuleProblem& error : file.errors)
    text += (text.empty() ? "" : "\n") + problem_text(error);
  return text;
}

/// The rule `name` of a file, or its first one. Throws UsageError with every error of the file.
inline std::shared_ptr<const RuleDefinition> rule_of(const RuleFile& file,
                                                     std::string_view name = {}) {
  if (!file.errors.empty()) throw UsageError(errors_text(file));
  const auto rule = std::ranges::find_if(file.definitions, [&](const auto& definition) {
    return name.empty() || definition->name == name;
  });
  if (rule == file.definitions.end()) throw UsageError("no rule " + std::string(name));
  return *rule;
}

inline std::shared_ptr<const RuleDefinition> lua_rule(const std::string& path,
                                                      const ScriptLimits& limits = {}) {
  return rule_of(read_lua_rules(path, limits));
}

}  // namespace cupel::testing
