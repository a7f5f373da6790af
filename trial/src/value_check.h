#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cupel/core/dtype.h"
#include "cupel/core/reduction.h"
#include "cupel/core/shape.h"
#include "cupel/core/value_counts.h"
#include "cupel/format/index_reader.h"

namespace cupel::trial_detail {

/// What an index row claims about its raw value.
struct RowClaims {
  RowClaims(const IndexBatch& batch, std::size_t row);

  /// "the value of fc1.weight at step 120".
  std::string subject() const;

  std::int64_t step;
  std::string tensor;
  DType dtype;
  Shape shape;
  std::optional<ValueCounts> counts;
  ReductionValues reductions;
  std::uint64_t offset = 0, length = 0;  ///< The place of a value in the events file.
  std::uint32_t crc32c = 0;
};

/// The difference between the row's claims and the bytes of the value, whose checksum is right; ""
/// if there is none.
std::string claims_defect(const RowClaims& claims, std::span<const std::byte> bytes);

/// The difference between the row's claims and the counts of the value; "" if there is none.
std::string counts_defect(const RowClaims& claims, const ValueCounts& counts);

}  // namespace cupel::trial_detail
