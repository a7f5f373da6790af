#include "check/fed_rule.h"

#include <algorithm>
#include <map>

#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/run_follower.h"
#include "cupel/writer/hook.h"
#include "cupel/writer/saving_plan.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

HookConfiguration parsed(const Json& configuration, std::int64_t worker, std::int64_t workers) {
  HookOptions base;
  base.worker = "worker_" + std::to_string(worker);
  base.num_workers = workers;
  base.on_error = OnError::Throw;
  return parse_hook_configuration(configuration.dump(), "hook.json", base);
}

void train(const FedRule& fed, const HookConfiguration& configuration,
           const std::shared_ptr<Store>& store) {
  Hook hook(configuration, store);
  std::vector<float> values;
  for (int i = 0; i < kSteps; ++i) {
    const Mode mode = fed.modes[static_cast<std::size_t>(i) % fed.modes.size()];
    hook.set_mode(mode);
    hook.next_step();
    // Something that every configuration saves, so that a run has its modes.
    const float other = 1.0F / static_cast<float>(i + 1);
    hook.save_tensor("other", TensorView(&other, std::vector<std::int64_t>{}), {"others"});
    for (const ProgramTensor& tensor : fed.tensors) {
      std::size_t elements = 1;
      for (const std::int64_t extent : tensor.shape) elements *= static_cast<std::size_t>(extent);
      values.resize(elements);
      for (std::size_t k = 0; k < elements; ++k)
        values[k] = static_cast<float>(tensor.element(k, mode));
      hook.save_tensor(tensor.name, TensorView(values.data(), tensor.shape));
    }
  }
  hook.close();
}

Json& parameters_of(Json& configuration, const std::string& collection) {
  for (Json& entry : configuration["CollectionConfigurations"])
    if (entry["CollectionName"] == collection) return entry["CollectionParameters"];
  throw std::runtime_error("no collection " + collection);
}

bool has_collection(const Json& configuration, const std::string& collection) {
  const Json& entries = configuration["CollectionConfigurations"];
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Json& entry) { return entry["CollectionName"] == collection; });
}

void leave_out(Json& configuration, const std::string& collection) {
  // One that is always saved is kept from it by its steps.
  if (collection == "losses") {
    parameters_of(configuration, collection)["end_step"] = "0";
    return;
  }
  Json& entries = configuration["CollectionConfigurations"];
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i]["CollectionName"] == collection) {
      entries.erase(i);
      return;
    }
}

// Saves nothing of the collection but these keys say.
void save_only(Json& configuration, const std::string& collection, const Json& keys) {
  Json& parameters = parameters_of(configuration, collection);
  for (const char* key : {"reductions", "save_raw_tensor", "save_shape"}) parameters.erase(key);
  parameters.update(keys);
}

Json keys_of(const TensorSource& source) {
  std::string names;
  source.reductions.for_each([&](Reduction reduction) {
    names += (names.empty() ? "" : ",") + std::string(to_string(reduction));
  });
  Json keys;
  switch (source.kind) {
    case TensorSource::Kind::Value:
      return {{"save_raw_tensor", "true"}};
    case TensorSource::Kind::Counts:
      return {{"reductions", "median"}};  // counts come along with any reduction
    case TensorSource::Kind::Any:
      return {{"reductions", source.least == 1 ? "max" : "mean,max"}};
    case TensorSource::Kind::Reductions:
      keys["reductions"] = names;
      if (source.shape) keys["save_shape"] = "true";
      return keys;
  }
  return keys;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return result;
}

// What makes a need unmet: changes the configuration, and says how that shows.
struct Removal {
  std::string name;
  std::function<void(Json& configuration)> apply;
  std::vector<Gap::Kind> kinds;
};

