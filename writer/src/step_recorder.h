#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "background_writer.h"
#include "chunk_pool.h"
#include "cupel/core/mutex.h"
#include "cupel/core/tensor_view.h"
#include "save_plan.h"
#include "step_record.h"

namespace cupel::writer_detail {

// Takes what is saved at one step from the training threads, which it lets go as soon as the bytes
// are copied, and hands it to the background writer. save() may be called from several threads, the
// rest may not.
class StepRecorder {
 public:
  StepRecorder(BackgroundWriter& writer, ChunkPool& pool) : writer_(writer), pool_(pool) {}

  // What is saved from now on belongs to this step. Without room it is dropped from the start.
  void begin(const StepHeader& header, WhenFull when_full, bool has_room);
  bool has_records() const noexcept CUPEL_UNCHECKED_LOCKS { return step_ != nullptr; }
  std::int64_t step() const noexcept { return header_.step; }

  // Saves a tensor; the view is a valid one.
  void save(const NamedTensor& tensor, const TensorView& view, const SaveDecision& what);

  // Whether a value of so many bytes would be saved without waiting; between saves.
  bool has_room_for(std::uint64_t bytes);

  // Gives up the step: nothing of it will be in the run, what is still saved is ignored.
  void drop();
  bool dropped() const noexcept CUPEL_UNCHECKED_LOCKS { return step_ != nullptr && step_->dropped; }

  // Ends the step and hands it over, also if it was dropped; null if nothing was saved in it.
  std::shared_ptr<Step> end();

 private:
  Record* new_record(const NamedTensor& tensor, const TensorView& view, const SaveDecision& what);
  // Once a record is made, step_ stays until the step ends.
  void ready(Record& record) CUPEL_UNCHECKED_LOCKS;
  void save_in_chunk(Record& record, const TensorView& view);
  Chunk* reserve(Record& record);  // room in a chunk, which is then being copied to; null: dropped
  Chunk* take(ChunkPool::For purpose);
  void save_streamed(Record& record, const TensorView& view);
  void copied(Chunk* chunk);
  void finish(Chunk* chunk) CUPEL_REQUIRES(mutex_);          // no value will be added
  void hand_over_rest(Chunk* chunk) CUPEL_REQUIRES(mutex_);  // as a batch
  template <class ChunkTask>
  void hand_over(ChunkTask task);  // its chunk goes back to the pool if that fails

  BackgroundWriter& writer_;
  ChunkPool& pool_;
  WhenFull when_full_ = WhenFull::Block;
  bool has_room_ = true;
  StepHeader header_;
  // Training threads share the following while they save; between saves only one thread is here.
  Mutex mutex_;
  std::shared_ptr<Step> step_ CUPEL_GUARDED_BY(mutex_);  // null until something is saved
  Chunk* chunk_ CUPEL_GUARDED_BY(mutex_) = nullptr;
  Mutex stream_mutex_;  // one streamed value at a time
};

}  // namespace cupel::writer_detail
