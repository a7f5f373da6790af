#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "background_writer.h"
#include "call_gate.h"
#include "chunk_pool.h"
#include "cupel/core/mutex.h"
#include "hook_journal.h"
#include "metric_log.h"
#include "run_output.h"
#include "step_clock.h"
#include "step_recorder.h"
#include "step_sink.h"
#include "tensor_groups.h"

namespace cupel::writer_detail {

// Writes the steps of a hook into a run: copies values, hands them to the background writer, and
// waits, by the options, for commits and for room.
//
//     save() ─► StepRecorder ─► ChunkPool ─► BackgroundWriter ─► SegmentWriter ─► RunOutput's store
//
// What the hook reports about itself rides in its steps: the overhead once a second, and what the
// ledger has waiting. Where there is no room for a step, the step is dropped or lost as a whole,
// and the ledger counts it.
class StepPipeline final : public StepSink {
 public:
  // Opens the run, and has the clock go on behind the last step of the run or of a
  // checkpoint. Throws what
  // RunOutput throws. Everything outlives the pipeline.
  StepPipeline(const HookOptions& options, std::shared_ptr<Store> into, StepClock& clock,
               const CallGate& gate, HookJournal& journal, TensorGroups& groups);

  bool is_saving() const noexcept override { return true; }
  bool needs_values() const noexcept override { return true; }
  void prepare(const ReductionSet& columns) override;
  void begin_step() override;
  void save(NamedTensor& tensor, const TensorView& view, const SaveDecision& what) override;
  void end_step(bool may_be_last) override;
  void look_around() override;
  bool is_behind() const override;
  bool sees_stop_request(Clock::time_point now) override;
  void stop_waiting_at(Clock::time_point until) override { output_->stop_waiting_at(until); }
  void end_last_step() override;
  void finish() override;
  void close(Clock::time_point until) noexcept override;
  void halt() noexcept override;

 private:
  // Of the steps that this attempt hides, since it begins before their end.
  struct EarlierAttempts {
    std::int64_t last_step = -1;
    std::int64_t hidden_from = -1;  // the first step that this attempt saved; -1: none yet
  };
  void find_earlier_steps();
  void note_hidden_steps();
  void report_hidden_steps();

  // Ends the step and hands it over; null if nothing was saved in it, or if it was dropped.
  std::shared_ptr<Step> hand_over_step(bool needs_overhead);
  void add_own_tensors(bool needs_overhead);
  void count_dropped(std::int64_t step);
  void collect_outcomes();
  void await_commit(Step& step);
  void await_room();
  WhenFull when_full() const;
  std::size_t most_records() const;
  bool has_few_records() const;
  void check_writer() const;

  void write_the_rest();
  void write_end();
  void leave_last_note() noexcept;
  void end_writing() noexcept;

  const HookOptions& options_;
  StepClock& clock_;
  const CallGate& gate_;
  HookJournal& journal_;
  TensorGroups& groups_;

  std::optional<RunOutput> output_;
  std::optional<ChunkPool> pool_;
  std::optional<BackgroundWriter> writer_;  // from the first step on, as the recorder
  std::optional<StepRecorder> recorder_;
  std::unique_ptr<MetricLog> metrics_;

  // halt() may come at any time: writer_ is made, and what it halts is let go, not beside it.
  Mutex halt_mutex_;
  bool has_let_go_ CUPEL_GUARDED_BY(halt_mutex_) = false;

  EarlierAttempts earlier_;
  bool output_had_room_ = true;  // when the step began
  std::uint64_t commits_ = 0;    // handed over
  // Of the commits that were handed over: what has become of them is not known yet.
  std::deque<std::pair<std::uint64_t, std::shared_ptr<const StepOutcome>>> under_way_;
  bool behind_ = false;  // a commit took too long, and the writer has not caught up
  std::chrono::nanoseconds waited_{};
  const Clock::time_point created_ = Clock::now();
  std::optional<Clock::time_point> overhead_saved_;
};

}  // namespace cupel::writer_detail
