// Reading index files piece by piece.
//
// A long file is read and checked by a second thread while the calling thread, the refreshing one,
// takes the batches before it; a queue of a few batches connects the two. Where every request
// costs, the next files are requested in advance (ObjectPrefetch); elsewhere the store is asked to
// read them ahead.
//
// An exception of the second thread is thrown by the calling thread after the batches before it.
// An exception of the caller ends the second thread first.

#include "index_walk.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "cupel/core/mutex.h"
#include "cupel/format/format_limits.h"

namespace cupel::trial_detail {

namespace {

// Longer files are read in pieces, so that the length in a directory entry alone never decides how
// much memory is allocated. The last message and the bytes behind it must be in one piece, so the
// last piece may be longer by a quarter.
constexpr std::uint64_t kPiece = std::uint64_t{16} << 20U;
constexpr std::uint64_t kLongestLastPiece = kPiece + kPiece / 4;

// Mapping memory takes longer than reading and checking its contents. A sealed batch is smaller
// than this unless a step is large.
constexpr std::uint64_t kPieceToDrop = std::uint64_t{4} << 20U;

// Starting a thread takes as long as reading a hundredth of this.
constexpr std::uint64_t kWorthAThread = std::uint64_t{2} << 20U;

constexpr std::size_t kMaxQueued = 4;  // batches

/// A bounded queue of batches from the thread that reads to the thread that takes.
class BatchQueue {
 public:
  struct Closed {};

  /// Waits for room; throws Closed after close().
  void push(const IndexBatch& batch) {
    MutexLock lock(mutex_);
    changed_.wait(lock,
                  [&]() CUPEL_REQUIRES(mutex_) { return batches_.size() < kMaxQueued || closed_; });
    if (closed_) throw Closed();
    batches_.push_back(batch);
    changed_.notify_all();
  }
  /// Waits for the next batch; nothing after finish() when the queue is empty.
  std::optional<IndexBatch> pop() {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() CUPEL_REQUIRES(mutex_) { return !batches_.empty() || finished_; });
    if (batches_.empty()) return std::nullopt;
    std::optional<IndexBatch> batch(std::move(batches_.front()));
    batches_.pop_front();
    changed_.notify_all();
    return batch;
  }
  /// No more batches come.
  void finish() {
    const MutexLock lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }
  /// Ends push(): the batches are not wanted any more.
  void close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<IndexBatch> batches_ CUPEL_GUARDED_BY(mutex_);
  bool finished_ CUPEL_GUARDED_BY(mutex_) = false;
  bool closed_ CUPEL_GUARDED_BY(mutex_) = false;
};

}  // namespace

/// Memory for pieces of files. The first use of a page takes as long as reading its contents, so
/// the memory of one piece is used again for the next. Any thread.
class IndexWalker::PieceMemory : public std::enable_shared_from_this<PieceMemory> {
 public:
  /// Memory of `length` bytes, which returns here when its last owner releases it.
  std::shared_ptr<AlignedBuffer> take(std::uint64_t length) {
    const auto size = static_cast<std::size_t>(length);
    if (size < kWorthAThread || size > kLongestLastPiece)
      return std::make_shared<AlignedBuffer>(size);
    std::unique_ptr<AlignedBuffer> buffer = kept();
    if (!buffer) buffer = std::make_unique<AlignedBuffer>(kLongestLastPiece);
    buffer->resize(size);
    const auto put_back = [home = shared_from_this()](AlignedBuffer* used) {
      std::unique_ptr<AlignedBuffer> owned(used);
      const MutexLock lock(home->mutex_);
      if (home->kept_.size() < home->kept_.capacity()) home->kept_.push_back(std::move(owned));
    };
    return {buffer.release(), put_back};
  }

