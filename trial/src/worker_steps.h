#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cupel/core/mode.h"
#include "cupel/trial/trial_clock.h"
#include "names.h"
#include "rows.h"
#include "stable_vector.h"

namespace cupel::trial_detail {

/// The two files of a segment, and how much of the events file is known to be there.
struct SegmentFiles {
  std::string index_key;
  std::string events_key;
  /// When the index file was first read.
  TrialClock::Time seen{};
  /// The known size of the events file, which grows; 0 before the first request.
  mutable std::atomic<std::uint64_t> events_size{0};
};

/// The rows of one step of one worker: a range of a block. All pointers are valid as long as the
/// index data.
struct StepRows {
  std::int64_t step = 0;
  std::int64_t mode_step = 0;
  std::int64_t time_us = 0;
  std::uint64_t value_bytes = 0;  ///< The bytes of all values but those of reserved tensors.
  const RowBlock* block = nullptr;
  const NameLayout* layout = nullptr;
  const SegmentFiles* files = nullptr;
  std::uint32_t first_row = 0;
  Mode mode = Mode::Global;
};

/// The committed steps of one worker in rising order. One thread appends; other threads read below
/// the sizes that their snapshot has.
class WorkerSteps {
 public:
  /// The first step of each combination of a layout and a mode.
  struct LayoutUse {
    const NameLayout* layout = nullptr;
    std::int64_t step = 0;
    Mode mode = Mode::Global;
  };
  struct Sizes {
    std::size_t steps = 0, reserved = 0, uses = 0;
    std::array<std::size_t, kAllModes.size()> of_mode{};
  };

  void append(const StepRows& rows);
  Sizes sizes() const noexcept;
  /// A copy with the steps before `step`, for an attempt that begins there.
  std::shared_ptr<WorkerSteps> before(std::int64_t step) const;

  /// The steps that hold other tensors than reserved ones.
  const StepRows& step(std::size_t index) const noexcept { return steps_[index]; }
  /// The number of the first `count` steps that are <= `global`.
  std::size_t count_until(std::int64_t global, std::size_t count) const noexcept;
  /// The step's rows among the first `count`; null if it is not there.
  const StepRows* find(std::int64_t global, std::size_t count) const noexcept;

  /// The rows of the least mode step >= `mode_step` among the first `sizes.of_mode` of a mode whose
  /// global steps are <= `limit`; null if there is none.
  const StepRows* at_or_after(Mode mode, std::int64_t mode_step, const Sizes& sizes,
                              std::int64_t limit) const noexcept;
  /// The number of a mode's first steps whose mode steps are <= `mode_step` and whose global steps
  /// are <= `limit`; where mode steps do not rise, only the latter counts.
  std::size_t of_mode_until(Mode mode, std::int64_t mode_step, const Sizes& sizes,
                            std::int64_t limit) const noexcept;
  /// Whether the mode steps of a mode rise with the global steps.
  bool rises(Mode mode) const noexcept {
    return !falls_[slot(mode)].load(std::memory_order_relaxed);
  }
  /// The index of the nth step of a mode.
  std::size_t of_mode(Mode mode, std::size_t nth) const noexcept {
    return of_mode_[slot(mode)][nth];
  }
  static std::size_t slot(Mode mode) noexcept { return static_cast<std::size_t>(mode) - 1; }

  const LayoutUse& use(std::size_t index) const noexcept { return uses_[index]; }
  /// The steps that hold reserved tensors, whatever else they hold.
  const StepRows& reserved(std::size_t index) const noexcept { return reserved_[index]; }

 private:
  StableVector<StepRows> steps_, reserved_;
  std::array<StableVector<std::uint32_t>, kAllModes.size()> of_mode_;
  // A program may count mode steps down; then they are searched one by one.
  std::array<std::atomic<bool>, kAllModes.size()> falls_{};
  StableVector<LayoutUse> uses_;
  std::set<std::pair<const NameLayout*, Mode>> known_uses_;  // of the thread that appends
};

}  // namespace cupel::trial_detail
