#pragma once

#include <cstdint>
#include <optional>

namespace cupel {

/// The steps begin <= step < end; either end may be left open. They are global steps unless the
/// user of the range documents otherwise.
struct StepRange {
  std::optional<std::int64_t> begin = std::nullopt;
  std::optional<std::int64_t> end = std::nullopt;

  constexpr bool contains(std::int64_t step) const noexcept {
    return (!begin || step >= *begin) && (!end || step < *end);
  }
};

}  // namespace cupel
