// The memory of values that wait to be written: its size bounds how far training may run ahead of
// the store. Chunks are made when they are first needed and never given back to the system. Pages
// are touched many at once before values are copied into them, since a page fault costs more than
// copying the page. Where the system has no memory for another chunk, the pool stays as small as it
// is.

#include "chunk_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "cupel/core/log.h"
#include "cupel/core/mutex.h"

namespace cupel::writer_detail {
namespace {

constexpr std::size_t kChunksWanted = 16;
constexpr std::size_t kSmallestChunk = 64U << 10U;
constexpr std::size_t kPage = 4U << 10U;
constexpr std::size_t kHugePage = 2U << 20U;
constexpr std::size_t kPrefaultStep = 64U << 10U;

constexpr bool in_huge_pages(std::size_t size) { return size >= kHugePage; }
constexpr std::align_val_t alignment(std::size_t size) {
  return std::align_val_t{in_huge_pages(size) ? kHugePage : kPage};
}

}  // namespace

PrefaultedMemory::PrefaultedMemory(std::size_t size)
    : size_(size), data_(static_cast<std::byte*>(::operator new(size, alignment(size)))) {
#ifdef MADV_HUGEPAGE
  if (in_huge_pages(size)) static_cast<void>(::madvise(data_, size_, MADV_HUGEPAGE));
#endif
}

PrefaultedMemory::~PrefaultedMemory() { ::operator delete(data_, alignment(size_)); }

void PrefaultedMemory::prefault(std::size_t bytes) noexcept {
  if (bytes <= prefaulted_) return;
  const std::size_t step = in_huge_pages(size_) ? kHugePage : kPrefaultStep;
  const std::size_t end = std::min(size_, (bytes + step - 1) / step * step);
#ifdef MADV_POPULATE_WRITE
  // Where the kernel does not know it, the pages come one by one when they are written to.
  static_cast<void>(::madvise(data_ + prefaulted_, end - prefaulted_, MADV_POPULATE_WRITE));
#endif
  prefaulted_ = end;
}

ChunkPool::ChunkPool(std::size_t bytes, std::size_t largest_chunk)
    : chunk_bytes_(
          std::clamp(std::bit_floor(bytes / kChunksWanted), kSmallestChunk, largest_chunk)),
      most_(std::max(bytes / chunk_bytes_, kLeast)) {
  free_.reserve(most_);
}

bool ChunkPool::has_one(For purpose) const noexcept {
  return free_.size() + (most_ - chunks_.size()) > kept_from(purpose);
}

Chunk* ChunkPool::take_one(For purpose) {
  while (free_.size() <= kept_from(purpose)) {
    try {
      free_.push_back(&chunks_.emplace_back(chunk_bytes_));
    } catch (const std::bad_alloc&) {
      if (chunks_.size() < (purpose == For::Values ? kLeast : 1)) throw;
      most_ = chunks_.size();
      log(LogLevel::Warning,
          "no memory for more buffers: saving goes on with those that are there");
      return nullptr;
    }
  }
  Chunk* chunk = free_.back();
  free_.pop_back();
  return chunk;
}

Chunk* ChunkPool::take(For purpose) {
  MutexLock lock(mutex_);
  for (;;) {
    if (!has_one(purpose)) {
      const auto begin = std::chrono::steady_clock::now();
      given_back_.wait(lock, [&]() CUPEL_REQUIRES(mutex_) { return has_one(purpose); });
      waited_ns_ += (std::chrono::steady_clock::now() - begin).count();
    }
    if (Chunk* chunk = take_one(purpose)) return chunk;
  }
}

Chunk* ChunkPool::try_take(For purpose) {
  const MutexLock lock(mutex_);
  return has_one(purpose) ? take_one(purpose) : nullptr;
}

void ChunkPool::release(Chunk* chunk) noexcept {
  if (chunk->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  chunk->used = 0;
  chunk->handed_over = 0;
  chunk->values.clear();
  chunk->being_copied = 0;
  chunk->full = false;
  chunk->holders.store(1, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  free_.push_back(chunk);
  given_back_.notify_all();
}

}  // namespace cupel::writer_detail
