#include "step_recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cupel/stats/statistics.h"
#include "value_bytes.h"

namespace cupel {
namespace {

// One pass over the pieces of a streamed value does not yield these.
ReductionSet whole_value_only(ReductionSet wanted) {
  ReductionSet rest;
  wanted.for_each([&](Reduction reduction) {
    if (reduction.op == ReductionOp::Prod || reduction.op == ReductionOp::Median)
      rest.add(reduction);
  });
  return rest;
}

}  // namespace

void StepRecorder::begin(const StepHeader& header) {
  step_ = std::make_unique<Step>();
  step_->header = header;
}

Record& StepRecorder::new_record(const NamedTensor& tensor, const TensorView& view,
                                 const SaveDecision& what) {
  const std::lock_guard lock(mutex_);
  Record& record = step_->records.emplace_back();
  record.tensor = &tensor;
  record.dtype = view.dtype();
  record.shape = view.shape();
  record.with_shape = what.shape || what.raw;
  record.elements = view.elements();
  return record;
}

void StepRecorder::save(const NamedTensor& tensor, const TensorView& view,
                        const SaveDecision& what) {
  Record& record = new_record(tensor, view, what);
  const ReductionSet reductions = view.dtype() == DType::Utf8 ? ReductionSet{} : what.reductions;
  if (!what.raw) {
    if (reductions.empty()) return;
    const Statistics statistics = compute_statistics(view);
    if (is_floating(view.dtype())) record.counts = statistics.counts;
    record.reductions = compute_reductions(view, reductions, &statistics);
    return;
  }
  record.wanted = reductions;
  const std::uint64_t length = value_length(view);
  if (length <= kMaxInlineBytes) {
    record.inline_length = static_cast<std::uint8_t>(length);
    write_value(view, record.inline_bytes.data());
    writer_.hand_over(ValueCopied{&record}, BackgroundWriter::Wake::WhenWorthIt);
    return;
  }
  record.location = ValueLocation{0, length, 0};
  if (length <= pool_.chunk_bytes()) {
    save_in_chunk(record, view);
  } else {
    save_streamed(record, view);
  }
}

void StepRecorder::save_in_chunk(Record& record, const TensorView& view) {
  Chunk* chunk = reserve(record);
  write_value(view, const_cast<std::byte*>(record.bytes));
  writer_.hand_over(ValueCopied{&record}, BackgroundWriter::Wake::WhenWorthIt);
  const std::lock_guard lock(mutex_);
  --chunk->being_copied;
  if (chunk->full) hand_over_when_copied(chunk);
}

// Waits for a chunk without the mutex: those who finish copying need it to let theirs go.
Chunk* StepRecorder::reserve(Record& record) {
  const auto length = static_cast<std::size_t>(record.location->length);
  std::unique_lock lock(mutex_);
  while (chunk_ == nullptr || pool_.chunk_bytes() - chunk_->used < length) {
    if (chunk_ != nullptr) {
      chunk_->full = true;
      hand_over_when_copied(std::exchange(chunk_, nullptr));
    }
    lock.unlock();
    Chunk* fresh = pool_.take(ChunkPool::For::Values);
    lock.lock();
    if (chunk_ == nullptr) {
      chunk_ = fresh;
    } else {
      pool_.give_back(fresh);
    }
  }
  record.bytes = chunk_->memory.data() + chunk_->used;
  chunk_->used += length;
  chunk_->memory.prefault(chunk_->used);
  chunk_->values.push_back(&record);
  ++chunk_->being_copied;
  return chunk_;
}

void StepRecorder::hand_over_when_copied(Chunk* chunk) {
  if (chunk->being_copied == 0) writer_.hand_over(ChunkFull{step_->header.step, chunk});
}

void StepRecorder::save_streamed(Record& record, const TensorView& view) {
  const auto length = static_cast<std::size_t>(record.location->length);
  if (const ReductionSet whole = whole_value_only(record.wanted); !whole.empty()) {
    record.reductions = compute_reductions(view, whole);
  }
  // Only row-major bytes can be cut into pieces where they are.
  std::unique_ptr<std::byte[]> copy;
  const auto* bytes = static_cast<const std::byte*>(view.data());
  if (view.dtype() == DType::Utf8 || !view.is_contiguous()) {
    copy = std::make_unique_for_overwrite<std::byte[]>(length);
    write_value(view, copy.get());
    bytes = copy.get();
  }
  const std::lock_guard lock(stream_mutex_);
  writer_.hand_over(StreamBegin{step_->header.step, &record});
  for (std::size_t begin = 0; begin < length;) {
    Chunk* chunk = pool_.take(ChunkPool::For::Stream);
    chunk->used = std::min(pool_.chunk_bytes(), length - begin);
    chunk->memory.prefault(chunk->used);
    std::memcpy(chunk->memory.data(), bytes + begin, chunk->used);
    begin += chunk->used;
    writer_.hand_over(StreamPiece{chunk});
  }
  writer_.hand_over(StreamEnd{});
}

bool StepRecorder::end(std::optional<std::vector<std::byte>> collections_file) {
  if (chunk_ != nullptr) hand_over_when_copied(std::exchange(chunk_, nullptr));
  if (step_->records.empty()) {
    step_.reset();
    return false;
  }
  writer_.hand_over(CommitStep{std::move(step_), std::move(collections_file)});
  return true;
}

}  // namespace cupel
