// Decides what is saved of a tensor at a step: the union of what its collections want that are
// active there. Collections that are saved alike share one way, so that a step asks each way once,
// however many the collections. gradients and optimizer_variables are active in training only
// (is_active()). Made once from collections and options, before the first step; never changes.

#include "save_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/printable.h"

namespace cupel::writer_detail {
namespace {

constexpr std::int64_t kXGBoostInterval = 10;
constexpr const char* kAll = "all";
constexpr const char* kDefault = "default";

std::set<std::string, std::less<>> included_names(const HookOptions& options) {
  std::set<std::string, std::less<>> names(options.include_collections.begin(),
                                           options.include_collections.end());
  const auto& always = default_saved_collections(options.profile);
  names.insert(always.begin(), always.end());
  if (!options.include_regex.empty()) names.insert(kDefault);
  if (options.save_all) names.insert(kAll);
  return names;
}

SaveDecision decision(const std::optional<ReductionConfig>& config) {
  if (!config) return {.raw = true};
  return {.raw = config->save_raw_tensor, .shape = config->save_shape, .reductions = config->set()};
}

SaveDecision hook_decision(const HookOptions& options) {
  if (options.profile != Profile::XGBoost || !options.reduction_config)
    return decision(options.reduction_config);
  log(LogLevel::Warning,
      "reduction_config of the hook is ignored in the profile XGBoost; collections may have one");
  return decision(std::nullopt);
}

// Values changed in place have not passed a setter.
void check_save_config(const Collection& collection) {
  if (!collection.save_config()) return;
  try {
    collection.save_config()->validate();
  } catch (const UsageError& error) {
    throw UsageError("The save_config of collection \"" + printable(collection.name()) +
                     "\" is illegal: " + error.what());
  }
}

std::size_t place_of(Mode mode) noexcept {
  return static_cast<std::size_t>(std::ranges::find(kAllModes, mode) - kAllModes.begin());
}

}  // namespace

SaveSteps::SaveSteps(SaveConfigMode config)
    : listed_(std::exchange(config.save_steps, {})), interval_(std::move(config)) {
  std::sort(listed_.begin(), listed_.end());
  listed_.erase(std::unique(listed_.begin(), listed_.end()), listed_.end());
}

bool SaveSteps::contains(std::int64_t mode_step) const noexcept {
  return interval_.should_save(mode_step) ||
         std::binary_search(listed_.begin(), listed_.end(), mode_step);
}

Collections initial_collections(const HookOptions& options) {
  Collections collections = builtin_collections(options.profile);
  const auto get = [&](const char* name) -> Collection& {
    return collections.try_emplace(name, name).first->second;
  };
  get(kDefault).include(options.include_regex);
  if (options.save_all) get(kAll).include(".*");
  return collections;
}

SaveConfig hook_save_config(const HookOptions& options) {
  SaveConfig config = options.save_config;
  if (options.profile == Profile::XGBoost && config.mode_less() == SaveConfigMode{})
    config.save_interval = kXGBoostInterval;
  return config;
}

SavePlan::Timetable SavePlan::timetable(const SaveConfig& config) {
  Timetable table;
  table.reserve(kAllModes.size());
  for (const Mode mode : kAllModes) table.emplace_back(config.mode(mode));
  return table;
}

namespace {

// Calls `save(collection, decision)` for each collection that is to be saved.
template <class Save>
void for_each_saved(const Collections& collections, const HookOptions& options, Save&& save) {
  const auto included = included_names(options);
  const bool has_all = included.contains(kAll);
  const SaveDecision hook_wants = hook_decision(options);
  const auto visit = [&](const Collection& collection) {
    const auto& reductions = collection.reduction_config();
    SaveDecision what = reductions ? decision(reductions) : hook_wants;
    if (is_scalar_collection(collection.name())) what = {.raw = true};
    save(collection, what);
  };
  for (const auto& [name, collection] : collections) {
    if (has_all || included.contains(name)) {
      visit(collection);
    } else if (name == kDefault && !collection.include_regex().empty()) {
      log(LogLevel::Warning,
          "collection \"default\" has patterns but is not to be saved: name it in "
          "include_collections, or give the patterns as include_regex");
    }
  }
  for (const std::string& name : included)
    if (!collections.contains(name)) visit(Collection(name));
}

// The same text for configurations that name the same steps; the list of steps in any order is
// another.
std::string key_of(const SaveConfig& config) {
  std::string key;
  const auto add = [&](std::int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  for (const Mode mode : kAllModes) {
    const SaveConfigMode steps = config.mode(mode);
    add(steps.save_interval);
    add(steps.start_step);
    add(steps.end_step.value_or(-1));
    add(static_cast<std::int64_t>(steps.save_steps.size()));
    for (const std::int64_t step : steps.save_steps) add(step);
  }
  return key;
}

bool is_member(const Membership& members, std::uint32_t way) noexcept {
  return std::ranges::find(members, way) != members.end();
}

void add_member(Membership& members, std::uint32_t way) {
  if (!is_member(members, way)) members.push_back(way);
}

}  // namespace

std::vector<SavedCollection> saved_collections(const Collections& collections,
                                               const HookOptions& options) {
  const SaveConfig hook_config = hook_save_config(options);
  std::vector<SavedCollection> saved;
  for_each_saved(collections, options, [&](const Collection& collection, const SaveDecision& what) {
    saved.push_back({collection,
                     collection.save_config().value_or(hook_config).resolved(hook_config), what.raw,
                     what.shape, what.reductions});
  });
  return saved;
}

std::vector<std::string> empty_collections(const Collections& collections,
                                           const HookOptions& options) {
  std::set<std::string, std::less<>> names = included_names(options);
  std::erase_if(names, [&](const std::string& name) { return collections.contains(name); });
  for (const auto& [name, collection] : collections)
    if (is_filled_by_calls_only(collection, options.profile)) names.insert(name);
  return {names.begin(), names.end()};
}

// Gives collections that are saved alike one number.
class SavePlan::Builder {
 public:
  Builder(SavePlan& plan, const HookOptions& options)
      : plan_(plan), hook_config_(hook_save_config(options)) {
    plan_.timetables_.push_back(timetable(hook_config_));
  }

