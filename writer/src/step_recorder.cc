// What a save does on the training thread. A value of up to 64 bytes is copied into its record. A
// larger one gets room in the current chunk under the mutex and is copied without it, so that
// several threads copy at once; the thread that copies last hands the chunk on. A value that is
// larger than a chunk is cut into pieces, one value at a time. Where no chunk is free the thread
// waits, or the step is dropped (WhenFull). Whatever fails, each chunk goes back to the pool and
// each stream ends.

#include "step_recorder.h"

#include <algorithm>
#include <new>
#include <utility>

#include "copy_past_caches.h"
#include "cupel/core/mutex.h"
#include "cupel/stats/statistics.h"
#include "value_bytes.h"

namespace cupel::writer_detail {
namespace {

constexpr std::size_t kBatchBytes = 256U << 10U;

}  // namespace

void StepRecorder::begin(const StepHeader& header, WhenFull when_full, bool has_room) {
  header_ = header;
  when_full_ = when_full;
  has_room_ = has_room;
}

Record* StepRecorder::new_record(const NamedTensor& tensor, const TensorView& view,
                                 const SaveDecision& what) {
  const MutexLock lock(mutex_);
  if (step_ == nullptr) {
    auto step = std::make_shared<Step>(header_, pool_);
    step->dropped = !has_room_;
    writer_.hand_over(StepBegun{step});
    step_ = std::move(step);
  }
  if (step_->dropped) return nullptr;
  step_->measuring.expect_one();
  Record& record = step_->records.emplace_back();
  record.tensor = &tensor;
  record.dtype = view.dtype();
  record.shape = view.shape();
  record.with_shape = what.shape || what.raw;
  record.elements = view.elements();
  return &record;
}

void StepRecorder::save(const NamedTensor& tensor, const TensorView& view,
                        const SaveDecision& what) {
  const ReductionSet reductions = view.dtype() == DType::Utf8 ? ReductionSet{} : what.reductions;
  if (!what.raw && !what.shape && reductions.empty()) return;  // strings have no reductions
  Record* const record = new_record(tensor, view, what);
  if (record == nullptr) return;
  if (!what.raw) {
    if (reductions.empty()) return;
    const Statistics statistics = compute_statistics(view);
    if (is_floating(view.dtype())) record->counts = statistics.counts;
    record->reductions = compute_reductions(view, reductions, &statistics);
    return;
  }
  record->wanted = reductions;
  const std::uint64_t length = value_length(view);
  if (length <= kMaxInlineBytes) {
    write_value(view, record->inline_bytes.data());
    record->inline_length = static_cast<std::uint8_t>(length);
    ready(*record);
    return;
  }
  record->location = ValueLocation{0, length, 0};
  if (length <= pool_.chunk_bytes()) {
    save_in_chunk(*record, view);
  } else {
    save_streamed(*record, view);
  }
}

void StepRecorder::ready(Record& record) {
  step_->measuring.add(record);
  writer_.values_ready(record.value().size());
}

void StepRecorder::save_in_chunk(Record& record, const TensorView& view) {
  Chunk* chunk = reserve(record);
  if (chunk == nullptr) return;
  write_value(view, const_cast<std::byte*>(record.bytes));
  ready(record);
  copied(chunk);
}

// A chunk is written while it fills: the writer need not wait for its end.
void StepRecorder::copied(Chunk* chunk) {
  const MutexLock lock(mutex_);
  --chunk->being_copied;
  if (chunk->full) {
    finish(chunk);
  } else if (chunk->being_copied == 0 && chunk->used - chunk->handed_over >= kBatchBytes) {
    hand_over_rest(chunk);
  }
}

Chunk* StepRecorder::take(ChunkPool::For purpose) {
  return when_full_ == WhenFull::Block ? pool_.take(purpose) : pool_.try_take(purpose);
}

// Waits for a chunk without the mutex: those who finish copying need it to let theirs go.
Chunk* StepRecorder::reserve(Record& record) {
  const auto length = static_cast<std::size_t>(record.location->length);
  MutexLock lock(mutex_);
  if (chunk_ != nullptr) chunk_->reuse();
  while (chunk_ == nullptr || pool_.chunk_bytes() - chunk_->used < length) {
    if (chunk_ != nullptr) finish(std::exchange(chunk_, nullptr));
    lock.unlock();
    Chunk* fresh = take(ChunkPool::For::Values);
    lock.lock();
    if (fresh == nullptr) step_->dropped = true;
    if (step_->dropped) {
      if (fresh != nullptr) pool_.release(fresh);
      return nullptr;
    }
    if (chunk_ == nullptr) {
      chunk_ = fresh;
    } else {
      pool_.release(fresh);
    }
  }
  chunk_->values.push_back(&record);
  record.bytes = chunk_->memory.data() + chunk_->used;
  record.chunk = chunk_;
  chunk_->used += length;
  chunk_->memory.prefault(chunk_->used);
  ++chunk_->being_copied;
  ++chunk_->holders;
  return chunk_;
}

void StepRecorder::finish(Chunk* chunk) {
  chunk->full = true;
  if (chunk->being_copied > 0) return;
  struct LetGo {
    ChunkPool& pool;
    Chunk* chunk;
    ~LetGo() { pool.release(chunk); }
  } let_go{pool_, chunk};
  if (chunk->used > chunk->handed_over) hand_over_rest(chunk);
}

void StepRecorder::hand_over_rest(Chunk* chunk) {
  WriteBatch batch{
      header_.step,
      chunk,
      std::span<const std::byte>(chunk->memory.data(), chunk->used).subspan(chunk->handed_over),
      {}};
  batch.values.swap(chunk->values);
  chunk->handed_over = chunk->used;
  ++chunk->holders;
  hand_over(std::move(batch));
}

template <class ChunkTask>
void StepRecorder::hand_over(ChunkTask task) {
  Chunk* const chunk = task.chunk;
  try {
    writer_.hand_over(std::move(task));
  } catch (...) {  // somebody may be waiting for a chunk
    pool_.release(chunk);
    throw;
  }
}

void StepRecorder::save_streamed(Record& record, const TensorView& view) {
  const auto length = static_cast<std::size_t>(record.location->length);
  if (const ReductionSet whole = beyond_one_pass(record.wanted); !whole.empty()) {
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
  const MutexLock lock(stream_mutex_);
  // The stream is ended whatever happens: the writer waits for it with all other values.
  struct Ending {
    BackgroundWriter& writer;
    std::uint64_t missing;
    Tasks task;
    ~Ending() {
      if (auto* const end = std::get_if<StreamEnd>(&task.front())) end->missing = missing;
      writer.hand_over(std::move(task));
    }
  };
  Tasks end;
  end.push_back(StreamEnd{});
  writer_.hand_over(StreamBegin{header_.step, &record});
  Ending ending{writer_, length, std::move(end)};
  for (std::size_t begin = 0; begin < length;) {
    Chunk* chunk = take(ChunkPool::For::Stream);
    if (chunk == nullptr) return drop();
    chunk->used = std::min(pool_.chunk_bytes(), length - begin);
    chunk->memory.prefault(chunk->used);
    copy_past_caches(chunk->memory.data(), bytes + begin, chunk->used);
    begin += chunk->used;
    hand_over(StreamPiece{chunk});
    ending.missing = length - begin;
  }
}

bool StepRecorder::has_room_for(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes <= kMaxInlineBytes ||
      (chunk_ != nullptr && pool_.chunk_bytes() - chunk_->used >= bytes))
    return true;
  Chunk* const fresh = pool_.try_take(ChunkPool::For::Values);
  if (fresh != nullptr) pool_.release(fresh);
  return fresh != nullptr && bytes <= pool_.chunk_bytes();
}

void StepRecorder::drop() {
  const MutexLock lock(mutex_);
  if (step_ != nullptr) step_->dropped = true;
}

std::shared_ptr<Step> StepRecorder::end() {
  const MutexLock lock(mutex_);
  if (step_ == nullptr) return nullptr;
  if (chunk_ != nullptr && chunk_->used > chunk_->handed_over) hand_over_rest(chunk_);
  writer_.hand_over(CommitStep{step_});
  return std::exchange(step_, nullptr);
}

}  // namespace cupel::writer_detail
