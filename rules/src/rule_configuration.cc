#include "cupel/rules/rule_configuration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "cupel/core/comma_list.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/rules/builtin_rules.h"

namespace cupel {
namespace {

constexpr std::string_view kWrapper = "DebugRuleConfigurations";
constexpr std::string_view kOtherTrial = "other_trial";
constexpr std::string_view kOtherTrials = "other_trials";

constexpr std::array<std::string_view, 9> kEntryKeys = {
    "RuleConfigurationName", "RuleParameters", "CollectionConfigurations",
    "RunnerParameters",      "LocalPath",      "RuleEvaluatorImage",
    "InstanceType",          "VolumeSizeInGB", "S3OutputPath"};
constexpr std::array<std::string_view, 5> kRunnerKeys = {
    "start_step", "end_step", "stop_on_first_fire", "raise_eval_cond", "workers"};

// What the service takes; of values, what actions with a command and lists of paths need.
constexpr std::size_t kMostEntries = 20;
constexpr std::size_t kMostParameters = 100;
constexpr std::size_t kMostName = 256;
constexpr std::size_t kMostValue = 16'384;

void append_paths(std::string_view list, std::vector<std::string>& paths) {
  for (const std::string_view path : comma_list(list))
    if (!path.empty()) paths.emplace_back(path);
}

// The number of "other_trial_<number>".
std::optional<std::uint64_t> other_trial_number(std::string_view key) {
  if (!key.starts_with(kOtherTrial) || key.size() <= kOtherTrial.size() + 1 ||
      key[kOtherTrial.size()] != '_')
    return std::nullopt;
  key.remove_prefix(kOtherTrial.size() + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return number;
}

// "", and "None", are not given.
std::string taken(RuleParameters& parameters, std::string_view key) {
  const auto found = parameters.find(std::string(key));
  if (found == parameters.end()) return {};
  std::string value = std::move(found->second);
  parameters.erase(found);
  return trimmed(value) == "None" ? std::string() : value;
}

RuleParameters read_parameters(const ConfigurationValue& value) {
  RuleParameters parameters;
  if (!expect_object(value)) return parameters;
  if (value.size() > kMostParameters) {
    value.refuse("at most 100 parameters", std::to_string(value.size()));
    return parameters;
  }
  value.for_each_member([&](const std::string& key, const ConfigurationValue& each) {
    if (key.empty() || key.size() > kMostName)
      return value.report().error(value.path(), "a parameter's name has 1 to 256 characters, not " +
                                                    std::to_string(key.size()) + ": " +
                                                    shown_text(key));
    // Actions may be written as JSON in its own right, too.
    auto text = each.is_object() && key == "action_json" ? std::optional(each.json_text())
                                                         : read_any_text(each);
    if (!text) return;
    if (text->size() > kMostValue)
      return each.refuse("at most 16384 characters", std::to_string(text->size()));
    parameters.emplace(key, *std::move(text));
  });
  return parameters;
}

RunnerParameters read_runner(const ConfigurationValue& value) {
  RunnerParameters runner;
  if (!expect_object(value)) return runner;
  value.for_each_member([&](const std::string& key, const ConfigurationValue& each) {
    if (key == "start_step") {
      runner.start_step = read_whole_number(each, 0);
    } else if (key == "end_step") {
      runner.end_step = read_whole_number(each, 0);
    } else if (key == "stop_on_first_fire") {
      runner.stop_on_first_fire = read_bool(each);
    } else if (key == "raise_eval_cond") {
      runner.raise_eval_cond = read_bool(each);
    } else if (key == "workers") {
      constexpr std::string_view kLegal = "a comma list or an array of names of workers";
      if (each.is_text()) {
        append_paths(each.text(), runner.workers);
      } else if (each.is_array()) {
        each.for_each_item([&](const ConfigurationValue& item) {
          if (auto name = read_text(item, kLegal)) runner.workers.push_back(*std::move(name));
        });
      } else if (!each.is_null()) {
        each.refuse(kLegal);
      }
    } else {
      value.report().unknown_key(value.path(), key, kRunnerKeys);
    }
  });
  return runner;
}

RuleConfiguration read_entry(const ConfigurationValue& entry, std::set<std::string>& names) {
  RuleConfiguration result;
  if (!entry.is_object()) {
    entry.refuse("an object");
    return result;
  }
  entry.for_each_member([&](const std::string& key, const ConfigurationValue&) {
    if (std::find(kEntryKeys.begin(), kEntryKeys.end(), key) == kEntryKeys.end())
      entry.report().unknown_key(entry.path(), key, kEntryKeys);
  });
  const ConfigurationValue name = entry.member("RuleConfigurationName");
  if (!name.is_text() || name.text().empty() || name.text().size() > kMostName)
    name.refuse("a name of 1 to 256 characters", name.is_null() ? "missing" : name.shown());
  else if (result.name = name.text(); !names.insert(result.name).second)
    name.refuse("a name that no other entry has");
  result.parameters = read_parameters(entry.member("RuleParameters"));
  result.rule = taken(result.parameters, "rule_to_invoke");
  if (result.rule.empty()) result.rule = result.name;
  result.source = taken(result.parameters, "source_s3_uri");
  result.action_json = taken(result.parameters, "action_json");
  result.other_trials = take_other_trials(result.parameters);
  if (result.source.empty()) give_other_trials(result.rule, result.other_trials, result.parameters);
  result.collections = read_collection_configurations(entry.member("CollectionConfigurations"));
  result.runner = read_runner(entry.member("RunnerParameters"));
  return result;
}

}  // namespace

std::vector<std::string> take_other_trials(RuleParameters& parameters) {
  std::map<std::uint64_t, std::string> numbered;
  for (const auto& [key, value] : parameters)
    if (const auto number = other_trial_number(key)) numbered.emplace(*number, key);
  std::vector<std::string> paths;
  for (const auto& [number, key] : numbered) {
    const std::string value = taken(parameters, key);
    if (const std::string_view path = trimmed(value); !path.empty()) paths.emplace_back(path);
  }
  append_paths(taken(parameters, kOtherTrials), paths);
  append_paths(taken(parameters, kOtherTrial), paths);
  return paths;
}

void give_other_trials(std::string_view rule, const std::vector<std::string>& other_trials,
                       RuleParameters& parameters) {
  const BuiltinRule* builtin = find_builtin_rule(rule);
  if (builtin == nullptr || other_trials.empty()) return;
  const auto& known = builtin->parameters;
  if (std::none_of(known.begin(), known.end(),
                   [](const ParameterInfo& each) { return each.name == kOtherTrials; }))
    return;
  std::string list;
  for (const std::string& path : other_trials) list += (list.empty() ? "" : ",") + path;
  parameters[std::string(kOtherTrials)] = list;
}

std::vector<RuleConfiguration> parse_rule_configurations(std::string_view json,
                                                         std::string_view source) {
  const ConfigurationDocument document(json, source);
  ConfigurationReport report(shown_path(source));
  const ConfigurationValue root = document.root(report);
  std::vector<RuleConfiguration> rules;
  if (!root.is_array() && !root.is_object()) {
    report.error({}, "a configuration of rules must be an array, or an object with " +
                         std::string(kWrapper) + ", not " + root.shown());
    report.finish();
  }
  const ConfigurationValue entries = root.is_array() ? root : root.member(kWrapper);
  if (root.is_object() && !root.has_member(kWrapper))
    report.error({}, "an object that configures rules has the key " + std::string(kWrapper));
  if (expect_array(entries)) {
    if (entries.size() > kMostEntries) {
      entries.refuse("at most 20 rules", std::to_string(entries.size()));
    } else {
      std::set<std::string> names;
      entries.for_each_item(
          [&](const ConfigurationValue& entry) { rules.push_back(read_entry(entry, names)); });
    }
  }
  report.finish();
  return rules;
}

std::vector<RuleConfiguration> read_rule_configurations(const std::string& path) {
  return parse_rule_configurations(read_configuration_text(path), path);
}

}  // namespace cupel
