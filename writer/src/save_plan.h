#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/mode.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"
#include "cupel/core/saving_plan.h"
#include "cupel/writer/hook_options.h"

namespace cupel {

// What is written of a tensor at a step.
struct SaveDecision {
  bool raw = false;
  bool shape = false;
  ReductionSet reductions = {};
  bool must_be_raw = false;  // reductions do not do instead
  bool any() const noexcept { return raw || shape || !reductions.empty(); }
};

// Numbers of saved collections, sorted: what decides about a tensor.
using Membership = std::vector<std::uint16_t>;

// The steps of one mode that a SaveConfigMode names, looked up in a time that hardly depends on how
// many it lists.
class SaveSteps {
 public:
  explicit SaveSteps(SaveConfigMode config);
  bool contains(std::int64_t mode_step) const noexcept;

 private:
  std::vector<std::int64_t> listed_;  // sorted, each once
  SaveConfigMode interval_;           // without its list
};

// The collections as they were when the first step began: which are saved, when, and how.
// Immutable.
class SavePlan {
 public:
  // Throws UsageError naming the collection for a save config with illegal values.
  SavePlan(const Collections& collections, const HookOptions& options);

  // Which saved collections contain the tensor, by name, by pattern, or because `tags` name them.
  Membership membership(std::string_view tensor, std::span<const std::string> tags) const;

  // The union of what the member collections that are active at the step want.
  SaveDecision decide(std::span<const std::uint16_t> members, Mode mode,
                      std::int64_t mode_step) const;

  // Whether any saved collection is active at the step.
  bool is_any_active(Mode mode, std::int64_t mode_step) const;

  // Every reduction that may ever be asked for: the columns of the index.
  ReductionSet columns() const noexcept { return columns_; }

 private:
  struct Saved {
    Collection collection;
    std::size_t timetable;
    SaveDecision what;
    bool training_only;
  };
  // One per mode, in the order of kAllModes.
  using Timetable = std::vector<SaveSteps>;
  static Timetable timetable(const SaveConfig& config);
  bool is_active(const Saved& saved, Mode mode, std::int64_t mode_step) const;

  std::vector<Saved> saved_;
  std::vector<Timetable> timetables_;  // the hook's first; collections without a config share it
  ReductionSet columns_;
};

// The user's collections with the options' patterns in `default` and `all`.
Collections initial_collections(const HookOptions& options);

// Those that the options say are to be saved, by name; then those that nobody configured.
std::vector<SavedCollection> saved_collections(const Collections& collections,
                                               const HookOptions& options);

// The names of collections of the user's that nothing can be in but what calls put there, and
// nothing is in so far; also those that are to be saved and were never configured.
std::vector<std::string> empty_collections(const Collections& collections,
                                           const HookOptions& options);

// When the hook saves: options.save_config, or the profile's default where that says nothing.
SaveConfig hook_save_config(const HookOptions& options);

}  // namespace cupel
