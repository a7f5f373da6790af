#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint_metadata.h"
#include "cupel/format/index_writer.h"
#include "cupel/writer/hook.h"
#include "overhead_governor.h"
#include "save_plan.h"
#include "step_counters.h"

namespace cupel::writer_detail {

// Which step it is, and what is due at it: mode and counters, the plan of what is saved when, and
// how much of that the overhead budget has time for.
//
// A step is none, open, or ended. Collections are looked at while it is open and its mode is the
// present one. Changed by one thread, between the saves of all others.
class StepClock {
 public:
  using Clock = std::chrono::steady_clock;

  // The largest number of any step, so that the keys of a run stay in the order of steps.
  static constexpr std::int64_t kLastStep = 999'999'999'999;

  Mode mode() const noexcept { return mode_; }
  void set_mode(Mode mode) noexcept { mode_ = mode; }
  const StepCounters& counters() const noexcept { return counters_; }
  std::int64_t steps_begun() const noexcept { return steps_begun_; }
  StepHeader header() const;  // of the step that began last, with the time now

  // The last step whose values and index entry are in the store. Any thread; the background writer
  // sets it.
  std::atomic<std::int64_t>& committed_step() noexcept { return committed_step_; }
  std::int64_t committed_step() const noexcept {
    return committed_step_.load(std::memory_order_acquire);
  }

  // Where the counters begin, in place of the beginning.
  void go_on_from(const StepCounters& counters) noexcept { counters_ = counters; }
  // Goes on from checkpoints if the environment names a directory of them. `keeps_notes`: this
  // worker writes beside new checkpoints how far it has counted.
  void go_on_from_checkpoints(bool keeps_notes);
  void look_for_checkpoints();

  // What is saved when; before the first step. Collections are never due where nothing `is_saved`.
  void follow(SavePlan plan, bool is_saved);
  const SavePlan* plan() const noexcept { return plan_ ? &*plan_ : nullptr; }
  // Keeps the share of time that saving takes below a budget; `full` is the level without one.
  void keep_budget(double budget, const SavingLevel& full);
  bool has_budget() const noexcept { return governor_.has_value(); }
  // The columns of the index: every reduction that may ever be saved by this plan and the budget.
  ReductionSet columns_of(const SavePlan& plan) const;

  // Why the next step cannot have this number, or no number, as a phrase; empty if it can.
  std::string defect_of(std::optional<std::int64_t> number) const;
  // Counts a step, by its number if it has one; a number that cannot be the next step is ignored.
  void count(std::optional<std::int64_t> number) noexcept;
  // With a budget, weighs it in a call that began at `begin`, before which calls had taken `spent`;
  // `is_behind`: steps that were handed over still wait. Returns the text of a note if the level of
  // saving has changed.
  std::optional<std::string> weigh(Clock::time_point begin, std::chrono::nanoseconds spent,
                                   bool is_behind);
  // The step that was counted is open. False if it is due and the budget has no time for it.
  bool open_step();
  // A step of the hook's own is open, behind the last one and in its mode, for values that wait
  // when the hook closes. It is no step that the caller began, and nothing is due in it. False if
  // the last step has the largest number.
  bool open_closing_step() noexcept;
  void end_step() noexcept { state_ = state_ == State::Open ? State::Ended : state_; }

  // A step has begun. Any thread.
  bool has_begun() const noexcept { return has_begun_; }
  bool is_open() const noexcept { return state_ == State::Open; }
  bool is_ended() const noexcept { return state_ == State::Ended; }
  Mode step_mode() const noexcept { return step_mode_; }  // of the step that began last

  // Whether collections are looked at now, and any of them is due.
  bool is_due() const;
  bool is_due_beyond(std::span<const std::string_view> collections) const;
  // The answer of is_due() for other threads, as it was when it was published last.
  const DueFlag& due_flag() const noexcept { return due_; }
  void publish_due();
  void publish_nothing_due() noexcept { due_.set(DueFlag::Answer::No); }
  // What is saved now of the tensors with these memberships.
  SaveDecision decide(const Membership& members) const;
  // The same decision as far as the budget allows it; a valid view.
  SaveDecision within_budget(SaveDecision what, const TensorView& view) const;
  const SavingLevel& level() const noexcept { return level_; }
  // Whether saving is restricted: then it waits for nothing.
  bool is_over_budget() const noexcept { return governor_ && level_ != governor_->full(); }

 private:
  // The last step, globally or of the mode, behind which the next one must be.
  std::int64_t last_step() const noexcept { return std::max(counters_.global, counters_[mode_]); }
  bool can_follow(std::optional<std::int64_t> number) const noexcept {
    return number ? *number > last_step() && *number <= kLastStep : last_step() < kLastStep;
  }
  bool looks_at_collections() const noexcept {
    return is_saved_ && state_ == State::Open && !is_left_out_ && step_mode_ == mode_;
  }

  enum class State : std::uint8_t { None, Open, Ended };

  Mode mode_ = Mode::Global;
  StepCounters counters_;
  std::int64_t steps_begun_ = 0;
  std::atomic<std::int64_t> committed_step_{-1};
  std::atomic<bool> has_begun_{false};
  State state_ = State::None;
  Mode step_mode_ = Mode::Global;
  DueFlag due_;
  std::optional<SavePlan> plan_;
  bool is_saved_ = false;
  bool is_active_ = false;    // some collection is active in the step,
  bool is_left_out_ = false;  // for which there is no time
  std::optional<CheckpointMetadata> checkpoints_;
  std::optional<OverheadGovernor> governor_;
  SavingLevel level_;  // of the step that began last
  std::optional<Clock::time_point> first_begin_;
};

}  // namespace cupel::writer_detail
