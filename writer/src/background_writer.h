#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "chunk_pool.h"
#include "cupel/core/mutex.h"
#include "cupel/stats/statistics.h"
#include "cupel/store/store.h"
#include "segment_writer.h"
#include "step_record.h"

namespace cupel::writer_detail {

// Work for the background writer, done in the order in which it was handed over.
struct StepBegun {  // its values may be measured
  std::shared_ptr<Step> step;
};
struct WriteBatch {  // values that lie one after another in a chunk
  std::int64_t step;
  Chunk* chunk;
  std::span<const std::byte> bytes;
  std::vector<Record*> values;
};
struct StreamBegin {
  std::int64_t step;
  Record* value;
};
struct StreamPiece {
  Chunk* chunk;
};
struct StreamEnd {
  std::uint64_t missing = 0;  // bytes that will not come, because saving it was given up
};
struct CommitStep {
  std::shared_ptr<Step> step;
};
struct SealNow {};
struct LastNote {  // is tried also after an error
  StepHeader header;
  const NamedTensor* tensor;
  std::string text;
};
using Task = std::variant<StepBegun, WriteBatch, StreamBegin, StreamPiece, StreamEnd, CommitStep,
                          SealNow, LastNote>;
// A list: tasks made beforehand can be handed over without fail, also when memory has run out.
using Tasks = std::list<Task>;

// How far the background writer has come; read from any thread.
struct WriterProgress {
  std::uint64_t commits = 0;  // CommitStep tasks that are done, successfully or not
  std::int64_t committed_step = -1;
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::uint64_t value_bytes = 0;
  std::exception_ptr error;  // what ended writing; null while it works
};

enum class CommitWait { Committed, TimeIsOver, Interrupted };

// The one thread that writes values, commits steps and seals segments; between these it measures
// values. What becomes of a step is written into its outcome. Chunks go back to the pool also after
// an error, so that a thread that waits for one goes on.
class BackgroundWriter {
 public:
  BackgroundWriter(Store& store, SegmentPolicy policy, ChunkPool& pool,
                   std::atomic<std::int64_t>& committed_step);
  ~BackgroundWriter();  // finishes what was handed over, without sealing

  void hand_over(Task task);
  void hand_over(Tasks tasks) noexcept;
  // Values of so many bytes can be measured: wakes the thread when that is worth it.
  void values_ready(std::size_t bytes) noexcept;

  // Waits until `commits` CommitStep tasks are done, and helps to measure `step` meanwhile. Ends
  // before that when the time is over, or `interrupted`, if there is one, returns true.
  CommitWait wait_for_commits(std::uint64_t commits, Step& step, std::chrono::milliseconds at_most,
                              const std::function<bool()>& interrupted);
  void wait_until_idle();

  // Records of steps that were handed over and are not committed yet.
  std::size_t records_waiting() const noexcept { return records_waiting_; }
  void wait_for_records_below(std::size_t most);

  // Begins no further task: the process exits, and what tasks need goes with it. Waits a moment for
  // the present one, and takes no lock, because the caller may have interrupted a thread that has
  // it.
  void halt() noexcept;

  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  WriterProgress progress() const;

 private:
  void run();
  void perform_all(Tasks& tasks) noexcept;
  void flush(Tasks& gathered) noexcept;
  // What went wrong; null if nothing did.
  std::exception_ptr perform(Task& task) noexcept;
  template <class F>
  std::exception_ptr attempt(F&& work) noexcept;
  void stay_if_halted() const noexcept;
  void do_task(StepBegun& task);
  void do_task(WriteBatch& task);
  void do_task(StreamBegin& task);
  void do_task(StreamPiece& task);
  void do_task(StreamEnd& task);
  void do_task(CommitStep& task);
  void do_task(SealNow& task);
  void do_task(LastNote& task);
  void commit(Step& step);
  // An error ends writing; want of room costs the steps that have gathered.
  void settle(std::exception_ptr error, Tasks& gathered) noexcept;
  void fail(std::exception_ptr error) noexcept;
  void lose_gathered(Tasks& gathered);
  void lose(Step& step) noexcept;
  void seal_if_due();
  bool can_measure() const { return step_ != nullptr && step_->measuring.has_work(); }

  Store& store_;
  ChunkPool& pool_;
  std::atomic<std::int64_t>& committed_step_;  // outlives the writer
  SegmentWriter segments_;                     // the thread's own, as what follows

  struct Stream {
    std::int64_t step;
    Record* value;
    std::uint32_t crc = 0;
    std::optional<StatisticsAccumulator> statistics;
  };
  std::shared_ptr<Step> step_;  // whose values may be measured
  std::optional<Stream> stream_;
  bool warned_of_replacing_ = false;
  std::optional<std::int64_t> values_of_;  // the step that has values written and is not committed
  std::optional<std::int64_t> lost_step_;  // of which nothing more is written
  Tasks behind_stream_;           // batches that must not come between a streamed value's pieces
  WriterProgress next_progress_;  // with the next flush
  bool segments_intact_ = true;   // what the segment writer holds is as it was before the task

  mutable Mutex mutex_;
  ConditionVariable work_;
  ConditionVariable done_;
  Tasks tasks_ CUPEL_GUARDED_BY(mutex_);
  bool busy_ CUPEL_GUARDED_BY(mutex_) = false;
  bool stopping_ CUPEL_GUARDED_BY(mutex_) = false;
  WriterProgress progress_ CUPEL_GUARDED_BY(mutex_);

  std::atomic<std::size_t> unannounced_values_{0}, unannounced_bytes_{0};
  std::atomic<std::size_t> records_waiting_{0};
  std::atomic<std::uint64_t> commits_done_{0};  // progress_.commits, without the mutex
  std::atomic<bool> failed_{false};
  std::atomic<bool> halted_{false}, performing_{false};
  std::jthread thread_;
};

}  // namespace cupel::writer_detail
