// The decision what a step saves. The plan has which ways of saving are active at a step of a
// mode; gradients, for one, never are in the modes EVAL and PREDICT (save_plan.cc). The overhead
// budget then takes away from that: the governor's level leaves whole steps out (open_step()) or
// replaces raw values by reductions (within_budget()). No thread of its own, no files but the notes
// beside checkpoints, and nothing fails but what the plan refuses.

#include "step_clock.h"

#include <algorithm>
#include <utility>

#include "cupel/format/layout.h"
#include "note_text.h"
#include "value_bytes.h"

namespace cupel::writer_detail {
namespace {

// What is saved instead of a raw value that there is no time for.
ReductionSet instead_of_raw() {
  return ReductionConfig{
      .reductions = {"min", "max", "mean", "std"}, .abs_reductions = {"mean"}, .norms = {"l2"}}
      .set();
}

}  // namespace

StepHeader StepClock::header() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {counters_.global, step_mode_, counters_[step_mode_],
          std::chrono::duration_cast<std::chrono::microseconds>(now).count()};
}

void StepClock::go_on_from_checkpoints(bool keeps_notes) {
  checkpoints_ = CheckpointMetadata::from_environment();
  if (!checkpoints_) return;
  const StepCounters& restored = checkpoints_->restored().counters;
  if (restored.global >= 0) counters_ = restored;
  if (!keeps_notes) checkpoints_.reset();
}

void StepClock::look_for_checkpoints() {
  if (checkpoints_) checkpoints_->look(counters_, committed_step_);
}

void StepClock::follow(SavePlan plan, bool is_saved) {
  plan_.emplace(std::move(plan));
  is_saved_ = is_saved;
}

void StepClock::keep_budget(double budget, const SavingLevel& full) {
  governor_.emplace(budget, full);
  level_ = governor_->level();
}

ReductionSet StepClock::columns_of(const SavePlan& plan) const {
  ReductionSet columns = plan.columns();
  if (governor_) columns |= instead_of_raw();
  return columns;
}

std::string StepClock::defect_of(std::optional<std::int64_t> number) const {
  if (can_follow(number)) return {};
  if (!number || *number > kLastStep) return "is larger than " + std::to_string(kLastStep);
  std::string defect = "is not behind the last step, " + std::to_string(last_step());
  // Such a caller may well have begun no step of that number.
  if (steps_begun_ == 0)
    defect +=
        ", of an earlier attempt of this run, whose close() may have saved values that waited "
        "in a step of their own; step() + 1 is the first number that may follow";
  return defect;
}

void StepClock::count(std::optional<std::int64_t> number) noexcept {
  if (!can_follow(number)) return;
  if (number) {
    counters_.global = counters_[mode_] = *number;
  } else {
    counters_.count(mode_);
  }
  ++steps_begun_;
}

std::optional<std::string> StepClock::weigh(Clock::time_point begin, std::chrono::nanoseconds spent,
                                            bool is_behind) {
  if (!first_begin_) first_begin_ = begin;
  const auto now = Clock::now();
  const SavingLevel before = governor_->level();
  if (!governor_->observe(now - *first_begin_, spent + (now - begin), is_active_ && !is_left_out_,
                          is_behind))
    return std::nullopt;
  level_ = governor_->level();
  return note_text({{"kind", "saving_level"},
                    {"step", counters_.global},
                    {"level", level_.to_text()},
                    {"before", before.to_text()},
                    {"share", governor_->recent_share()},
                    {"budget", governor_->budget()}});
}

bool StepClock::open_step() {
  step_mode_ = mode_;
  state_ = State::Open;
  has_begun_ = true;
  is_active_ = plan_->is_any_active(mode_, counters_[mode_]);
  is_left_out_ = is_active_ && governor_ && !governor_->admit();
  return !is_left_out_;
}

bool StepClock::open_closing_step() noexcept {
  if (!can_follow(std::nullopt)) return false;
  if (state_ == State::None) step_mode_ = mode_;
  counters_.count(step_mode_);
  state_ = State::Open;
  has_begun_ = true;
  is_active_ = is_left_out_ = false;
  return true;
}

bool StepClock::is_due() const { return is_active_ && looks_at_collections(); }

bool StepClock::is_due_beyond(std::span<const std::string_view> collections) const {
  return is_due() && plan_->is_any_active_beyond(collections, mode_, counters_[mode_]);
}

void StepClock::publish_due() { due_.set(is_due() ? DueFlag::Answer::Yes : DueFlag::Answer::No); }

SaveDecision StepClock::decide(const Membership& members) const {
  return looks_at_collections() ? plan_->decide(members, mode_, counters_[mode_]) : SaveDecision{};
}

SaveDecision StepClock::within_budget(SaveDecision what, const TensorView& view) const {
  if (level_.reductions_only && what.raw && !what.must_be_raw &&
      value_length(view) > kMaxInlineBytes) {
    what.raw = false;
    what.reductions |= instead_of_raw();
  }
  return what;
}

}  // namespace cupel::writer_detail
