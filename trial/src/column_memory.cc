// Columns of a large table are written once from end to end, so that what they cost is above all
// the system's work of handing out their pages: huge ones make it a fraction. Pages that nobody
// writes are never handed out.

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "cupel/trial/reduction_table.h"

namespace cupel::trial_detail {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20U;

constexpr bool is_mapped(std::size_t bytes) noexcept { return bytes >= kHugePage; }

}  // namespace

void* allocate_column(std::size_t bytes) {
  if (!is_mapped(bytes)) {
    void* memory = std::calloc(1, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  static_cast<void>(::madvise(memory, bytes, MADV_HUGEPAGE));
#endif
  return memory;
}

void free_column(void* memory, std::size_t bytes) noexcept {
  if (is_mapped(bytes)) {
    ::munmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace cupel::trial_detail
