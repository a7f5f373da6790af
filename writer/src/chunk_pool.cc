#include "chunk_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace cupel {
namespace {

constexpr std::size_t kChunksWanted = 16;
constexpr std::size_t kSmallestChunk = 64U << 10U;
constexpr std::size_t kPrefaultStep = 64U << 10U;

}  // namespace

PrefaultedMemory::PrefaultedMemory(std::size_t size) : size_(size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(memory);
}

PrefaultedMemory::~PrefaultedMemory() { ::munmap(data_, size_); }

void PrefaultedMemory::prefault(std::size_t bytes) noexcept {
  if (bytes <= prefaulted_) return;
  const std::size_t end =
      std::min(size_, (bytes + kPrefaultStep - 1) / kPrefaultStep * kPrefaultStep);
#ifdef MADV_POPULATE_WRITE
  // Where the kernel does not know it, the pages come one by one when they are written to.
  static_cast<void>(::madvise(data_ + prefaulted_, end - prefaulted_, MADV_POPULATE_WRITE));
#endif
  prefaulted_ = end;
}

ChunkPool::ChunkPool(std::size_t bytes, std::size_t largest_chunk)
    : chunk_bytes_(
          std::clamp(std::bit_floor(bytes / kChunksWanted), kSmallestChunk, largest_chunk)),
      most_(std::max(bytes / chunk_bytes_, kLeast)) {}

Chunk* ChunkPool::take(For purpose) {
  const std::size_t keep = purpose == For::Values ? kForStreams : 0;
  std::unique_lock lock(mutex_);
  given_back_.wait(lock, [&] { return free_.size() + (most_ - chunks_.size()) > keep; });
  if (free_.empty()) return &chunks_.emplace_back(chunk_bytes_);
  Chunk* chunk = free_.back();
  free_.pop_back();
  return chunk;
}

void ChunkPool::give_back(Chunk* chunk) {
  chunk->used = 0;
  chunk->values.clear();
  chunk->being_copied = 0;
  chunk->full = false;
  const std::lock_guard lock(mutex_);
  free_.push_back(chunk);
  given_back_.notify_all();
}

}  // namespace cupel
