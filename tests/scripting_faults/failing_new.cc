#include "scripting_faults/failing_new.h"

#include <cstdlib>
#include <new>

namespace {

thread_local std::int64_t calls_left = 0;  // before the one that fails; 0: none does

void* allocate(std::size_t size) {
  if (calls_left > 0 && --calls_left == 0) throw std::bad_alloc();
  void* const block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }

namespace cupel::testing {

FailingNew::FailingNew(std::int64_t nth) noexcept { calls_left = nth; }
FailingNew::~FailingNew() { calls_left = 0; }
bool FailingNew::has_failed() const noexcept { return calls_left == 0; }

}  // namespace cupel::testing
