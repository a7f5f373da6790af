#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "chunk_pool.h"
#include "cupel/core/dtype.h"
#include "cupel/stats/statistics.h"
#include "cupel/store/store.h"
#include "segment_writer.h"
#include "step_record.h"

namespace cupel {

// Work for the background writer, done in the order in which it was handed over.
struct ValueCopied {  // its bytes are there: checksum, counts, reductions
  Record* value;
};
struct ChunkFull {  // no value will be added: write the batch
  std::int64_t step;
  Chunk* chunk;
};
struct StreamBegin {
  std::int64_t step;
  Record* value;
};
struct StreamPiece {
  Chunk* chunk;
};
struct StreamEnd {};
struct CommitStep {
  std::unique_ptr<Step> step;
  std::optional<std::vector<std::byte>> collections_file;  // to be put before the step exists
};
struct SealNow {};
using Task =
    std::variant<ValueCopied, ChunkFull, StreamBegin, StreamPiece, StreamEnd, CommitStep, SealNow>;

// How far the background writer has come; read from any thread.
struct WriterProgress {
  std::uint64_t commits = 0;  // CommitStep tasks that are done, successfully or not
  std::int64_t committed_step = -1;
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::uint64_t value_bytes = 0;
  std::exception_ptr error;  // what ended writing; null while it works
};

// The one thread that computes checksums and statistics of saved values, writes them, commits steps
// and seals segments. Chunks go back to the pool also after an error, so that whoever waits for one
// goes on.
class BackgroundWriter {
 public:
  BackgroundWriter(Store& store, SegmentPolicy policy, ChunkPool& pool,
                   std::atomic<std::int64_t>& committed_step);
  ~BackgroundWriter();  // finishes what was handed over, without sealing

  // Tasks that can wait for company do not wake the thread.
  enum class Wake { Now, WhenWorthIt };
  void hand_over(Task task, Wake wake = Wake::Now);

  // Waits until `commits` CommitStep tasks are done; false when the time is over first.
  bool wait_for_commits(std::uint64_t commits, std::chrono::milliseconds at_most);
  void wait_until_idle();

  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  WriterProgress progress() const;

 private:
  void run();
  void perform(Task& task);
  void do_task(ValueCopied& task);
  void do_task(ChunkFull& task);
  void do_task(StreamBegin& task);
  void do_task(StreamPiece& task);
  void do_task(StreamEnd& task);
  void do_task(CommitStep& task);
  void do_task(SealNow& task);
  void write_chunk(const ChunkFull& task);
  void fail(std::exception_ptr error);
  void seal_if_due();

  Store& store_;
  ChunkPool& pool_;
  std::atomic<std::int64_t>& committed_step_;  // outlives the writer
  SegmentWriter segments_;                     // the thread's own, as the stream's state

  struct Stream {
    Record* value;
    std::uint32_t crc = 0;
    std::optional<StatisticsAccumulator> statistics;
  };
  std::optional<Stream> stream_;
  bool warned_of_replacing_ = false;
  std::vector<ChunkFull>
      behind_stream_;  // batches that must not come between a streamed value's pieces

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Task> tasks_;
  std::size_t unannounced_ = 0;
  bool busy_ = false;
  bool stopping_ = false;
  WriterProgress progress_;

  std::atomic<bool> failed_{false};
  std::jthread thread_;
};

}  // namespace cupel
