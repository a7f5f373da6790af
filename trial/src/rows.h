#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cupel/core/dtype.h"
#include "cupel/core/reduction.h"
#include "cupel/core/shape.h"
#include "cupel/core/value_counts.h"
#include "cupel/format/index_reader.h"
#include "stable_vector.h"

namespace cupel::trial_detail {

/// The type, number of elements and shape of a row, which most rows of a tensor share.
struct RowForm {
  std::int64_t elements = 0;
  DType dtype = DType::F32;
  bool has_shape = false;
  std::vector<std::int64_t> extents;

  bool matches(const IndexBatch& batch, std::size_t row) const noexcept;
};

/// Whether two runs of rows of a batch have the same forms, row by row.
bool have_same_forms(const IndexBatch& batch, std::size_t first, std::size_t second,
                     std::size_t rows) noexcept;

/// Every form of a run once. One thread interns; any thread reads the forms of numbers that it has.
class FormTable {
 public:
  /// The number of the row's form; `guess` is tried first.
  std::uint32_t intern(const IndexBatch& batch, std::size_t row,
                       std::optional<std::uint32_t> guess);
  const RowForm& operator[](std::uint32_t id) const noexcept { return forms_[id]; }

 private:
  StableVector<RowForm> forms_;
  std::unordered_multimap<std::size_t, std::uint32_t> ids_;
};

/// The rows of one batch, copied column by column; empty columns are not kept. Immutable once its
/// forms are filled in.
class RowBlock {
 public:
  explicit RowBlock(const IndexBatch& batch);

  std::uint32_t form(std::size_t row) const noexcept { return forms_[row]; }
  void set_form(std::size_t row, std::uint32_t form) noexcept { forms_[row] = form; }
  void copy_forms(std::size_t from, std::size_t to, std::size_t rows) noexcept {
    std::copy_n(forms_.get() + from, rows, forms_.get() + to);
  }

  bool is_stored(std::size_t row) const noexcept { return (flags_[row] & kStored) != 0; }
  bool is_inline(std::size_t row) const noexcept { return (flags_[row] & kInline) != 0; }
  bool has_value(std::size_t row) const noexcept {
    return (flags_[row] & (kStored | kInline)) != 0;
  }
  bool has_reductions(std::size_t row) const noexcept { return (flags_[row] & kReductions) != 0; }

  /// The place of the value in its object; only where is_stored(row).
  std::uint64_t offset(std::size_t row) const noexcept { return offsets_[row]; }
  std::uint64_t length(std::size_t row) const noexcept { return lengths_[row]; }
  std::uint32_t crc32c(std::size_t row) const noexcept { return crcs_[row]; }
  /// Only where is_inline(row).
  std::span<const std::byte> inline_value(std::size_t row) const noexcept {
    const std::size_t begin = row == 0 ? 0 : inline_ends_[row - 1];
    return {inline_bytes_.data() + begin, inline_ends_[row] - begin};
  }

  std::uint64_t value_bytes(std::size_t row) const noexcept {
    if (is_stored(row)) return length(row);
    return is_inline(row) ? inline_value(row).size() : 0;
  }

  std::optional<ValueCounts> counts(std::size_t row) const noexcept;
  std::optional<double> reduction(std::size_t row, Reduction reduction) const noexcept {
    if ((flags_[row] >> reduction.index() & 1U) == 0) return std::nullopt;
    return reductions_[reduction.index()][row];
  }
  ReductionValues reductions(std::size_t row) const noexcept;

  // Columns, by row.

  /// Bit i is set where the row has reduction i; kCounts where it has counts.
  const std::uint32_t* flags() const noexcept { return flags_.get(); }
  const std::uint32_t* forms() const noexcept { return forms_.get(); }
  /// The values of a reduction, with a quiet NaN in rows that lack it; null if no row has it.
  const double* reduction_column(std::size_t index) const noexcept {
    return reductions_[index].get();
  }
  /// The counts in the order of ValueCounts; null if all are zero.
  const std::int64_t* count_column(std::size_t index) const noexcept {
    return counts_[index].get();
  }
  static constexpr std::size_t kCountColumns = 4;
  static constexpr std::uint32_t kReductions = (1U << Reduction::kCount) - 1;
  static constexpr std::uint32_t kCounts = 1U << Reduction::kCount;

 private:
  template <class T>
  using Column = std::unique_ptr<T[]>;

  static constexpr std::uint32_t kStored = kCounts << 1;
  static constexpr std::uint32_t kInline = kCounts << 2;

  void copy_values(const IndexBatch& batch);
  void copy_counts(const IndexBatch& batch);
  void copy_reductions(const IndexBatch& batch);

  Column<std::uint32_t> forms_, flags_;
  Column<std::uint64_t> offsets_, lengths_;
  Column<std::uint32_t> crcs_;
  Column<std::uint32_t> inline_ends_;
  std::vector<std::byte> inline_bytes_;
  std::array<Column<std::int64_t>, kCountColumns>
      counts_;  // nan, pos_inf, neg_inf, zero; a column of zeros is not kept
  std::array<Column<double>, Reduction::kCount> reductions_;
};

}  // namespace cupel::trial_detail
