#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "background_writer.h"
#include "chunk_pool.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/store/store.h"
#include "cupel/writer/checkpoint_metadata.h"
#include "cupel/writer/hook.h"
#include "cupel/writer/metric_log.h"
#include "cupel/writer/overhead_governor.h"
#include "cupel/writer/step_counters.h"
#include "process.h"
#include "run_output.h"
#include "save_plan.h"
#include "step_recorder.h"
#include "stop_watch.h"
#include "tensor_groups.h"

namespace cupel {

// What a hook is made of. One training thread begins steps, changes modes and closes; several may
// save in between.
struct Hook::State {
  using Clock = std::chrono::steady_clock;

  State(HookOptions hook_options, std::vector<Collection> configured, std::shared_ptr<Store> into);

  // Whether calls do anything: not after close(), an error, or a fork.
  bool active() const noexcept { return !inert && !disabled && !closed && !is_copy(); }
  bool is_copy() const noexcept { return fork_depth() != made_at_depth_; }
  bool busy() const noexcept { return calls_ > 0; }

  // Runs what a public call does, and counts its time. Nothing leaves it, unless the user asked for
  // that. Does nothing once the process exits: whoever closes then has looked whether anybody is
  // busy.
  template <class F>
  void guarded(F&& call) {
    const Call counted(*this);
    if (!exiting) protect(call);
  }
  // The same for a save. A save that another thread begins beside next_step(), set_mode() or
  // close() is dropped and reported: what it would save belongs to no step.
  template <class F>
  void guarded_save(std::string_view name, F&& call) {
    const Call counted(*this);
    if (exiting) return;
    if (counted.may_run_beside_others()) {
      protect(call);
    } else {
      protect([&] { report_save_beside_step(name); });
    }
  }
  // The same for a call that gives a tensor its name or collections: it waits for the thread that
  // changes the step. Where it has interrupted a call that waits, too, it is dropped and reported.
  template <class F>
  void guarded_naming(std::string_view name, F&& call) {
    {
      const Call counted(*this);
      if (exiting) return;
      if (counted.may_run_beside_others()) return protect(call);
    }  // or each would wait for the other
    if (is_inside_call()) {
      const Call counted(*this);
      return protect([&] { report_save_beside_step(name); });
    }
    const Inside waiting(*this, true);
    const MutexLock behind_step_change(alone_mutex_);
    const Call counted(*this);
    if (!exiting) protect(call);
  }
  template <class F>
  void protect(F&& call) {
    try {
      call();
    } catch (const UsageError& error) {
      // A complaint that is to be thrown costs its call only.
      if (options.on_error == OnError::Throw) throw;
      disable(error.what());
    } catch (const std::exception& error) {
      disable(error.what());
      if (options.on_error == OnError::Throw) throw;
    } catch (...) {  // of a store of the user's
      disable("something was thrown that is no std::exception");
      if (options.on_error == OnError::Throw) throw;
    }
  }

  // A mistake that costs one call, not the run; told once per tensor.
  void complain(NamedTensor* tensor, const std::string& what);
  // The same of a name that no tensor can have: the first ten names, each once.
  void report_illegal_name(std::string_view name, const char* defect);
  // A save that was dropped, once.
  void report_save_beside_step(std::string_view name);
  // In the log and in the report.
  void tell(std::string what, LogLevel severity = LogLevel::Warning);
  void disable(const char* what) noexcept;
  void warn_before_first_step(std::string_view name);
  // Tells readers of the run, with the next step that is committed.
  void note(std::string text);

  NamedTensor* tensor(std::string_view name, const CollectionNames& tags);
  void next_step();
  void save_due(NamedTensor& named, const TensorView& view);
  void save_scalar(NamedTensor& named, double value);
  std::int64_t number_of_next(const std::string& module_side);
  void close();
  // Closes; false where that is not possible any more.
  bool close_at_exit() noexcept;
  // The report; of one that there is no memory to copy, the numbers.
  HookReport told() const noexcept;

