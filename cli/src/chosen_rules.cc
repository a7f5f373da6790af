#include "chosen_rules.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/builtin_rules.h"
#include "cupel/scripting/lua_rule_file.h"
#include "rule_spec.h"

namespace cupel {
namespace {

std::string lines_of(const RuleParameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) text.append(name).append("=").append(value) += '\n';
  return text;
}

ChosenRule builtin_rule(const std::string& name, RuleParameters parameters,
                        const std::vector<std::string>& other_trials) {
  const BuiltinRule& rule = require_builtin_rule(name);
  give_other_trials(rule.name, other_trials, parameters);
  ChosenRule choice;
  choice.rule = rule.name;
  choice.needs = rule.needs(parameters);
  choice.configuration = lines_of(parameters);
  choice.make = [&rule, parameters = std::move(parameters)](Trial& base) {
    return rule.make(base, parameters);
  };
  return choice;
}

// Every built-in rule without a required parameter.
std::vector<ChosenRule> rules_of_set() {
  std::vector<ChosenRule> rules;
  for (const BuiltinRule& rule : builtin_rules()) {
    try {
      rules.push_back(builtin_rule(std::string(rule.name), {}, {}));
    } catch (const UsageError&) {
      continue;  // a parameter is missing: what to look at, a limit, another run
    }
    rules.back().name = rule.name;
    rules.back().is_of_set = true;
  }
  return rules;
}

// `may_be_another`: the only rule of the file is taken, whatever it is called.
ChosenRule lua_rule(const std::string& path, const std::string& name, bool may_be_another,
                    const RuleParameters& parameters, const std::vector<std::string>& other_trials,
                    const ScriptLimits& limits) {
  const auto file = std::make_shared<const LuaRuleFile>(path, limits);
  ChosenRule choice;
  const LuaRuleInfo& info = file->rule(may_be_another && file->rules().size() == 1 ? "" : name);
  if (other_trials.size() < info.other_trials)
    throw InsufficientInformationForRuleInvocation(
        info.name, "it compares with " + std::to_string(info.other_trials) +
                       " other run(s); name them by other_trials=PATH");
  choice.rule = info.name;
  choice.needs = file->needs(choice.rule, parameters);
  choice.says_needs = !choice.needs.tensors.empty();
  choice.configuration = lines_of(parameters) + "text " + file->fingerprint() + "\n";
  for (const std::string& other : other_trials) choice.configuration += "other " + other + "\n";
  choice.make = [file, rule = choice.rule, parameters, other_trials](Trial& base) {
    std::vector<std::unique_ptr<Trial>> others;
    others.reserve(other_trials.size());
    for (const std::string& other : other_trials) others.push_back(create_trial(other));
    return file->make(base, rule, parameters, std::move(others));
  };
  return choice;
}

ChosenRule chosen(const RuleSpec& spec, const std::vector<std::string>& other_trials,
                  const ScriptLimits& limits) {
  ChosenRule choice = spec.file.empty() ? builtin_rule(spec.rule, spec.parameters, other_trials)
                                        : lua_rule(spec.file, spec.rule, false, spec.parameters,
                                                   other_trials, limits);
  choice.name = choice.rule;
  return choice;
}

ChosenRule chosen(RuleConfiguration configured, const std::string& file,
                  const ScriptLimits& limits) {
  // Where the configuration names no rule, its own name stands for one.
  ChosenRule choice =
      configured.source.empty()
          ? builtin_rule(configured.rule, std::move(configured.parameters), {})
          : lua_rule(configured.source, configured.rule, configured.rule == configured.name,
                     configured.parameters, configured.other_trials, limits);
  const std::string whose = file + ": " + configured.name + ": ";
  std::vector<std::string> warnings;
  choice.name = std::move(configured.name);
  choice.runner = std::move(configured.runner);
  choice.actions = parse_action_json(configured.action_json, warnings);
  choice.collections = std::move(configured.collections);
  if (!choice.runner.workers.empty())
    warnings.emplace_back("RunnerParameters.workers is not heeded: rules look at all workers");
  for (const std::string& warning : warnings) log(LogLevel::Warning, whose + warning);
  return choice;
}

}  // namespace

ScriptLimits parse_script_limits(const std::string& text) {
  constexpr std::array kKnown = {
      ParameterInfo{"instructions", "float", "1e7", "of one call"},
      ParameterInfo{"memory", "float", "64", "MiB"},
      ParameterInfo{"time", "float", "1", "seconds of one call"},
  };
  RuleParameters given;
  for (const std::string_view entry :
       text.empty() ? std::vector<std::string_view>() : comma_list(text)) {
    const std::size_t sign = entry.find('=');
    if (sign == std::string_view::npos)
      throw UsageError("--script-limits is memory=MIB,time=SECONDS,instructions=COUNT, and not " +
                       text);
    given[std::string(entry.substr(0, sign))] = entry.substr(sign + 1);
  }
  ParameterReader reader("--script-limits", given, kKnown);
  const double instructions = reader.number("instructions", 1000, 1e15);
  const double memory = reader.number("memory", 1, 1U << 20U);
  const double time = reader.number("time", 0.001, 86400);
  reader.finish();
  return {.instructions = static_cast<std::int64_t>(instructions),
          .memory = static_cast<std::size_t>(memory * 0x1p20),
          .time = std::chrono::milliseconds(static_cast<std::int64_t>(time * 1000))};
}

std::vector<ChosenRule> choose_rules(const RuleChoice& choice) {
  const ScriptLimits limits = parse_script_limits(choice.script_limits);
  const std::string& config = choice.config;
  std::vector<ChosenRule> rules;
  std::string mistakes;
  const auto collect = [&mistakes](const std::string& where, auto&& read) {
    try {
      read();
    } catch (const UsageError& error) {
      mistakes += (mistakes.empty() ? "" : "\n") + where + error.what();
    } catch (const ScriptError& error) {
      mistakes += (mistakes.empty() ? "" : "\n") + where + error.what();
    }
  };
  if (!config.empty())
    for (RuleConfiguration& configured : read_rule_configurations(config)) {
      const std::string where = config + ": " + configured.name + ": ";
      collect(where, [&] { rules.push_back(chosen(std::move(configured), config, limits)); });
    }
  for (const std::string& text : choice.specs)
    collect("", [&] {
      RuleSpec spec = parse_rule_spec(text);
      if (spec.file.empty() && spec.rule == kRulesOfSet) {
        if (!spec.parameters.empty())
          throw UsageError(
              "--rule all takes no parameters; a --rule of its own gives them to a rule");
        const auto is_of_set = [](const ChosenRule& rule) { return rule.is_of_set; };
        if (std::ranges::any_of(rules, is_of_set)) return;
        std::ranges::move(rules_of_set(), std::back_inserter(rules));
        return;
      }
      const std::vector<std::string> other_trials = take_other_trials(spec.parameters);
      rules.push_back(chosen(spec, other_trials, limits));
    });
  if (!mistakes.empty()) throw UsageError(mistakes);
  if (rules.empty())
    throw UsageError("no rule given: add --rule NAME (cupel rules lists them) or --config FILE");
  std::map<std::string, int> times;
  for (ChosenRule& rule : rules)
    if (const int time = ++times[rule.name]; time > 1) rule.name += "#" + std::to_string(time);
  return rules;
}

}  // namespace cupel
