// `cupel check`: what rules need against what a hook's configuration saves, or what a run holds.
// Gaps of rules come first, then collections that only calls can fill; a misspelt one counts as a
// gap. Mistakes of files and command lines are UsageErrors before anything is printed.

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chosen_rules.h"
#include "commands.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/rules/check_needs.h"
#include "cupel/trial/pins.h"
#include "cupel/writer/saving_plan.h"
#include "json_text.h"
#include "open_trial.h"
#include "run_cli.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEntries = "CollectionConfigurations";

Profile profile_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, Profile>, 5> kProfiles = {
      {{"generic", Profile::Generic},
       {"pytorch", Profile::PyTorch},
       {"mxnet", Profile::MXNet},
       {"tensorflow", Profile::TensorFlow},
       {"xgboost", Profile::XGBoost}}};
  for (const auto& [known, profile] : kProfiles)
    if (known == name) return profile;
  throw UsageError("unknown profile \"" + name +
                   "\"; they are generic, pytorch, mxnet, tensorflow and xgboost");
}

struct RuleGaps {
  const ChosenRule* rule = nullptr;
  std::vector<Gap> gaps;
};

bool any_gap(const std::vector<RuleGaps>& all) {
  return std::any_of(all.begin(), all.end(), [](const RuleGaps& of) { return !of.gaps.empty(); });
}

template <class Saved>
std::vector<RuleGaps> check(const std::vector<ChosenRule>& rules, const Saved& saved) {
  std::vector<RuleGaps> all;
  for (const ChosenRule& rule : rules)
    all.push_back({&rule, find_gaps(rule.rule, rule.needs, saved)});
  return all;
}

// A collection that only calls can fill, and what to ask if its name is nearly a built-in one.
struct UnfilledCollection {
  std::string name;
  std::string question;
};

std::vector<UnfilledCollection> unfilled_collections(const SavingPlan& plan) {
  std::vector<UnfilledCollection> empty;
  for (const SavedCollection& saved : plan.saved) {
    const std::string& name = saved.collection.name();
    if (is_filled_by_calls_only(saved.collection, plan.profile))
      empty.push_back({name, builtin_name_meant(name, plan.profile)});
  }
  return empty;
}

// What calls have filled is in the run; what they might have, nobody knows any more.
std::vector<UnfilledCollection> unfilled_collections(const Trial& run, Profile profile) {
  std::vector<UnfilledCollection> empty;
  for (const std::string& name : run.collection_names()) {
    std::string question = builtin_name_meant(name, profile);
    if (!question.empty() && is_filled_by_calls_only(run.collection(name), profile))
      empty.push_back({name, std::move(question)});
  }
  return empty;
}

bool any_misspelt(const std::vector<UnfilledCollection>& empty) {
  return std::any_of(empty.begin(), empty.end(),
                     [](const UnfilledCollection& each) { return !each.question.empty(); });
}

void print_text(const std::vector<UnfilledCollection>& empty, Printer out) {
  for (const auto& [name, question] : empty)
    out << "collection " << printable(name)
        << (question.empty() ? ": filled by calls only" : ": it has neither patterns nor names")
        << question << '\n';
}

void print_text(const std::vector<RuleGaps>& all, Printer out) {
  for (const RuleGaps& of : all) {
    const std::string name = printable(of.rule->name);
    if (of.gaps.empty())
      out << name
          << (of.rule->says_needs ? ": what it needs is saved" : ": it does not say what it needs")
          << '\n';
    for (const Gap& gap : of.gaps) {
      out << name << ": " << printable(gap.found, std::string_view::npos) << "\n  needs      "
          << printable(gap.needed) << "\n  for        "
          << printable(gap.tensors, std::string_view::npos);
      // What a number is set by is said with it.
      if (!gap.parameter.empty() && gap.needed.find(gap.parameter) == std::string::npos)
        out << ", by " << printable(gap.parameter);
      out << "\n  closed by  " << printable(gap.closing, std::string_view::npos) << '\n';
    }
  }
}

void print_json(const std::vector<RuleGaps>& all, const std::vector<UnfilledCollection>& empty,
                Printer out) {
  Json array = Json::array();
  for (const RuleGaps& of : all)
    for (const Gap& gap : of.gaps)
      array.push_back({{"rule", of.rule->rule},
                       {"name", of.rule->name},
                       {"gap", to_string(gap.kind)},
                       {"parameter", gap.parameter.empty() ? Json(nullptr) : Json(gap.parameter)},
                       {"tensors", gap.tensors},
                       {"found", gap.found},
                       {"needed", gap.needed},
                       {"closing", Json::parse(gap.closing)}});
  for (const auto& [name, question] : empty)
    if (!question.empty())
      array.push_back({{"rule", nullptr},
                       {"name", nullptr},
                       {"gap", to_string(Gap::Kind::Collection)},
                       {"parameter", nullptr},
                       {"tensors", "the collection " + name},
                       {"found", "it has neither patterns nor names" + question},
                       {"needed", "patterns, names, or the name of a built-in collection"},
                       {"closing", nullptr}});
  out << json_text(array) << '\n';
}