 private:
  static constexpr std::size_t kMostKept = 4;
  std::unique_ptr<AlignedBuffer> kept() {
    const MutexLock lock(mutex_);
    kept_.reserve(kMostKept);  // Returning memory must not throw.
    if (kept_.empty()) return nullptr;
    std::unique_ptr<AlignedBuffer> buffer = std::move(kept_.back());
    kept_.pop_back();
    return buffer;
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<AlignedBuffer>> kept_ CUPEL_GUARDED_BY(mutex_);
};

FormatError not_sealed(const std::string& key, const IndexReader* reader, SegmentEnd end) {
  const bool is_torn = end == SegmentEnd::Torn && reader != nullptr;
  return FormatError(
      key, reader != nullptr ? reader->consumed() : 0,
      is_torn ? reader->torn_reason() : "the segment is not sealed, though nothing more can come");
}

IndexWalker::IndexWalker(const Store& store, std::size_t requests_at_once)
    : store_(store), requests_at_once_(requests_at_once) {
  rest();
}

void IndexWalker::rest() {
  memory_ = std::make_shared<PieceMemory>();
  next_.clear();
  prefetch_.reset();
}

void IndexWalker::will_walk(std::vector<ObjectInfo> files) {
  if (store_.can_append()) {
    for (ObjectInfo& info : files) next_.push_back(std::move(info.key));
  } else {
    std::erase_if(files, [](const ObjectInfo& info) { return info.size > kLongestLastPiece; });
    prefetch_.emplace(store_, files, requests_at_once_);
  }
}

void IndexWalker::announce_next(const std::string& key) {
  const auto here = std::ranges::find(next_, key);
  if (here == next_.end()) return;
  next_.erase(next_.begin(), std::next(here));
  if (!next_.empty()) store_.will_read(next_.front(), 0, 2 * kPiece);
}

WalkEnd IndexWalker::read_pieces(const std::string& key, IndexReader& reader, std::uint64_t size,
                                 const Take& take, std::uint64_t piece) {
  WalkEnd walk;
  const std::uint64_t most = format_limits().index_message;
  piece = std::min(piece, most);
  if (prefetch_ && reader.consumed() == 0) {
    if (const std::shared_ptr<AlignedBuffer> whole = prefetch_->take(key)) {
      walk.came_short = whole->size() < size;
      walk.end = reader.read(whole, take);
      return walk;
    }
  }
  for (;;) {
    const std::uint64_t from = reader.consumed();
    if (size < from) {
      walk.came_short = true;
      return walk;
    }
    const std::uint64_t length = size - from <= piece + piece / 4 ? size - from : piece;
    const std::shared_ptr<AlignedBuffer> buffer = memory_->take(length);
    if (from + length < size) store_.will_read(key, from + length, 2 * kPiece);
    const std::size_t got = store_.get_range(key, from, buffer->span());
    buffer->resize(got);
    walk.came_short = got < length;
    walk.end = reader.read(buffer, take);
    if (walk.came_short || from + length >= size) return walk;
    // The piece ended inside a message. A message that is larger than a piece needs a larger piece.
    if (reader.consumed() != from) continue;
    if (piece >= most) throw FormatError(key, from, "a message is too long");
    piece = std::min(2 * piece, most);
  }
}

WalkEnd IndexWalker::walk_again(const std::string& key, IndexReader& reader, std::uint64_t size,
                                const Take& take) {
  return read_pieces(key, reader, size, take, kPieceToDrop);
}

WalkEnd IndexWalker::walk(const std::string& key, IndexReader& reader, std::uint64_t size,
                          const Take& take) {
  announce_next(key);
  if (size < reader.consumed() + kWorthAThread) return read_pieces(key, reader, size, take, kPiece);

  BatchQueue queue;
  WalkEnd walk;
  std::exception_ptr failure;
  const auto read = [&] {
    try {
      walk = read_pieces(
          key, reader, size, [&](const IndexBatch& batch) { queue.push(batch); }, kPiece);
    } catch (...) {
      failure = std::current_exception();
    }
    queue.finish();
  };
  std::jthread thread;
  try {
    thread = std::jthread(read);
  } catch (const std::system_error&) {  // The process may have no more threads.
    return read_pieces(key, reader, size, take, kPiece);
  }
  try {
    while (const std::optional<IndexBatch> batch = queue.pop()) take(*batch);
  } catch (...) {
    queue.close();
    throw;  // The thread is joined first.
  }
  thread.join();
  if (failure) std::rethrow_exception(failure);
  return walk;
}

}  // namespace cupel::trial_detail
