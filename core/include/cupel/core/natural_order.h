#pragma once

#include <string_view>

namespace cupel {

/// The order in which people read names: every run of digits counts by its value, so that worker_2
/// comes before worker_10 and node2_rank1 before node10_rank0. Workers are in this order wherever
/// they are listed. Names that differ in leading zeros only follow each other in the order of their
/// bytes, so that names are equivalent only if they are equal. Any thread; no memory is needed.
bool natural_less(std::string_view a, std::string_view b) noexcept;

/// Compares in this order, for std::map, std::set and sorting.
struct NaturalOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const noexcept {
    return natural_less(a, b);
  }
};

}  // namespace cupel
