#pragma once

#include <cstdint>

namespace cupel::testing {

/// Makes allocations by operator new fail, of whatever thread and of every form; the whole program
/// has its operator new from failing_allocations.cc.
class FailingAllocations {
 public:
  /// From now on allocations are counted, and the one of that number fails, or all from it on. -1:
  /// none does.
  FailingAllocations(std::int64_t which, bool lasting) noexcept;
  ~FailingAllocations() { stop(); }
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  void stop() noexcept;
  /// How many there have been.
  static std::int64_t count() noexcept;
  /// How many, in all, were to fail first but did not, because they were Arrow's own.
  static std::int64_t spared_for_arrow() noexcept;
};

}  // namespace cupel::testing