std::vector<Removal> removals(const TensorNeed& need, const FedRule& fed,
                              const std::string& collection) {
  using Kind = Gap::Kind;
  const Json good = fed.configuration();
  Json copy = good;
  const Json keys = parameters_of(copy, collection);
  const auto set = [collection](const std::string& key, const std::string& value) {
    return [=](Json& configuration) { parameters_of(configuration, collection)[key] = value; };
  };
  std::vector<Removal> all;
  all.push_back({"not_included",
                 [=](Json& configuration) { leave_out(configuration, collection); },
                 {Kind::Collection, Kind::Pattern, Kind::Mode}});
  if (keys.contains("include_regex"))
    all.push_back({"pattern_broken",
                   [=](Json& configuration) {
                     parameters_of(configuration, collection)["include_regex"] = "no_such_name";
                     // A name that is built in, or that the rule asks for, holds what it holds.
                     if (!need.tensors.collections.empty()) leave_out(configuration, collection);
                   },
                   {Kind::Collection, Kind::Pattern}});
  if (!is_scalar_collection(collection))
    all.push_back({"no_source",
                   [=](Json& configuration) {
                     save_only(configuration, collection, {{"save_shape", "true"}});
                   },
                   {Kind::Source}});
  if (need.at_least_every)
    all.push_back({"interval_too_wide",
                   set("save_interval", std::to_string(need.at_least_every->value + 1)),
                   {Kind::Interval}});
  std::int64_t least = need.steps.value;
  for (const auto& [mode, steps] : need.steps_of_mode) least = std::min(least, steps.value);
  if (least > 1)
    all.push_back({"too_few_steps", set("end_step", std::to_string(least - 1)), {Kind::Steps}});
  if (need.at_least_apart)
    all.push_back({"steps_too_close",
                   set("end_step", std::to_string(need.at_least_apart->value)),
                   {Kind::Steps}});
  all.push_back({"never_saved", set("end_step", "0"), {Kind::Mode}});
  for (const Mode mode : need.each_of)
    all.push_back({"never_saved_in_" + std::string(to_string(mode)),
                   set(lower(to_string(mode)) + ".end_step", "0"),
                   {Kind::Mode}});
  const bool only_first = !need.modes.empty() && !need.modes_by_tensor;
  if (!need.modes.empty() && (only_first || need.modes.size() == 1))
    all.push_back({"never_saved_in_" + std::string(to_string(need.modes.front())),
                   set(lower(to_string(need.modes.front())) + ".end_step", "0"),
                   {Kind::Mode}});
  return all;
}

// The parameters; where the rule compares with another run, that has everything saved.
RuleParameters with_other_run(const FedRule& fed, const ScratchDirectory& scratch) {
  RuleParameters parameters = fed.parameters;
  if (!parameters.contains("other_trials")) return parameters;
  std::string all;
  for (std::size_t i = 0; i < Reduction::kCount; ++i)
    all += (i == 0 ? "" : ",") + std::string(to_string(Reduction::at(i)));
  Json configuration = fed.configuration();
  for (Json& entry : configuration["CollectionConfigurations"])
    entry["CollectionParameters"].update({{"reductions", all}, {"save_raw_tensor", "true"}});
  const auto store = std::make_shared<LocalStore>((scratch / "other").string());
  train(fed, parsed(configuration, 0, 1), store);
  parameters["other_trials"] = store->location();
  return parameters;
}

}  // namespace

RuleNeeds FedRule::needs() const { return builtin_rules().require(rule).needs(parameters); }

Json FedRule::configuration() const {
  Json all = entries;
  all.push_back({{"CollectionName", "others"},
                 {"CollectionParameters", {{"include_regex", "^other$"}, {"save_interval", "1"}}}});
  return {{"CollectionConfigurations", std::move(all)}};
}

Outcome outcome(const FedRule& fed, const Json& configuration, std::int64_t workers) {
  Outcome result;
  const RuleNeeds needs = fed.needs();
  result.in_plan = find_gaps(fed.rule, needs, saving_plan(parsed(configuration, 0, workers)));
  const auto store = std::make_shared<MemoryStore>();
  const bool all = configuration.contains("HookParameters");
  for (std::int64_t worker = 0; worker < (all ? workers : 1); ++worker)
    train(fed, parsed(configuration, worker, workers), store);
  Trial trial(store);
  result.in_run = find_gaps(fed.rule, needs, trial);
  result.workers = trial.workers();
  const ScratchDirectory scratch;
  const auto rule = builtin_rules().require(fed.rule).make(trial, with_other_run(fed, scratch));
  for (const std::int64_t step : trial.steps()) {
    const Verdict verdict = RuleEvaluation(*rule).at_step(step, RunFollower(trial).snapshot());
    for (const Finding& finding : verdict.findings())
      result.findings.push_back("step " + std::to_string(step) + " " + finding.worker + " " +
                                finding.tensor + ": " + finding.message);
  }
  return result;
}

