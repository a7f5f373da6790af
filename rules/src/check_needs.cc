// Gaps between what a rule needs and what a plan or a run saves.
//
// Each part of each need is compared with every offer: a saved collection of a plan, or a saved
// tensor of a run. The offer with the fewest gaps counts. For every gap, the JSON that closes it is
// made, by changing the nearest saved collection or by adding one. Pure functions, for any thread;
// nothing fails but for a lack of memory.

#include "cupel/rules/check_needs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cupel/rules/preferred_selection.h"
#include "sample_names.h"
#include "saved_offer.h"
#include "validation_losses.h"

namespace cupel {

using namespace rules_detail;

namespace {

constexpr const char* kAllWorkers = R"({"HookParameters":{"include_workers":"all"}})";

// Whether the saved collection has tensors of the part, as far as can be known.
bool feeds(const SavedCollection& saved, const NeededTensors& part, const SavingPlan& plan) {
  const Collection& collection = saved.collection;
  if (is_filled_by_calls_only(collection, plan.profile)) return false;
  if (part.collections.empty() && part.patterns.empty()) return true;
  for (const std::string& name : part.collections) {
    if (collection.name() == name) return true;
    const auto known = plan.known.find(name);
    if (known != plan.known.end() && may_share(known->second, collection)) return true;
  }
  const auto holds_any = [&collection](const PatternList& patterns) {
    return std::ranges::any_of(patterns.patterns(), [&collection](const Pattern& pattern) {
      return may_hold(collection, pattern);
    });
  };
  // What the training calls its tensors is not known, and with it neither whose names count.
  return holds_any(part.patterns) ||
         std::ranges::any_of(part.fallbacks, [&](const FallbackNames& fallback) {
           const auto& among = fallback.collections;
           return (among.empty() || std::ranges::find(among, collection.name()) != among.end()) &&
                  holds_any(fallback.patterns);
         });
}

// The entry that makes of a saved collection what it is.
CollectionConfiguration configuration_of(const SavedCollection& saved, const SavingPlan& plan) {
  const std::string& name = saved.collection.name();
  CollectionConfiguration entry{.name = name};
  const Collections builtin = builtin_collections(plan.profile);
  const auto known = builtin.find(name);
  PatternList patterns;
  const std::vector<std::string> given =
      known == builtin.end() ? std::vector<std::string>() : known->second.include_regex().texts();
  for (const std::string& text : saved.collection.include_regex().texts())
    if (std::find(given.begin(), given.end(), text) == given.end()) patterns.add(text);
  if (!patterns.empty()) entry.parameters.include_regex = patterns;
  entry.parameters.times = SaveTimes::between(saved.save_config, plan.hook);
  if (is_scalar_collection(name)) return entry;
  std::string reductions;
  saved.reductions.for_each([&](Reduction reduction) {
    reductions.append(reductions.empty() ? "" : ",").append(to_string(reduction));
  });
  if (!reductions.empty()) entry.parameters.reductions = reductions;
  if (saved.raw) entry.parameters.save_raw_tensor = true;
  if (saved.shape) entry.parameters.save_shape = true;
  return entry;
}

// The gaps of one part of a need, by what is offered to it.
class PartCheck {
 public:
  PartCheck(std::string_view rule, std::size_t number, const TensorNeed& need,
            const NeededTensors& part, const SavingPlan& plan)
      : rule_(rule), number_(number), need_(need), part_(part), plan_(plan) {}

  // The gaps of the offer that leaves the fewest open.
  std::vector<Gap> of(const std::vector<SavedOffer>& offers, const OfferedModes& modes) const {
    std::optional<std::vector<Gap>> least;
    for (const SavedOffer& offer : offers) {
      std::vector<Gap> gaps = gaps_of_offer(need_, offer, modes);
      if (!least || gaps.size() < least->size()) least = std::move(gaps);
      if (least->empty()) return {};
    }
    for (Gap& gap : *least) complete(gap);
    return *std::move(least);
  }

  Gap nothing(std::string found) const {
    Gap gap{.kind = part_.collections.empty() ? Gap::Kind::Pattern : Gap::Kind::Collection,
            .parameter = {},
            .tensors = {},
            .found = std::move(found),
            .needed = sources_text(need_.suffices) + " of them",
            .closing = {}};
    complete(gap);
    return gap;
  }

  Gap worker(std::string found) const {
    Gap gap{.kind = Gap::Kind::Worker,
            .parameter = {},
            .tensors = {},
            .found = std::move(found),
            .needed = "all of them to save",
            .closing = {}};
    complete(gap);
    gap.closing = kAllWorkers;
    return gap;
  }

