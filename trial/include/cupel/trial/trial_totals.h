#pragma once

#include <cstdint>
#include <optional>

namespace cupel {

/// The totals of a run (Trial::totals), as `cupel info` shows them.
struct TrialTotals {
  /// The number of index rows: one for each tensor, step and worker. Rows of the hook's own tensors
  /// do not count.
  std::int64_t rows = 0;
  /// The bytes of the index files that were read.
  std::uint64_t index_bytes = 0;
  /// The bytes of all raw values, also of those that the index holds inline.
  std::uint64_t value_bytes = 0;
  /// The share of the run's wall time that saving took: the newest of each worker, averaged.
  std::optional<double> overhead;
  /// When the newest step was committed, in microseconds since 1970; 0 if there is none.
  std::int64_t newest_time_us = 0;
};

}  // namespace cupel
