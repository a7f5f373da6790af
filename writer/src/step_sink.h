#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "cupel/core/tensor_view.h"
#include "save_plan.h"
#include "stop_watch.h"
#include "tensor_table.h"

namespace cupel::writer_detail {

// What becomes of the steps of a hook. One object for each kind of hook: StepPipeline writes them
// into a run; a dry run logs what it would save; a bystander, a worker that does not write, only
// watches for requests to stop, as a dry run does; a hook that is switched off has none of it.
//
// save() may be called from several threads at once, halt() by a thread that interrupts others; all
// else is called by the thread that changes the step.
class StepSink {
 public:
  using Clock = std::chrono::steady_clock;

  StepSink() = default;
  virtual ~StepSink() = default;
  StepSink(const StepSink&) = delete;
  StepSink& operator=(const StepSink&) = delete;

  // Whether collections decide what is saved. Nothing is due in the steps of any other hook.
  virtual bool is_saving() const noexcept { return false; }
  // Whether values that wait for a step are kept for it; else save() takes them at once.
  virtual bool needs_values() const noexcept { return false; }
  // Whether the report names tensors that no saved collection wanted.
  virtual bool reports_unsaved() const noexcept { return true; }

  // The first step is about to begin; `columns` are the reductions that any step may save. Throws
  // what keeps a run from being begun; then it is called again before the next step.
  virtual void prepare(const ReductionSet& columns) { static_cast<void>(columns); }
  // A step has begun.
  virtual void begin_step() {}
  virtual void save(NamedTensor& tensor, const TensorView& view, const SaveDecision& what) = 0;
  // The step ends; with Commit::Step, when it is committed. `may_be_last`: no step has been asked
  // for behind it.
  virtual void end_step(bool may_be_last) { static_cast<void>(may_be_last); }
  // Between steps: throws what ended saving in the background, and collects what has happened there
  // since.
  virtual void look_around() {}
  // Whether steps that have ended still wait to be written.
  virtual bool is_behind() const { return false; }
  // Whether a request to stop the training has been seen; takes the time.
  virtual bool sees_stop_request(Clock::time_point) { return false; }

  // The last step ends, and nothing is waited for.
  virtual void end_last_step() {}
  // The hook closes: from `until` on, nothing waits for a store far away.
  virtual void stop_waiting_at(Clock::time_point) {}
  // Writes all that is left, and the end of the run.
  virtual void finish() {}
  // Waits for other ends of the hook, such as uploads, until `until`; then fills in its part of the
  // report and lets everything go. Called once, also when saving has failed.
  virtual void close(Clock::time_point) noexcept {}
  // Begins nothing more: the process exits, and what threads need goes with it.
  virtual void halt() noexcept {}
};

// USE_SMDEBUG=0: wants nothing, and touches no disk.
class SwitchedOff final : public StepSink {
 public:
  bool reports_unsaved() const noexcept override { return false; }
  void save(NamedTensor&, const TensorView&, const SaveDecision&) override {}
};

// Writes nothing, and stops with those who do.
class OnlyWatching : public StepSink {
 public:
  // Watches `store`, if there is one.
  explicit OnlyWatching(std::shared_ptr<Store> store);
  bool sees_stop_request(Clock::time_point now) override;

 private:
  std::optional<StopWatch> stop_watch_;
};

// One of several workers, of which only the chief writes: counts steps.
class Bystander final : public OnlyWatching {
 public:
  using OnlyWatching::OnlyWatching;
  void save(NamedTensor&, const TensorView&, const SaveDecision&) override {}
};

// Decides as a hook that writes would, and writes a line of the log for each value.
class DryRun final : public OnlyWatching {
 public:
  DryRun(const class StepClock& clock, std::shared_ptr<Store> store)
      : OnlyWatching(std::move(store)), clock_(clock) {}
  bool is_saving() const noexcept override { return true; }
  void save(NamedTensor& tensor, const TensorView& view, const SaveDecision& what) override;

 private:
  const StepClock& clock_;
};

}  // namespace cupel::writer_detail