 private:
  void complete(Gap& gap) const {
    gap.need = number_;
    gap.tensors = part_.description();
    if (gap.parameter.empty() && gap.kind != Gap::Kind::Worker)
      gap.parameter = choosing_parameter(part_);
    CollectionConfiguration entry = needed_collection(rule_, need_, part_, plan_);
    const auto saved = std::find_if(plan_.saved.begin(), plan_.saved.end(), [&](const auto& each) {
      return each.collection.name() == entry.name;
    });
    if (saved != plan_.saved.end()) {
      CollectionConfiguration both = configuration_of(*saved, plan_);
      both.merge(entry, plan_.hook);
      entry = std::move(both);
    }
    gap.closing = entry.to_json();
  }

  std::string_view rule_;
  std::size_t number_;
  const TensorNeed& need_;
  const NeededTensors& part_;
  const SavingPlan& plan_;
};

// Checks each part of each need; `check(part check, need, part)` gives the gaps of one.
template <class F>
std::vector<Gap> check_all(std::string_view rule, const RuleNeeds& needs, const SavingPlan& plan,
                           F&& check) {
  std::vector<Gap> all;
  for (std::size_t i = 0; i < needs.tensors.size(); ++i) {
    const TensorNeed& need = needs.tensors[i];
    if (need.optional) continue;
    const std::size_t before = all.size();
    for (const NeededTensors& part : need.tensors.parts()) {
      const PartCheck of_part(rule, i, need, part, plan);
      for (Gap& gap : check(of_part, need, part)) all.push_back(std::move(gap));
    }
    if (needs.any_suffices && all.size() == before) return {};
  }
  return all;
}

// How much of a tensor one worker saved.
struct SavedCopy {
  std::map<Mode, SavedSteps> modes;
  SavedSteps all;
  SavedParts parts;
  bool usable = false;
};

// What a run has of the tensors of a part.
class RunOffers {
 public:
  explicit RunOffers(const TensorNeed& need) : need_(need) {}

  void read(const Trial& run, const NeededTensors& part) {
    const std::vector<std::string> known = run.collection_names();
    std::vector<std::string> collections = part.collections;
    std::erase_if(collections, [&](const std::string& name) {
      return !std::binary_search(known.begin(), known.end(), name);
    });
    const bool nothing = !part.collections.empty() && collections.empty() && part.patterns.empty();
    if (!nothing) {
      NameSelection names(std::move(collections), part.patterns);
      run.visit_steps({}, names, [this](const RecordView& record) { add(record); });
    }
    if (!empty() || part.fallbacks.empty()) return;
    // As the rule chooses at the last step.
    PreferredSelection preferred(part);
    const std::vector<std::int64_t> steps = run.steps();
    if (steps.empty()) return;
    preferred.choose(steps.back(), run);
    run.visit_steps({}, preferred.names(), [&](const RecordView& record) {
      if (preferred.counts(record)) add(record);
    });
  }
  bool empty() const { return copies_.empty(); }

  std::vector<SavedOffer> offers() const {
    std::vector<SavedOffer> result;
    for (const auto& [key, copy] : copies_)
      result.push_back({*key.first, copy.modes, copy.all, copy.parts, copy.usable});
    std::stable_sort(result.begin(), result.end(),
                     [](const SavedOffer& a, const SavedOffer& b) { return a.name < b.name; });
    return result;
  }

  bool has_pairs() const {
    std::set<std::string_view> training;
    std::set<std::string_view> validation;
    for (const auto& [key, copy] : copies_) {
      const LossName name = loss_name(*key.first);
      if (name.kind == LossName::Kind::Training) training.insert(name.metric);
      if (name.kind == LossName::Kind::Validation) validation.insert(name.metric);
    }
    return std::any_of(training.begin(), training.end(),
                       [&](std::string_view metric) { return validation.contains(metric); });
  }

 private:
  void add(const RecordView& record) {
    // The trial keeps one string for each name and worker, for as long as it lives.
    SavedCopy& copy = copies_[{&record.tensor(), record.worker().data()}];
    SavedParts parts{record.counts().has_value(), record.has_value(), record.has_value(),
                     record.reductions().set};
    if (!parts.raw) parts.shape = record.record().shape.has_value();
    copy.parts.counts |= parts.counts;
    copy.parts.shape |= parts.shape;
    copy.parts.raw |= parts.raw;
    copy.parts.reductions |= parts.reductions;
    if (std::none_of(need_.suffices.begin(), need_.suffices.end(),
                     [&](const TensorSource& source) { return source.is_in(parts); }))
      return;
    copy.usable = true;
    copy.modes[record.mode()].add(record.mode_step());
    copy.all.add(record.step());
  }

