#include "save_plan.h"

#include <algorithm>
#include <set>

#include "cupel/core/error.h"
#include "cupel/core/log.h"

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

SaveConfig hook_save_config(const HookOptions& options) {
  SaveConfig config = options.save_config;
  if (options.profile == Profile::XGBoost && config == SaveConfig{})
    config.save_interval = kXGBoostInterval;
  return config;
}

SaveDecision decision(const std::optional<ReductionConfig>& config) {
  if (!config) return {.raw = true, .shape = false, .reductions = {}};
  return {.raw = config->save_raw_tensor, .shape = config->save_shape, .reductions = config->set()};
}

}  // namespace

Collections initial_collections(const HookOptions& options) {
  Collections collections = builtin_collections(options.profile);
  const auto get = [&](const char* name) -> Collection& {
    return collections.try_emplace(name, name).first->second;
  };
  get(kDefault).include(options.include_regex);
  if (options.save_all) get(kAll).include(".*");
  return collections;
}

SavePlan::SavePlan(const Collections& collections, const HookOptions& options) {
  const Collections builtin = builtin_collections(options.profile);
  const auto included = included_names(options);
  const SaveConfig hook_config = hook_save_config(options);
  const SaveDecision hook_decision = decision(options.reduction_config);
  for (const auto& [name, collection] : collections) {
    if (!builtin.contains(name) && collection.include_regex().empty() &&
        collection.tensor_names().empty()) {
      throw InvalidCollectionConfiguration(name);
    }
    if (!included.contains(kAll) && !included.contains(name)) continue;
    Saved saved{
        collection,
        collection.save_config() ? collection.save_config()->resolved(hook_config) : hook_config,
        collection.reduction_config() ? decision(collection.reduction_config()) : hook_decision,
        is_training_only_collection(name)};
    if (is_scalar_collection(name)) saved.what = {.raw = true, .shape = false, .reductions = {}};
    columns_ |= saved.what.reductions;
    saved_.push_back(std::move(saved));
  }
  for (const std::string& name : included) {
    if (collections.contains(name)) continue;
    log(LogLevel::Warning,
        "collection \"" + name +
            "\" is to be saved but was not configured; it holds what calls put into it");
    columns_ |= hook_decision.reductions;
    saved_.push_back({Collection(name), hook_config, hook_decision, false});
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

SaveDecision SavePlan::decide(std::span<const std::uint16_t> members, Mode mode,
                              std::int64_t mode_step) const {
  SaveDecision result;
  for (const std::uint16_t member : members) {
    const Saved& saved = saved_[member];
    if (saved.training_only && (mode == Mode::Eval || mode == Mode::Predict)) continue;
    if (!saved.when.should_save(mode, mode_step)) continue;
    result.raw |= saved.what.raw;
    result.shape |= saved.what.shape;
    result.reductions |= saved.what.reductions;
  }
  return result;
}

}  // namespace cupel
