// `check`: compares the needs of rules with what the configuration of a hook saves, or with what a
// run holds. The gaps of rules come first, then the collections that only calls can fill; a
// misspelt collection counts as a gap. Errors in rules are reported together before anything is
// checked; a mistake in the hook's configuration is a UsageError. Damage of a run ends the command
// after its results.

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/rules/check_needs.h"
#include "cupel/trial/pins.h"
#include "cupel/writer/saving_plan.h"
#include "exit_codes.h"
#include "loaded_rules.h"
#include "open_trial.h"

namespace cupel::command_detail {
namespace {

using Json = nlohmann::ordered_json;
using Rules = std::vector<RuleConfiguration>;

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
  const RuleConfiguration* rule = nullptr;
  std::vector<Gap> gaps;
};

bool any_gap(const std::vector<RuleGaps>& all) {
  return std::any_of(all.begin(), all.end(), [](const RuleGaps& of) { return !of.gaps.empty(); });
}

template <class Saved>
std::vector<RuleGaps> check(const Rules& rules, const Saved& saved) {
  std::vector<RuleGaps> all;
  for (const RuleConfiguration& rule : rules)
    all.push_back({&rule, find_gaps(rule.definition->name, rule.needs(), saved)});
  return all;
}

// A collection that only calls can fill.
struct UnfilledCollection {
  std::string name;
  std::string question;  // "; did you mean gradients?", where a built-in name is close
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

// Calls have filled the collections that hold something, so only misspelt names are reported.
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
          << (of.rule->definition->has_needs() ? ": what it needs is saved"
                                               : ": it does not say what it needs")
          << '\n';
    for (const Gap& gap : of.gaps) {
      out << name << ": " << printable(gap.found, std::string_view::npos) << "\n  needs      "
          << printable(gap.needed) << "\n  for        "
          << printable(gap.tensors, std::string_view::npos);
      // The needed text may already name the parameter.
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
      array.push_back({{"rule", of.rule->definition->name},
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

// The section of the hook in a configuration file, as it was written.
Json hook_json(const std::string& text) {
  Json document = text.empty() ? Json::object() : Json::parse(text);
  return document.contains("DebugHookConfig") ? document["DebugHookConfig"] : document;
}

std::vector<CollectionConfiguration> wanted_collections(const Rules& rules,
                                                        const SavingPlan& plan) {
  std::vector<CollectionConfiguration> wanted;
  for (const RuleConfiguration& rule : rules)
    merge_collections(wanted,
                      rule.collections.empty()
                          ? needed_collections(rule.definition->name, rule.needs(), plan)
                          : rule.collections,
                      plan.hook);
  return wanted;
}

// Prints the configuration of the hook with the entries that the rules need; entries that it has
// already stay as they are.
int emit(const Rules& rules, const std::string& text, const SavingPlan& plan,
         const HookOptions& base, const CommandContext& context) {
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
  context.out << Composed{merged} << '\n';
  const SavingPlan emitted = saving_plan(parse_hook_configuration(merged, "emitted", base));
  std::vector<RuleGaps> open = check(rules, emitted);
  std::erase_if(open, [](const RuleGaps& of) { return of.gaps.empty(); });
  std::vector<UnfilledCollection> misspelt = unfilled_collections(emitted);
  std::erase_if(misspelt, [](const UnfilledCollection& each) { return each.question.empty(); });
  if (open.empty() && misspelt.empty()) return kExitFine;
  context.message() << "entries of the configuration win over what rules need; this stays open:\n";
  return print_check(open, misspelt, false, context.err);
}

}  // namespace

int run_check(const CheckOptions& options, const CommandContext& context) {
  const std::optional<Rules> loaded = load_rules_or_report(options.rules, options.json, context);
  if (!loaded) return kExitError;
  const Rules& rules = *loaded;
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
    if (options.emit_hook_config) return emit(rules, text, plan, base, context);
    return print_check(check(rules, plan), unfilled_collections(plan), options.json, context.out);
  }
  if (options.target.empty()) throw UsageError("which run, or which configuration of a hook?");
  if (options.target.ends_with(".json") && !std::filesystem::exists(options.target, ignored))
    throw UsageError("There is no file " + options.target);
  const auto trial = open_trial(options.target);
  const auto gaps = [&] {
    const NoRefresh one_snapshot(*trial);
    return check(rules, *trial);
  }();
  const int code =
      print_check(gaps, unfilled_collections(*trial, base.profile), options.json, context.out);
  throw_damage(*trial);
  return code;
}

}  // namespace cupel::command_detail