  std::uint32_t way_of(const Collection& collection, SaveDecision what) {
    const std::string& name = collection.name();
    what.must_be_raw = is_scalar_collection(name);
    plan_.columns_ |= what.reductions;
    const Way way{timetable_of(collection), what, is_training_only_collection(name)};
    std::uint32_t reductions = 0;
    what.reductions.for_each([&](Reduction each) { reductions |= 1U << each.index(); });
    const Key key{way.timetable, reductions,       what.raw,
                  what.shape,    what.must_be_raw, way.training_only};
    const auto [known, is_new] =
        ways_.try_emplace(key, static_cast<std::uint32_t>(plan_.ways_.size()));
    if (is_new) plan_.ways_.push_back(way);
    return known->second;
  }

 private:
  using Key = std::tuple<std::size_t, std::uint32_t, bool, bool, bool, bool>;

  std::size_t timetable_of(const Collection& collection) {
    if (!collection.save_config()) return 0;
    const SaveConfig config = collection.save_config()->resolved(hook_config_);
    const auto [known, is_new] = timetables_.try_emplace(key_of(config), plan_.timetables_.size());
    if (is_new) plan_.timetables_.push_back(timetable(config));
    return known->second;
  }

  SavePlan& plan_;
  const SaveConfig hook_config_;
  std::map<std::string, std::size_t> timetables_;
  std::map<Key, std::uint32_t> ways_;
};

SavePlan::SavePlan(const Collections& collections, const HookOptions& options) {
  for (const auto& [name, collection] : collections) check_save_config(collection);
  Builder builder(*this, options);
  for_each_saved(collections, options, [&](const Collection& collection, const SaveDecision& what) {
    const std::uint32_t way = builder.way_of(collection, what);
    ways_by_collection_.emplace(collection.name(), way);
    for (const std::string& tensor : collection.tensor_names())
      add_member(ways_by_tensor_[tensor], way);
    if (!collection.include_regex().empty()) searched_.push_back({collection.include_regex(), way});
  });
}

Membership SavePlan::membership(std::string_view tensor, std::span<const std::string> tags) const {
  Membership members;
  if (const auto listed = ways_by_tensor_.find(tensor); listed != ways_by_tensor_.end())
    members = listed->second;
  for (const std::string& tag : tags) {
    const auto tagged = ways_by_collection_.find(tag);
    if (tagged != ways_by_collection_.end()) add_member(members, tagged->second);
  }
  for (const Searched& each : searched_)
    if (!is_member(members, each.way) && each.patterns.matches(tensor)) members.push_back(each.way);
  std::ranges::sort(members);
  return members;
}

bool SavePlan::is_active(const Way& way, Mode mode, std::int64_t mode_step) const {
  if (way.training_only && (mode == Mode::Eval || mode == Mode::Predict)) return false;
  return timetables_[way.timetable][place_of(mode)].contains(mode_step);
}

bool SavePlan::is_any_active(Mode mode, std::int64_t mode_step) const {
  return std::ranges::any_of(ways_,
                             [&](const Way& way) { return is_active(way, mode, mode_step); });
}

bool SavePlan::is_any_active_beyond(std::span<const std::string_view> collections, Mode mode,
                                    std::int64_t mode_step) const {
  return std::ranges::any_of(ways_by_collection_, [&](const auto& each) {
    const auto& [name, way] = each;
    return is_active(ways_[way], mode, mode_step) &&
           std::ranges::find(collections, name) == collections.end();
  });
}

SaveDecision SavePlan::decide(std::span<const std::uint32_t> members, Mode mode,
                              std::int64_t mode_step) const {
  SaveDecision result;
  for (const std::uint32_t member : members) {
    const Way& way = ways_[member];
    if (!is_active(way, mode, mode_step)) continue;
    result.raw |= way.what.raw;
    result.shape |= way.what.shape;
    result.reductions |= way.what.reductions;
    result.must_be_raw |= way.what.must_be_raw;
  }
  return result;
}

}  // namespace cupel::writer_detail
