// The collections of a hook's configuration that feed a rule, written from its needs.
//
// Each part of a need becomes one entry: the collection itself, or one that is named after the rule
// where the need has patterns. Where the hook's own steps would leave the entry unfed, the entry
// says all steps. Pure functions, for any thread.

#include <algorithm>
#include <limits>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/rules/check_needs.h"
#include "saved_offer.h"

namespace cupel {

using namespace rules_detail;

namespace {

constexpr const char* kAll = "all";

// "SaturatedActivation" as "saturated_activation_tensors".
std::string name_for(std::string_view rule) { return snake_case(rule) + "_tensors"; }

// The first that can be asked for: counts come along with any other.
void ask_for(const std::vector<TensorSource>& suffices, SavingParameters& parameters) {
  for (const TensorSource& source : suffices) {
    if (source.kind == TensorSource::Kind::Value) {
      parameters.save_raw_tensor = true;
      return;
    }
    if (source.kind != TensorSource::Kind::Reductions) continue;
    std::string names;
    source.reductions.for_each([&](Reduction reduction) {
      names.append(names.empty() ? "" : ",").append(to_string(reduction));
    });
    parameters.reductions = names;
    if (source.shape) parameters.save_shape = true;
    return;
  }
  parameters.save_raw_tensor = true;
}

// Those of fallbacks too: the training may call its tensors so. What is in a collection already is
// not for this one.
PatternList all_patterns(const NeededTensors& part) {
  PatternList all = part.patterns;
  for (const FallbackNames& fallback : part.fallbacks)
    if (fallback.collections.empty()) all.add(fallback.patterns);
  return all;
}

bool is_fed(const TensorNeed& need, const CollectionConfiguration& entry, const SavingPlan& plan) {
  const SavedCollection saved{
      Collection(entry.name), entry.parameters.times.over(plan.hook), true, true, {}};
  const SavedOffer offer = offer_of(saved, need);
  OfferedModes modes{.are_planned = true};
  modes.pairs_by_name = plan.profile == Profile::XGBoost && need.or_pairs_of_names;
  for (const auto& of_mode : offer.modes) modes.saved.push_back(of_mode.first);
  // A mode that the hook itself never saves is missing all the same.
  for (const Mode mode : need.modes)
    if (mode != Mode::Global && !is_training_only_collection(entry.name) &&
        std::find(modes.saved.begin(), modes.saved.end(), mode) == modes.saved.end())
      return false;
  return gaps_of_offer(need, offer, modes).empty();
}

}  // namespace

CollectionConfiguration rules_detail::needed_collection(std::string_view rule,
                                                        const TensorNeed& need,
                                                        const NeededTensors& part,
                                                        const SavingPlan& plan) {
  CollectionConfiguration entry;
  const bool all = part.collections.empty() && part.patterns.empty();
  if (!part.collections.empty())
    entry.name = part.collections.front();
  else if (all)
    entry.name = kAll;
  else
    entry.name = need.tensors.saved_as.empty() ? name_for(rule) : need.tensors.saved_as;
  if (all)
    entry.parameters.include_regex = PatternList(".*");
  else if (!part.patterns.empty())
    entry.parameters.include_regex = all_patterns(part);
  if (!is_scalar_collection(entry.name)) ask_for(need.suffices, entry.parameters);
  SaveTimes& times = entry.parameters.times;
  times = need.times;
  if (need.at_least_every) times.every_mode.save_interval = need.at_least_every->value;
  if (is_fed(need, entry, plan)) return entry;
  // The steps of the hook end too early, begin too late, or leave a mode out.
  times.every_mode.start_step = 0;
  times.every_mode.end_step = std::numeric_limits<std::int64_t>::max();
  return entry;
}

std::vector<CollectionConfiguration> needed_collections(std::string_view rule,
                                                        const RuleNeeds& needs,
                                                        const SavingPlan& plan) {
  std::vector<CollectionConfiguration> entries;
  for (const TensorNeed& need : needs.tensors)
    for (const NeededTensors& part : need.tensors.parts())
      merge_collections(entries, {needed_collection(rule, need, part, plan)}, plan.hook);
  return entries;
}

void merge_collections(std::vector<CollectionConfiguration>& into,
                       const std::vector<CollectionConfiguration>& entries,
                       const SaveConfig& hook) {
  for (const CollectionConfiguration& entry : entries) {
    const auto same = std::find_if(into.begin(), into.end(),
                                   [&](const auto& known) { return known.name == entry.name; });
    if (same == into.end())
      into.push_back(entry);
    else
      same->merge(entry, hook);
  }
}

}  // namespace cupel
