#include "save_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/printable.h"

namespace cupel {
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

std::vector<SavedCollection> saved_collections(const Collections& collections,
                                               const HookOptions& options) {
  const auto included = included_names(options);
  const SaveConfig hook_config = hook_save_config(options);
  const SaveDecision hook_wants = hook_decision(options);
  std::vector<SavedCollection> saved;
  const auto save = [&](const Collection& collection) {
    const auto& reductions = collection.reduction_config();
    SaveDecision what = reductions ? decision(reductions) : hook_wants;
    if (is_scalar_collection(collection.name())) what = {.raw = true};
    saved.push_back({collection,
                     collection.save_config().value_or(hook_config).resolved(hook_config), what.raw,
                     what.shape, what.reductions});
  };
  for (const auto& [name, collection] : collections) {
    if (included.contains(kAll) || included.contains(name)) {
      save(collection);
    } else if (name == kDefault && !collection.include_regex().empty()) {
      log(LogLevel::Warning,
          "collection \"default\" has patterns but is not to be saved: name it in "
          "include_collections, or give the patterns as include_regex");
    }
  }
  for (const std::string& name : included)
    if (!collections.contains(name)) save(Collection(name));
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

SavePlan::SavePlan(const Collections& collections, const HookOptions& options) {
  for (const auto& [name, collection] : collections) check_save_config(collection);
  timetables_.push_back(timetable(hook_save_config(options)));
  for (SavedCollection& saved : saved_collections(collections, options)) {
    std::size_t times = 0;
    if (saved.collection.save_config()) {
      times = timetables_.size();
      timetables_.push_back(timetable(saved.save_config));
    }
    const std::string name = saved.collection.name();
    const SaveDecision what{saved.raw, saved.shape, saved.reductions, is_scalar_collection(name)};
    columns_ |= what.reductions;
    saved_.push_back({std::move(saved.collection), times, what, is_training_only_collection(name)});
  }
}

Membership SavePlan::membership(std::string_view tensor, std::span<const std::string> tags) const {
  Membership members;
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    const Collection& collection = saved_[i].collection;
    const bool tagged = std::find(tags.begin(), tags.end(), collection.name()) != tags.end();
    if (tagged || collection.contains(tensor)) members.push_back(static_cast<std::uint16_t>(i));
  }
  return members;
}

bool SavePlan::is_active(const Saved& saved, Mode mode, std::int64_t mode_step) const {
  if (saved.training_only && (mode == Mode::Eval || mode == Mode::Predict)) return false;
  return timetables_[saved.timetable][place_of(mode)].contains(mode_step);
}

bool SavePlan::is_any_active(Mode mode, std::int64_t mode_step) const {
  return std::ranges::any_of(saved_,
                             [&](const Saved& saved) { return is_active(saved, mode, mode_step); });
}

SaveDecision SavePlan::decide(std::span<const std::uint16_t> members, Mode mode,
                              std::int64_t mode_step) const {
  SaveDecision result;
  for (const std::uint16_t member : members) {
    const Saved& saved = saved_[member];
    if (!is_active(saved, mode, mode_step)) continue;
    result.raw |= saved.what.raw;
    result.shape |= saved.what.shape;
    result.reductions |= saved.what.reductions;
    result.must_be_raw |= saved.what.must_be_raw;
  }
  return result;
}

}  // namespace cupel
