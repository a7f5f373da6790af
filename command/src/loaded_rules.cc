// Loads the rules of `watch` and `check`, and reports all mistakes of the SPECs, the configuration
// file and the files of rules at once. With --json the errors are the output of the command,
// otherwise they are messages. Warnings are log messages in both cases, so that they are never
// mixed with results. Everything runs in the thread of the command.

#include "loaded_rules.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/rule_parameter.h"
#include "cupel/scripting/lua_rules.h"

namespace cupel::command_detail {
namespace {

constexpr double kMebibyte = 0x1p20;

const std::vector<Parameter>& limit_parameters() {
  const ScriptLimits defaults;
  static const std::vector<Parameter> known = {
      {.name = "instructions",
       .kind = ParameterKind::Float,
       .default_text = shortest_text(static_cast<double>(defaults.instructions)),
       .range = {.least = 1000, .most = 1e15},
       .help = "instructions of one call"},
      {.name = "memory",
       .kind = ParameterKind::Float,
       .default_text = shortest_text(static_cast<double>(defaults.memory) / kMebibyte),
       .range = {.least = 1, .most = 1U << 20U},
       .help = "MiB"},
      {.name = "time",
       .kind = ParameterKind::Float,
       .default_text = shortest_text(std::chrono::duration<double>(defaults.time).count()),
       .range = {.least = 0.001, .most = 86400},
       .help = "seconds of one call"},
  };
  return known;
}

}  // namespace

std::vector<std::shared_ptr<const RuleDefinition>> shown_rules(const RuleCatalog& catalog) {
  return catalog.definitions(Definitions::Practical);
}

RuleFileReaders rule_file_readers(const Program& program, const ScriptLimits& limits) {
  RuleFileReaders readers = {lua_rule_reader(limits)};
  readers.insert(readers.end(), program.rule_files.begin(), program.rule_files.end());
  return readers;
}

ScriptLimits parse_script_limits(const std::string& text) {
  RuleParameters given;
  for (const std::string_view entry :
       text.empty() ? std::vector<std::string_view>() : comma_list(text)) {
    const std::size_t sign = entry.find('=');
    if (sign == std::string_view::npos)
      throw UsageError("--script-limits is memory=MIB,time=SECONDS,instructions=COUNT, and not " +
                       text);
    given[std::string(entry.substr(0, sign))] = entry.substr(sign + 1);
  }
  ParameterMistakes mistakes;
  const ParameterValues limits = read_parameters(limit_parameters(), given, mistakes);
  mistakes.throw_if_any("--script-limits");
  const auto limit = [&limits](std::string_view name) { return *limits.get<double>(name); };
  return {.instructions = static_cast<std::int64_t>(limit("instructions")),
          .memory = static_cast<std::size_t>(limit("memory") * kMebibyte),
          .time = std::chrono::milliseconds(static_cast<std::int64_t>(limit("time") * 1000))};
}

void report_errors(const std::vector<RuleProblem>& errors, bool json,
                   const CommandContext& context) {
  if (json) {
    context.out << Composed{to_json(errors)} << '\n';
    return;
  }
  for (const RuleProblem& error : errors) context.message() << Composed{to_text(error)} << '\n';
}

void report_warnings(const std::vector<RuleProblem>& warnings) {
  for (const RuleProblem& warning : warnings) log(LogLevel::Warning, to_text(warning));
}

std::optional<std::vector<RuleConfiguration>> load_rules_or_report(const AskedRules& asked,
                                                                   bool json,
                                                                   const CommandContext& context) {
  const ScriptLimits limits = parse_script_limits(asked.script_limits);
  LoadedRules loaded =
      load_rules(asked.sources, context.program.rules, rule_file_readers(context.program, limits));
  report_warnings(loaded.warnings);
  if (!loaded.errors.empty()) {
    report_errors(loaded.errors, json, context);
    return std::nullopt;
  }
  if (loaded.rules.empty())
    throw UsageError("no rule given: add --rule NAME (" + context.program.name +
                     " rules lists them) or --config FILE");
  return std::move(loaded.rules);
}

}  // namespace cupel::command_detail
