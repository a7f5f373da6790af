#include "index_walk.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "cupel/format/format_limits.h"

namespace cupel::trial_detail {

namespace {

// Longer files are read in pieces: a length in a directory entry alone never makes us ask for
// memory. What follows the last message must come in one piece with it, so the last piece may be
// longer by a quarter.
constexpr std::uint64_t kPiece = std::uint64_t{16} << 20U;
constexpr std::uint64_t kLongestLastPiece = kPiece + kPiece / 4;

// To map memory takes longer than to read and check what comes into it. A sealed batch is smaller
// than this unless a step is large.
constexpr std::uint64_t kPieceToDrop = std::uint64_t{4} << 20U;

// A thread costs as much as reading a hundredth of this.
constexpr std::uint64_t kWorthAThread = std::uint64_t{2} << 20U;

constexpr std::size_t kMaxAhead = 4;  // batches

/// A few batches on their way from the thread that reads to the one that takes.
class BatchesAhead {
 public:
  struct NobodyTakes {};

  /// Waits for room; throws NobodyTakes when no more are wanted.
  void push(const IndexBatch& batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() < kMaxAhead || given_up_; });
    if (given_up_) throw NobodyTakes();
    batches_.push_back(batch);
    changed_.notify_all();
  }
  /// The next one; nothing when there will be none.
  std::optional<IndexBatch> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !batches_.empty() || finished_; });
    if (batches_.empty()) return std::nullopt;
    std::optional<IndexBatch> batch(std::move(batches_.front()));
    batches_.pop_front();
    changed_.notify_all();
    return batch;
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }
  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<IndexBatch> batches_;  // guarded by mutex_, as is all that follows
  bool finished_ = false, given_up_ = false;
};

}  // namespace

/// Memory for pieces of files. Pages are mapped and cleared when they are first used, which takes
/// as long as reading does; so what one piece was in is used again for the next. Any thread.
class IndexWalker::PieceMemory : public std::enable_shared_from_this<PieceMemory> {
 public:
  /// Memory of `length` bytes; it comes back here when nobody holds it any more.
  std::shared_ptr<AlignedBuffer> take(std::uint64_t length) {
    const auto size = static_cast<std::size_t>(length);
    if (size < kWorthAThread || size > kLongestLastPiece)
      return std::make_shared<AlignedBuffer>(size);
    std::unique_ptr<AlignedBuffer> buffer = kept();
    if (!buffer) buffer = std::make_unique<AlignedBuffer>(kLongestLastPiece);
    buffer->resize(size);
    const auto put_back = [home = shared_from_this()](AlignedBuffer* used) {
      std::unique_ptr<AlignedBuffer> owned(used);
      const std::lock_guard lock(home->mutex_);
      if (home->kept_.size() < home->kept_.capacity()) home->kept_.push_back(std::move(owned));
    };
    return {buffer.release(), put_back};
  }

 private:
  static constexpr std::size_t kMostKept = 4;
  std::unique_ptr<AlignedBuffer> kept() {
    const std::lock_guard lock(mutex_);
    kept_.reserve(kMostKept);  // so that putting back never fails
    if (kept_.empty()) return nullptr;
    std::unique_ptr<AlignedBuffer> buffer = std::move(kept_.back());
    kept_.pop_back();
    return buffer;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<AlignedBuffer>> kept_;  // guarded by mutex_
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
  ahead_.reset();
}

void IndexWalker::will_walk(std::vector<ObjectInfo> files) {
  if (store_.can_append()) {
    for (ObjectInfo& info : files) next_.push_back(std::move(info.key));
  } else {
    std::erase_if(files, [](const ObjectInfo& info) { return info.size > kLongestLastPiece; });
    ahead_.emplace(store_, files, requests_at_once_);
  }
}

void IndexWalker::have_next_ready(const std::string& key) {
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
  if (ahead_ && reader.consumed() == 0) {
    if (const std::shared_ptr<AlignedBuffer> whole = ahead_->take(key)) {
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
    // The piece ended inside a message; one that is larger than a piece needs a larger one.
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
  have_next_ready(key);
  if (size < reader.consumed() + kWorthAThread) return read_pieces(key, reader, size, take, kPiece);

  BatchesAhead ahead;
  WalkEnd walk;
  std::exception_ptr failure;
  const auto read = [&] {
    try {
      walk = read_pieces(
          key, reader, size, [&](const IndexBatch& batch) { ahead.push(batch); }, kPiece);
    } catch (...) {
      failure = std::current_exception();
    }
    ahead.finish();
  };
  std::jthread thread;
  try {
    thread = std::jthread(read);
  } catch (const std::system_error&) {  // of a process that may have no more threads
    return read_pieces(key, reader, size, take, kPiece);
  }
  try {
    while (const std::optional<IndexBatch> batch = ahead.pop()) take(*batch);
  } catch (...) {
    ahead.give_up();
    throw;  // when the thread has ended
  }
  thread.join();
  if (failure) std::rethrow_exception(failure);
  return walk;
}

}  // namespace cupel::trial_detail