  const TensorNeed& need_;
  std::map<std::pair<const std::string*, const char*>, SavedCopy> copies_;  // by tensor and worker
};

// Of a hook that is configured to save nothing: what a run has is looked for in the run.
SavingPlan empty_plan() {
  SavingPlan plan;
  plan.hook = SaveConfig().resolved({});
  return plan;
}

// Those that are known and saved nothing in all the run.
std::vector<std::string> silent_workers(const Trial& run) {
  std::vector<std::string> silent = run.workers();
  for (const std::int64_t step : run.steps()) {
    const std::vector<std::string> missing = run.missing_workers(step);
    std::erase_if(silent, [&](const std::string& worker) {
      return std::find(missing.begin(), missing.end(), worker) == missing.end();
    });
    if (silent.empty()) break;
  }
  return silent;
}

std::string found_nothing(const NeededTensors& part, const SavingPlan& plan) {
  if (!part.collections.empty()) {
    const std::string& name = part.collections.front();
    const auto known = plan.known.find(name);
    const bool saved =
        std::any_of(plan.saved.begin(), plan.saved.end(),
                    [&](const SavedCollection& each) { return each.collection.name() == name; });
    if (saved && known != plan.known.end() && is_filled_by_calls_only(known->second, plan.profile))
      return "the collection " + name + " has neither patterns nor names";
    return "the collection " + name +
           (known == plan.known.end() ? " is not there" : " is not saved");
  }
  return "no saved collection has " + part.description();
}

}  // namespace

std::string_view to_string(Gap::Kind kind) noexcept {
  switch (kind) {
    case Gap::Kind::Collection:
      return "collection";
    case Gap::Kind::Pattern:
      return "pattern";
    case Gap::Kind::Mode:
      return "mode";
    case Gap::Kind::Steps:
      return "steps";
    case Gap::Kind::Interval:
      return "interval";
    case Gap::Kind::Source:
      return "source";
    case Gap::Kind::Worker:
      break;
  }
  return "worker";
}

std::vector<Gap> find_gaps(std::string_view rule, const RuleNeeds& needs, const SavingPlan& plan) {
  OfferedModes modes{.are_planned = true};
  for (const Mode mode : kAllModes)
    if (std::any_of(plan.saved.begin(), plan.saved.end(),
                    [&](const SavedCollection& saved) { return saves_in(saved, mode); }))
      modes.saved.push_back(mode);
  return check_all(rule, needs, plan,
                   [&](const PartCheck& check, const TensorNeed& need, const NeededTensors& part) {
                     std::vector<SavedOffer> offers;
                     for (const SavedCollection& saved : plan.saved)
                       if (feeds(saved, part, plan)) offers.push_back(offer_of(saved, need));
                     if (offers.empty())
                       return std::vector<Gap>{check.nothing(found_nothing(part, plan))};
                     modes.pairs_by_name =
                         plan.profile == Profile::XGBoost && need.or_pairs_of_names;
                     std::vector<Gap> gaps = check.of(offers, modes);
                     if (plan.num_workers > 1 && !plan.all_workers)
                       gaps.push_back(check.worker("one of " + std::to_string(plan.num_workers) +
                                                   " workers saves"));
                     return gaps;
                   });
}

std::vector<Gap> find_gaps(std::string_view rule, const RuleNeeds& needs, const Trial& run) {
  const SavingPlan plan = empty_plan();
  const std::vector<std::string> silent = silent_workers(run);
  const bool has_eval = has_evaluation(run);
  OfferedModes modes{.saved = run.modes(), .steps_are_known = run.ended()};
  return check_all(
      rule, needs, plan,
      [&](const PartCheck& check, const TensorNeed& need, const NeededTensors& part) {
        RunOffers offers(need);
        offers.read(run, part);
        if (offers.empty())
          return std::vector<Gap>{check.nothing("the run has no tensor of " + part.description())};
        modes.pairs_by_name = need.or_pairs_of_names && !has_eval && offers.has_pairs();
        std::vector<Gap> gaps = check.of(offers.offers(), modes);
        for (const std::string& worker : silent)
          gaps.push_back(check.worker(worker + " has saved nothing"));
        return gaps;
      });
}

}  // namespace cupel
