#pragma once

#include <cstddef>
#include <exception>
#include <vector>

#include "cupel/core/mutex.h"

namespace cupel::writer_detail {

class ChunkPool;
struct Record;

// Values of one step whose bytes are in memory, but whose checksum, counts and reductions are not
// known yet. Training threads add them; a thread that has time measures them: the background
// writer, and a training thread that would otherwise only wait for it. A value that was measured
// lets its chunk go.
class Measuring {
 public:
  explicit Measuring(ChunkPool& pool) : pool_(pool) {}

  // Makes room for one more value, so that add() cannot fail.
  void expect_one();
  void add(Record& value) noexcept;

  bool has_work() const noexcept;
  // Measures some of what is there; false when there was nothing.
  bool measure_some() noexcept;
  // Measures what is left, and waits for those who are at it; nothing is added any more. Throws
  // what went wrong with any value.
  void finish();

 private:
  void done_with(std::size_t count, std::exception_ptr error) noexcept;

  ChunkPool& pool_;
  mutable Mutex mutex_;
  ConditionVariable all_done_;
  std::size_t expected_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::vector<Record*> values_ CUPEL_GUARDED_BY(mutex_);
  std::size_t taken_ CUPEL_GUARDED_BY(mutex_) = 0;  // of values_, from the front
  std::size_t done_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::exception_ptr error_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel::writer_detail
