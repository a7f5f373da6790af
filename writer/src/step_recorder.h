#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "background_writer.h"
#include "chunk_pool.h"
#include "cupel/core/tensor_view.h"
#include "save_plan.h"
#include "step_record.h"

namespace cupel {

// Takes what is saved at one step from the training threads, which it lets go as soon as the bytes
// are copied, and hands it to the background writer. save() may be called from several threads, the
// rest may not.
class StepRecorder {
 public:
  StepRecorder(BackgroundWriter& writer, ChunkPool& pool) : writer_(writer), pool_(pool) {}

  void begin(const StepHeader& header);
  bool has_step() const noexcept { return step_ != nullptr; }
  bool has_records() const noexcept { return !step_->records.empty(); }
  const StepHeader& header() const noexcept { return step_->header; }

  // Saves a tensor; the view is a valid one.
  void save(const NamedTensor& tensor, const TensorView& view, const SaveDecision& what);

  // Ends the step and hands it over; false if nothing was saved in it.
  bool end(std::optional<std::vector<std::byte>> collections_file);

 private:
  Record& new_record(const NamedTensor& tensor, const TensorView& view, const SaveDecision& what);
  void save_in_chunk(Record& record, const TensorView& view);
  Chunk* reserve(Record& record);  // room in a chunk, which is then being copied to
  void save_streamed(Record& record, const TensorView& view);
  void hand_over_when_copied(Chunk* chunk);

  BackgroundWriter& writer_;
  ChunkPool& pool_;
  std::mutex mutex_;         // step, chunk
  std::mutex stream_mutex_;  // one streamed value at a time
  std::unique_ptr<Step> step_;
  Chunk* chunk_ = nullptr;
};

}  // namespace cupel
