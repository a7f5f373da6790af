#include "faults/failing_allocations.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<bool> armed{false};
std::atomic<bool> all_that_follow{false};
std::atomic<std::int64_t> failing{-1};
std::atomic<std::int64_t> counted{0};
std::atomic<std::int64_t> spared{0};

// Whether Arrow asks, somewhere on the way here: it ends the process where its schemas' messages
// find no memory, and that is not ours to mend. (Its buffers come from elsewhere.)
bool is_for_arrow() noexcept {
  std::array<void*, 48> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    Dl_info place{};
    if (::dladdr(frames[static_cast<std::size_t>(i)], &place) != 0 && place.dli_sname != nullptr &&
        std::strstr(place.dli_sname, "5arrow") != nullptr)
      return true;
  }
  return false;
}

bool fails() noexcept {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const std::int64_t number = counted.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t from = failing.load(std::memory_order_relaxed);
  const bool meant =
      from >= 0 &&
      (all_that_follow.load(std::memory_order_relaxed) ? number >= from : number == from);
  if (!meant) return false;
  if (!is_for_arrow()) return true;
  if (number == from) spared.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void* allocated(std::size_t size, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(std::max<std::size_t>(size, 1));
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, std::max<std::size_t>(size, 1)) == 0 ? memory
                                                                                   : nullptr;
}

void* demanded(std::size_t size, std::size_t alignment) {
  void* const memory = allocated(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kPlain = 1;

}  // namespace

namespace cupel::testing {

FailingAllocations::FailingAllocations(std::int64_t which, bool lasting) noexcept {
  failing = which;
  all_that_follow = lasting;
  counted = 0;
  armed = true;
}

void FailingAllocations::stop() noexcept { armed = false; }

std::int64_t FailingAllocations::count() noexcept { return counted; }

std::int64_t FailingAllocations::spared_for_arrow() noexcept { return spared; }

}  // namespace cupel::testing

void* operator new(std::size_t size) { return demanded(size, kPlain); }
void* operator new[](std::size_t size) { return demanded(size, kPlain); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return demanded(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return demanded(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocated(size, kPlain);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocated(size, kPlain);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocated(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocated(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