std::vector<Changed> changed_configurations(const FedRule& fed) {
  std::vector<Changed> all;
  for (const Json& entry : fed.entries) {
    const std::string collection = entry["CollectionName"];
    const auto set = [&](const std::string& key, int value) {
      all.push_back({fed.configuration(), false});
      parameters_of(all.back().configuration, collection)[key] = std::to_string(value);
    };
    const auto only = [&](const Json& keys) {
      all.push_back({fed.configuration(), true});
      save_only(all.back().configuration, collection, keys);
    };
    for (const Mode mode : kAllModes)
      for (const int end : {0, 1, 3}) set(lower(to_string(mode)) + ".end_step", end);
    for (int end = 0; end < 8; ++end) set("end_step", end);
    for (const int start : {1, 2, 9, 23, 24}) set("start_step", start);
    for (const int interval : {2, 3, 4, 5, 6, 12, 100}) set("save_interval", interval);
    only({{"save_shape", "true"}});
    only({{"save_raw_tensor", "true"}});
    for (std::size_t i = 0; i < Reduction::kCount; ++i)
      only({{"reductions", to_string(Reduction::at(i))}});
    all.push_back({fed.configuration(), true});
    leave_out(all.back().configuration, collection);
  }
  return all;
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  std::map<std::string, int> times;
  for (const FedRule& fed : fed_rules()) {
    const int time = ++times[fed.rule];
    const std::string rule = fed.rule + (time > 1 ? std::to_string(time) : "");
    const RuleNeeds needs = fed.needs();
    // Of alternatives, all others are gone before one is taken away.
    const auto alone = [&](std::size_t kept) {
      Json configuration = fed.configuration();
      for (std::size_t i = 0; needs.any_suffices && i < needs.tensors.size(); ++i)
        if (i != kept) leave_out(configuration, fed.fed_by[i]);
      return configuration;
    };
    for (std::size_t i = 0; i < needs.tensors.size(); ++i) {
      const TensorNeed& need = needs.tensors[i];
      const std::string& collection = fed.fed_by[i];
      const std::string name = rule + "_need" + std::to_string(i) + "_";
      if (need.optional || !has_collection(fed.configuration(), collection)) continue;
      if (needs.any_suffices) all.push_back({name + "alone", &fed, alone(i), false, {}, {}, 1});
      for (const Removal& removal : removals(need, fed, collection)) {
        Json configuration = alone(i);
        removal.apply(configuration);
        all.push_back({name + removal.name, &fed, configuration, true, {i}, removal.kinds, 1});
        if (!needs.any_suffices) continue;
        configuration = fed.configuration();
        removal.apply(configuration);
        all.push_back(
            {name + removal.name + "_beside_others", &fed, configuration, false, {}, {}, 1});
      }
      if (is_scalar_collection(collection)) continue;
      for (std::size_t k = 0; k < need.suffices.size(); ++k) {
        Json configuration = alone(i);
        save_only(configuration, collection, keys_of(need.suffices[k]));
        std::string what = sources_text({need.suffices[k]});
        std::replace(what.begin(), what.end(), ' ', '_');
        all.push_back({name + "only_" + std::to_string(k) + "_" + what,
                       &fed,
                       configuration,
                       false,
                       {},
                       {},
                       1});
      }
    }
    Json both = fed.configuration();
    both["HookParameters"] = {{"include_workers", "all"}};
    all.push_back({rule + "_both_workers", &fed, both, false, {}, {}, 2});
    all.push_back(
        {rule + "_worker_missing", &fed, fed.configuration(), true, {}, {Gap::Kind::Worker}, 2});
  }
  return all;
}

}  // namespace cupel::testing