  // That this thread is inside a call of a hook: a store, a log sink, or a handler of a signal may
  // call it again, or another hook. A call that waits for other threads does not act yet.
  class Inside {
   public:
    Inside(const State& state, bool waits) noexcept
        : state_(state), waits_(waits), outer_(innermost_) {
      innermost_ = this;
    }
    ~Inside() { innermost_ = outer_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend struct State;
    const State& state_;
    const bool waits_;
    const Inside* const outer_;
  };
  // How many public calls there are at the moment, and whether this thread is inside one already.
  class Busy {
   public:
    explicit Busy(State& state) noexcept : state_(state), is_nested_(state.is_acting()) {
      ++state_.calls_;
    }
    ~Busy() { --state_.calls_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

    bool is_nested() const noexcept { return is_nested_; }

   private:
    State& state_;
    const bool is_nested_;
    const Inside inside_{state_, false};
  };
  // The same, and how long they take.
  class Call {
   public:
    explicit Call(State& state) noexcept : state_(state), busy_(state) {}
    ~Call() { state_.spent_ns_ += (Clock::now() - begin_).count(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Whether no thread changes the step. A thread that is about to change it waits for this call.
    bool may_run_beside_others() const noexcept { return busy_.is_nested() || !state_.alone_; }

   private:
    State& state_;
    const Busy busy_;
    Clock::time_point begin_ = Clock::now();
  };
  // Keeps all other threads out of the hook while the step, the mode or the end of the run changes.
  // Calls that have begun end first; they need nothing of this thread. Nested calls wait for
  // nobody.
  class Alone {
   public:
    explicit Alone(State& state);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

    // Not inside a call of this thread that waits itself: what that waits for is not over.
    bool may_change() const noexcept { return may_change_; }

   private:
    State& state_;
    std::optional<Inside> waiting_;
    std::optional<MutexLock> lock_;
    bool may_change_ = false;
  };
  bool is_inside_call() const noexcept;  // of this thread
  bool is_acting() const noexcept;       // inside one that does not wait for other threads

  HookOptions options;
  const bool inert;                     // USE_SMDEBUG=0
  bool decides = false;                 // whether anything is due in this process
  bool writes = false;                  // and goes into a run
  std::optional<RunOutput> output;      // of a hook that writes
  std::optional<StopWatch> stop_watch;  // of one that only counts steps
  std::optional<ChunkPool> pool;
  std::optional<BackgroundWriter> writer;
  std::optional<StepRecorder> recorder;
  std::optional<CheckpointMetadata> checkpoints;
  std::unique_ptr<MetricLog> metrics;
  std::optional<OverheadGovernor> governor;

  Collections collections;
  std::optional<SavePlan> plan;
  TensorGroups groups;

  Mode mode = Mode::Global;
  StepCounters counters;
  std::optional<Mode> step_mode;       // of the step that began last
  std::atomic<bool> has_begun{false};  // a step
  bool step_is_due = false;            // some collection is active in it
  bool step_is_left_out = false;       // it is due, but there is no time for it
  SavingLevel level;                   // of the step that began last
  std::atomic<std::int64_t> committed_step{-1};
  std::atomic<bool> stop_seen{false};
  std::atomic<bool> disabled{false};
  std::atomic<bool> closed{false};
  std::atomic<bool> exiting{false};  // the process, or the hook is destroyed
  std::atomic<bool> told_of_exit{false};
  HookReport report;
  std::int64_t steps_begun = 0;

 private:
  void open(std::shared_ptr<Store> into);
  void prepare();
  ReductionSet index_columns() const;
  void begin_step();
  void end_step();
  void say_the_rest();
  void await_commit(Step& step);
  void await_room();
  WhenFull when_full() const;
  std::size_t most_records() const;
  bool has_few_records() const;
  bool has_room() const;
  void govern(Clock::time_point begin);
  void count_dropped(std::int64_t step);
  void report_misspelt_collections();
  void report_empty_collections();
  // An attempt hides the steps of earlier ones from its first step on.
  void find_earlier_steps();
  void note_hidden_steps();
  void report_hidden_steps();
  void count_lost();
  void count_refused();
  static constexpr const char* kSpoolWasFull = "the spool was full";
  void note_dropped(const LostSteps& steps, const char* why);
  // Complains when the next step has begun, so that a complaint that is thrown costs nothing.
  void complain_later(std::string what);
  void tell_late_complaints() noexcept;
  SaveDecision decide(const Membership& members) const;
  void save(NamedTensor& named, const TensorView& view, const SaveDecision& what);
  void log_metric(const NamedTensor& named, const TensorView& view);
  void add_own_tensors();
  void check_writer();
  void poll_stop();
  void write_collections_at_close();
  void finish();
  void tell_spool_is_full(const char* what);
  void leave_last_note() noexcept;
  void deliver(Clock::time_point until) noexcept;
  bool has_early_scalars() {
    const MutexLock lock(mutex_);
    return !early_scalars_.empty();
  }
  bool has_notes() {
    const MutexLock lock(mutex_);
    return !notes_.empty();
  }
  void fill_report() noexcept;
  void fill_texts();
  double share_of_time(std::int64_t ns) const;
  static std::int64_t microseconds_now();

  static thread_local const Inside* innermost_;  // of what this thread is inside
  Mutex alone_mutex_;
  std::atomic<bool> alone_{false};  // a thread changes the step and holds the mutex
  std::atomic<bool> reported_save_beside_step_{false};
  std::atomic<bool> warned_before_first_step_{false};
  std::vector<std::string> late_complaints_;
  Mutex mutex_;  // training threads may save at once
  std::vector<std::string> problems_ CUPEL_GUARDED_BY(mutex_);
  // That were reported, hashed.
  std::vector<std::size_t> illegal_names_ CUPEL_GUARDED_BY(mutex_);
  // That are not in the run yet.
  std::vector<std::string> notes_ CUPEL_GUARDED_BY(mutex_);
  // Before the first step.
  std::vector<std::pair<NamedTensor*, double>> early_scalars_ CUPEL_GUARDED_BY(mutex_);
  // Numbered in this step.
  std::map<std::string, std::int64_t, std::less<>> module_values_ CUPEL_GUARDED_BY(mutex_);

  std::int64_t earlier_last_ = -1;  // the last step of earlier attempts
  std::int64_t hidden_from_ = -1;   // where this one began to hide them; -1: it has not
  LostSteps dropped_;  // since the last note about it: there was no room for their values
  bool dropped_by_spool_ = false;  // the first of them
  LostSteps lost_;                 // the same when they were written
  bool told_of_refused_ = false;   // steps whose index rows are larger than readers take
  bool spool_had_room_ = true;     // when the step began
  std::uint64_t commits_ = 0;      // handed over
  bool behind_ = false;            // a commit took too long, and the writer has not caught up
  std::int64_t waited_ns_ = 0;

  const std::uint64_t made_at_depth_ = fork_depth();
  const Clock::time_point created_ = Clock::now();
  Clock::time_point first_begin_;
  Clock::time_point overhead_saved_ = created_;
  std::atomic<std::int64_t> spent_ns_{0};
  std::atomic<int> calls_{0};
  std::optional<AtExit> at_exit_;  // last: while there is anything to close
};

}  // namespace cupel
