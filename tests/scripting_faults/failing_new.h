#pragma once

#include <cstdint>

namespace cupel::testing {

/// Makes `operator new` of this thread fail once, at the n-th call from now on, as long as it
/// lives.
class FailingNew {
 public:
  explicit FailingNew(std::int64_t nth) noexcept;
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  /// Whether it has failed.
  bool has_failed() const noexcept;
};

}  // namespace cupel::testing
