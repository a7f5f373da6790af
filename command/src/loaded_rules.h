#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_context.h"
#include "cupel/rules/load_rules.h"
#include "cupel/scripting/script_limits.h"

namespace cupel::command_detail {

/// The rules that a command line asks for.
struct AskedRules {
  RuleSources sources = {};
  std::string script_limits = {};  ///< The text that parse_script_limits() reads.

  bool empty() const { return sources.specs.empty() && sources.config.empty(); }
};

/// Loads the rules and reports every warning. Where there are errors, reports all of them and
/// returns nothing; the command then ends with kExitError. Throws UsageError where no rule is asked
/// for, and for mistakes in `script_limits`.
std::optional<std::vector<RuleConfiguration>> load_rules_or_report(const AskedRules& asked,
                                                                   bool json,
                                                                   const CommandContext& context);

/// Reports errors: a message for each, or with `json` one array on the output.
void report_errors(const std::vector<RuleProblem>& errors, bool json,
                   const CommandContext& context);
/// Logs a warning for each.
void report_warnings(const std::vector<RuleProblem>& warnings);

/// Returns the reader of files in Lua, then those of the program.
RuleFileReaders rule_file_readers(const Program& program, const ScriptLimits& limits = {});

/// Returns the rules that a user can name: of each name the definition that load_rules() takes.
std::vector<std::shared_ptr<const RuleDefinition>> shown_rules(const RuleCatalog& catalog);

/// Reads "memory=256,time=5,instructions=1e8", in MiB and seconds. A limit that is not given has
/// its default. Throws UsageError with every mistake.
ScriptLimits parse_script_limits(const std::string& text);

}  // namespace cupel::command_detail
