#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

namespace cupel::writer_detail {

// What is written of a tensor at a step.
struct SaveDecision {
  bool raw = false;
  bool shape = false;
  ReductionSet reductions = {};
  bool must_be_raw = false;  // reductions do not do instead
  bool any() const noexcept { return raw || shape || !reductions.empty(); }
};

// Numbers of the ways of saving that the tensor's collections have, sorted: what decides about a
// tensor. Collections that are saved alike have one way.
using Membership = std::vector<std::uint32_t>;

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

  // The ways of saving of the collections that contain the tensor, by name, by pattern, or because
  // `tags` name them. Takes as long as searching the patterns; names are looked up.
  Membership membership(std::string_view tensor, std::span<const std::string> tags) const;

  // The union of what those that are active at the step want.
  SaveDecision decide(std::span<const std::uint32_t> members, Mode mode,
                      std::int64_t mode_step) const;

  // Whether any saved collection is active at the step; whether any is but those that are named.
  bool is_any_active(Mode mode, std::int64_t mode_step) const;
  bool is_any_active_beyond(std::span<const std::string_view> collections, Mode mode,
                            std::int64_t mode_step) const;

  // Every reduction that may ever be asked for: the columns of the index.
  ReductionSet columns() const noexcept { return columns_; }

 private:
  // What is saved when.
  struct Way {
    std::size_t timetable;
    SaveDecision what;
    bool training_only;
  };
  struct Searched {
    PatternList patterns;
    std::uint32_t way;
  };
  // One per mode, in the order of kAllModes.
  using Timetable = std::vector<SaveSteps>;
  class Builder;
  static Timetable timetable(const SaveConfig& config);
  bool is_active(const Way& way, Mode mode, std::int64_t mode_step) const;

  std::vector<Way> ways_;
  std::vector<Timetable> timetables_;  // the hook's first; collections without a config share it
  std::map<std::string, std::uint32_t, std::less<>> ways_by_collection_;
  std::map<std::string, Membership, std::less<>> ways_by_tensor_;  // of listed tensors
  std::vector<Searched> searched_;
  ReductionSet columns_;
};

// The user's collections with the options' patterns in `default` and `all`.
Collections initial_collections(const HookOptions& options);

// Those that the options name, sorted by name; then those that nobody configured.
std::vector<SavedCollection> saved_collections(const Collections& collections,
                                               const HookOptions& options);

// The names of collections of the user's that nothing can be in but what calls put there, and
// nothing is in so far; also those that are to be saved and were never configured.
std::vector<std::string> empty_collections(const Collections& collections,
                                           const HookOptions& options);

// When the hook saves: options.save_config, or the profile's default where that is empty.
SaveConfig hook_save_config(const HookOptions& options);

}  // namespace cupel::writer_detail
