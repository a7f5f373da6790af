#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "cupel/core/mutex.h"

namespace cupel::writer_detail {

// Page-aligned memory whose pages are made before anybody writes to them, many at once, and only as
// far as they are needed: small steps cost few pages. Large memory is in huge pages where the
// system has them to give.
class PrefaultedMemory {
 public:
  explicit PrefaultedMemory(std::size_t size);  // throws std::bad_alloc
  ~PrefaultedMemory();
  PrefaultedMemory(const PrefaultedMemory&) = delete;
  PrefaultedMemory& operator=(const PrefaultedMemory&) = delete;
  std::byte* data() const noexcept { return data_; }
  // Makes the pages of the first `bytes` bytes. One thread at a time.
  void prefault(std::size_t bytes) noexcept;

 private:
  std::size_t size_;
  std::byte* data_;
  std::size_t prefaulted_ = 0;
};

struct Record;

// Values on their way to the events file, one after another. Held by the thread that took it from
// the pool, by each batch of it that is to be written, and by each value that is to be measured.
struct Chunk {
  explicit Chunk(std::size_t size) : memory(size) {}
  PrefaultedMemory memory;
  std::size_t used = 0;
  std::size_t handed_over = 0;  // so many of these bytes belong to batches already
  std::vector<Record*> values;  // of the rest, in the order of their bytes
  int being_copied = 0;         // values that have room here but not yet their bytes
  bool full = false;            // nobody will ask for room any more
  std::atomic<int> holders{1};

  // Begins anew if nobody but its owner holds it: memory that was just used is in the caches.
  void reuse() noexcept {
    if (holders.load(std::memory_order_acquire) == 1 && used == handed_over) used = handed_over = 0;
  }
};

// A bounded number of equal chunks, made when first needed and then reused.
class ChunkPool {
 public:
  // At least kLeast chunks; the memory is asked for as the chunks are needed.
  ChunkPool(std::size_t bytes, std::size_t largest_chunk);

  enum class For { Values, Stream };
  // An empty chunk; waits while all are in use. The last kForStreams are kept for streamed values,
  // whose writing must go on when everything else waits for it; they are made before any value gets
  // a chunk, so that want of memory cannot take them away. Where the system has no memory for
  // another chunk, those that are there are all there will be; throws std::bad_alloc only if
  // waiting for one of them could be for ever.
  Chunk* take(For purpose);
  // The same without waiting; null when all are in use.
  Chunk* try_take(For purpose);
  // One holder less; the last one gives the chunk back.
  void release(Chunk* chunk) noexcept;

  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  // How long take() has waited, all threads together.
  std::chrono::nanoseconds waited() const noexcept { return std::chrono::nanoseconds(waited_ns_); }

 private:
  static constexpr std::size_t kForStreams = 2;
  // Of two for values one may be waiting to be filled; the other is on its way to be given back.
  static constexpr std::size_t kLeast = kForStreams + 2;
  static constexpr std::size_t kept_from(For purpose) noexcept {
    return purpose == For::Values ? kForStreams : 0;
  }
  bool has_one(For purpose) const noexcept CUPEL_REQUIRES(mutex_);
  // Null after running out of memory.
  Chunk* take_one(For purpose) CUPEL_REQUIRES(mutex_);

  std::size_t chunk_bytes_;
  Mutex mutex_;
  ConditionVariable given_back_;
  std::size_t most_ CUPEL_GUARDED_BY(mutex_);
  std::deque<Chunk> chunks_ CUPEL_GUARDED_BY(mutex_);
  std::vector<Chunk*> free_ CUPEL_GUARDED_BY(mutex_);  // has room for all
  std::atomic<std::int64_t> waited_ns_{0};
};

}  // namespace cupel::writer_detail
