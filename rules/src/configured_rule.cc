// The entries of a configuration of rules, from JSON.
//
// Every mistake becomes an error of the document's report, with the keys that lead to it, and the
// entry is still read to its end. Parameters that are not the rule's own (rule_to_invoke,
// source_s3_uri, action_json, other runs) are taken out of them. Limits bound what a hostile file
// may cost. Pure functions, for any thread.

#include "configured_rule.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "cupel/core/comma_list.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/core/number_text.h"

namespace cupel::rules_detail {
namespace {

constexpr std::string_view kWrapper = "DebugRuleConfigurations";
constexpr std::string_view kOtherTrial = "other_trial";
constexpr std::string_view kOtherTrials = "other_trials";

constexpr std::array<std::string_view, 10> kEntryKeys = {
    "RuleConfigurationName", "RuleParameters", "CollectionConfigurations", "RunnerParameters",
    "Definitions",           "LocalPath",      "RuleEvaluatorImage",       "InstanceType",
    "VolumeSizeInGB",        "S3OutputPath"};
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
  return parse_integer<std::uint64_t>(key);
}

// "", and "None", are not given.
std::string taken(RuleParameters& parameters, std::string_view key) {
  const auto found = parameters.find(std::string(key));
  if (found == parameters.end()) return {};
  std::string value = std::move(found->second);
  parameters.erase(found);
  return trimmed(value) == "None" ? std::string() : value;
}

void read_given_parameters(const ConfigurationValue& value, ConfiguredRule& into) {
  if (!expect_object(value)) return;
  if (value.size() > kMostParameters)
    return value.refuse("at most 100 parameters", std::to_string(value.size()));
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
    into.parameter_paths.emplace(key, each.path());
    into.use.parameters.emplace(key, *std::move(text));
  });
}

bool has_workers(const ConfigurationValue& value) {
  constexpr std::string_view kLegal = "a comma list or an array of names of workers";
  if (value.is_null()) return false;
  if (value.is_text()) return !trimmed(value.text()).empty();
  if (!value.is_array()) {
    value.refuse(kLegal);
    return false;
  }
  value.for_each_item([&](const ConfigurationValue& item) { read_text(item, kLegal); });
  return value.size() > 0;
}

void read_runner(const ConfigurationValue& value, ConfiguredRule& into) {
  if (!expect_object(value)) return;
  bool raises = false;
  value.for_each_member([&](const std::string& key, const ConfigurationValue& each) {
    if (key == "start_step") {
      into.use.start_step = read_whole_number(each, 0);
    } else if (key == "end_step") {
      into.use.end_step = read_whole_number(each, 0);
    } else if (key == "stop_on_first_fire") {
      into.use.stop_at_first = read_bool(each);
    } else if (key == "raise_eval_cond") {
      raises = read_bool(each).value_or(false);
    } else if (key == "workers") {
      into.has_workers = has_workers(each);
    } else {
      value.report().unknown_key(value.path(), key, kRunnerKeys);
    }
  });
  // A rule that lets its finding out as an exception ends, too.
  if (raises) into.use.stop_at_first = true;
}

Definitions read_edition(const ConfigurationValue& value) {
  constexpr std::string_view kLegal = "\"practical\" or \"reference\"";
  if (value.is_null()) return Definitions::Reference;
  const auto text = read_text(value, kLegal);
  for (const Definitions edition : {Definitions::Practical, Definitions::Reference})
    if (text == to_string(edition)) return edition;
  if (text) value.refuse(kLegal);
  return Definitions::Reference;
}

ConfiguredRule read_entry(const ConfigurationValue& entry, std::set<std::string>& names) {
  ConfiguredRule result;
  result.path = entry.path();
  if (!entry.is_object()) {
    entry.refuse("an object");
    return result;
  }
  entry.for_each_member([&](const std::string& key, const ConfigurationValue&) {
    if (std::ranges::find(kEntryKeys, key) == kEntryKeys.end())
      entry.report().unknown_key(entry.path(), key, kEntryKeys);
  });
  RuleConfiguration& use = result.use;
  const ConfigurationValue name = entry.member("RuleConfigurationName");
  if (!name.is_text() || name.text().empty() || name.text().size() > kMostName)
    name.refuse("a name of 1 to 256 characters", name.is_null() ? "missing" : name.shown());
  else if (use.name = name.text(); !names.insert(use.name).second)
    name.refuse("a name that no other entry has");
  read_given_parameters(entry.member("RuleParameters"), result);
  result.rule = taken(use.parameters, "rule_to_invoke");
  result.is_named_alone = result.rule.empty() || result.rule == use.name;
  if (result.rule.empty()) result.rule = use.name;
  result.source = taken(use.parameters, "source_s3_uri");
  result.action_json = taken(use.parameters, "action_json");
  use.other_trials = take_other_trials(use.parameters);
  use.collections = read_collection_configurations(entry.member("CollectionConfigurations"));
  read_runner(entry.member("RunnerParameters"), result);
  result.edition = read_edition(entry.member("Definitions"));
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

const std::string& ConfiguredRule::path_of(std::string_view parameter) const {
  const auto found = parameter_paths.find(parameter);
  return found == parameter_paths.end() ? path : found->second;
}

std::vector<ConfiguredRule> read_configured_rules(const ConfigurationValue& root) {
  ConfigurationReport& report = root.report();
  if (!root.is_array() && !root.is_object()) {
    report.error({}, "a configuration of rules must be an array, or an object with " +
                         std::string(kWrapper) + ", not " + root.shown());
    return {};
  }
  const ConfigurationValue entries = root.is_array() ? root : root.member(kWrapper);
  if (root.is_object() && !root.has_member(kWrapper))
    report.error({}, "an object that configures rules has the key " + std::string(kWrapper));
  if (!expect_array(entries)) return {};
  if (entries.size() > kMostEntries) {
    entries.refuse("at most 20 rules", std::to_string(entries.size()));
    return {};
  }
  std::vector<ConfiguredRule> rules;
  std::set<std::string> names;
  entries.for_each_item([&](const ConfigurationValue& entry) {
    const std::size_t errors = report.error_count();
    rules.push_back(read_entry(entry, names));
    rules.back().has_mistakes = report.error_count() > errors;
  });
  return rules;
}

}  // namespace cupel::rules_detail
