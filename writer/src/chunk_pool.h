#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace cupel {

// Page-aligned memory whose pages are made before anybody writes to them, many at once, and only as
// far as they are needed: small steps cost few pages.
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
  std::byte* data_;
  std::size_t size_;
  std::size_t prefaulted_ = 0;
};

struct Record;

// Values on their way to the events file, one after another. Belongs to whoever took it from the
// pool.
struct Chunk {
  explicit Chunk(std::size_t size) : memory(size) {}
  PrefaultedMemory memory;
  std::size_t used = 0;
  std::vector<Record*> values;  // in the order of their bytes
  int being_copied = 0;         // values that have room here but not yet their bytes
  bool full = false;            // nobody will ask for room any more
};

// A bounded number of equal chunks, made when first needed and then reused.
class ChunkPool {
 public:
  // At least kLeast chunks; the memory is asked for as the chunks are needed.
  ChunkPool(std::size_t bytes, std::size_t largest_chunk);

  enum class For { Values, Stream };
  // An empty chunk; waits while all are in use. The last kForStreams are kept for streamed values,
  // whose writing must go on when everything else waits for it.
  Chunk* take(For purpose);
  void give_back(Chunk* chunk);

  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }

 private:
  static constexpr std::size_t kLeast = 4;
  static constexpr std::size_t kForStreams = 2;
  std::size_t chunk_bytes_;
  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::deque<Chunk> chunks_;
  std::vector<Chunk*> free_;
};

}  // namespace cupel
