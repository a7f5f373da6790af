#pragma once

#include <cstdint>
#include <optional>

namespace cupel {

/// Steps begin <= step < end, global ones unless told otherwise; either end may be left open.
struct StepRange {
  std::optional<std::int64_t> begin = std::nullopt;
  std::optional<std::int64_t> end = std::nullopt;

  constexpr bool contains(std::int64_t step) const noexcept {
    return (!begin || step >= *begin) && (!end || step < *end);
  }
};

}  // namespace cupel