// Returns the exit code.
int print_check(const std::vector<RuleGaps>& gaps, const std::vector<UnfilledCollection>& empty,
                bool json, Printer out) {
  if (json) {
    print_json(gaps, empty, out);
  } else {
    print_text(gaps, out);
    print_text(empty, out);
  }
  return any_gap(gaps) || any_misspelt(empty) ? kExitFound : kExitFine;
}

// The hook's part of a configuration file, as it was written.
Json hook_json(const std::string& text) {
  Json document = text.empty() ? Json::object() : Json::parse(text);
  return document.contains("DebugHookConfig") ? document["DebugHookConfig"] : document;
}

std::vector<CollectionConfiguration> wanted_collections(const std::vector<ChosenRule>& rules,
                                                        const SavingPlan& plan) {
  std::vector<CollectionConfiguration> wanted;
  for (const ChosenRule& rule : rules)
    merge_collections(wanted,
                      rule.collections.empty() ? needed_collections(rule.rule, rule.needs, plan)
                                               : rule.collections,
                      plan.hook);
  return wanted;
}

// The configuration of the hook with what the rules need; its own entries stay as they are.
int emit(const std::vector<ChosenRule>& rules, const std::string& text, const SavingPlan& plan,
         const HookOptions& base, Printer out, Printer err) {
  Json hook = hook_json(text);
  Json& entries = hook[kEntries];
  if (entries.is_null()) entries = Json::array();
  const auto has = [&](const std::string& name) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Json& entry) { return entry["CollectionName"] == name; });
  };
  for (const CollectionConfiguration& entry : wanted_collections(rules, plan))
    if (!has(entry.name)) entries.push_back(Json::parse(entry.to_json()));
  if (plan.num_workers > 1) {
    Json& parameters = hook["HookParameters"];
    if (parameters.is_null()) parameters = Json::object();
    if (!parameters.contains("include_workers")) parameters["include_workers"] = "all";
  }
  const std::string merged = json_text(hook, 2);
  out << Composed{merged} << '\n';
  const SavingPlan emitted = saving_plan(parse_hook_configuration(merged, "emitted", base));
  std::vector<RuleGaps> open = check(rules, emitted);
  std::erase_if(open, [](const RuleGaps& of) { return of.gaps.empty(); });
  std::vector<UnfilledCollection> misspelt = unfilled_collections(emitted);
  std::erase_if(misspelt, [](const UnfilledCollection& each) { return each.question.empty(); });
  if (open.empty() && misspelt.empty()) return kExitFine;
  err << "cupel check: entries of the configuration win over what rules need; this stays open:\n";
  return print_check(open, misspelt, false, err);
}

}  // namespace

int run_check(const CheckOptions& options, Printer out, Printer err) {
  const std::vector<ChosenRule> rules = choose_rules(options.rules);
  HookOptions base;
  base.profile = profile_of(options.profile);
  std::error_code ignored;
  const bool is_file = !options.target.empty() &&
                       std::filesystem::exists(options.target, ignored) &&
                       !std::filesystem::is_directory(options.target, ignored);
  if (options.emit_hook_config || is_file) {
    if (options.target.empty() && !options.emit_hook_config)
      throw UsageError("which run, or which configuration of a hook?");
    if (!options.target.empty() && !is_file)
      throw UsageError("--emit-hook-config takes the file of a hook's configuration, or none: " +
                       options.target + " is no file");
    const std::string text = options.target.empty() ? "" : read_configuration_text(options.target);
    const SavingPlan plan = saving_plan(
        parse_hook_configuration(options.target.empty() ? "{}" : text, options.target, base));
    if (options.emit_hook_config) return emit(rules, text, plan, base, out, err);
    return print_check(check(rules, plan), unfilled_collections(plan), options.json, out);
  }
  if (options.target.empty()) throw UsageError("which run, or which configuration of a hook?");
  if (options.target.ends_with(".json") && !std::filesystem::exists(options.target, ignored))
    throw UsageError("There is no file " + options.target);
  const auto trial = open_trial(options.target);
  const auto gaps = [&] {
    const NoRefresh one_snapshot(*trial);
    return check(rules, *trial);
  }();
  const int code = print_check(gaps, unfilled_collections(*trial, base.profile), options.json, out);
  tell_damage(*trial);
  return code;
}

}  // namespace cupel
