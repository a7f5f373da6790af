// Copying the rows of a batch, column by column, and interning the forms of rows.
//
// The refreshing thread copies; other threads read blocks once a snapshot shows them. Columns in
// which no row has a value are not kept: a row of a run that saves reductions only takes little
// more than these. The memory of a batch is released after the copy.

#include "rows.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace cupel::trial_detail {

namespace {

std::size_t mix(std::size_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U);
  return hash * 0xff51afd7ed558ccdU;
}

std::span<const std::int64_t> extents_of(const IndexBatch& batch, std::size_t row) noexcept {
  if (!batch.shape_begin.has(row)) return {};
  return {batch.shape_extents + batch.shape_begin[row],
          static_cast<std::size_t>(batch.shape_end[row] - batch.shape_begin[row])};
}

}  // namespace

bool RowForm::matches(const IndexBatch& batch, std::size_t row) const noexcept {
  if (elements != batch.elements[row] || dtype != batch.dtype(row)) return false;
  if (has_shape != batch.shape_begin.has(row)) return false;
  return !has_shape || std::ranges::equal(extents, extents_of(batch, row));
}

bool have_same_forms(const IndexBatch& batch, std::size_t first, std::size_t second,
                     std::size_t rows) noexcept {
  const auto equal = [&](const auto& column) {
    return std::ranges::equal(column.subspan(first, rows), column.subspan(second, rows));
  };
  if (!equal(batch.elements) || !equal(batch.dtype_codes)) return false;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t a = first + i, b = second + i;
    if (batch.shape_begin.has(a) != batch.shape_begin.has(b) ||
        !std::ranges::equal(extents_of(batch, a), extents_of(batch, b)))
      return false;
  }
  return true;
}

std::uint32_t FormTable::intern(const IndexBatch& batch, std::size_t row,
                                std::optional<std::uint32_t> guess) {
  if (guess && forms_[*guess].matches(batch, row)) return *guess;
  const std::span<const std::int64_t> extents = extents_of(batch, row);
  std::size_t hash = mix(static_cast<std::size_t>(batch.elements[row]),
                         static_cast<std::uint64_t>(batch.dtype(row)));
  for (const std::int64_t extent : extents) hash = mix(hash, static_cast<std::uint64_t>(extent));
  for (auto [found, end] = ids_.equal_range(hash); found != end; ++found)
    if (forms_[found->second].matches(batch, row)) return found->second;

  const auto id = static_cast<std::uint32_t>(forms_.size());
  forms_.push_back({batch.elements[row],
                    batch.dtype(row),
                    batch.shape_begin.has(row),
                    {extents.begin(), extents.end()}});
  ids_.emplace(hash, id);
  return id;
}

RowBlock::RowBlock(const IndexBatch& batch)
    : forms_(std::make_unique_for_overwrite<std::uint32_t[]>(batch.rows)),
      flags_(std::make_unique<std::uint32_t[]>(batch.rows)) {
  copy_values(batch);
  copy_counts(batch);
  copy_reductions(batch);
}

void RowBlock::copy_values(const IndexBatch& batch) {
  const std::size_t rows = batch.rows;
  bool any_stored = false, any_inline = false;
  for (std::size_t row = 0; row < rows; ++row) {
    if (batch.crc32c.has(row) && batch.offset.has(row) && batch.length.has(row)) {
      flags_[row] |= kStored;
      any_stored = true;
    } else if (batch.inline_begin.has(row)) {
      flags_[row] |= kInline;
      any_inline = true;
    }
  }
  if (any_stored) {
    offsets_ = std::make_unique_for_overwrite<std::uint64_t[]>(rows);
    lengths_ = std::make_unique_for_overwrite<std::uint64_t[]>(rows);
    crcs_ = std::make_unique_for_overwrite<std::uint32_t[]>(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      offsets_[row] = static_cast<std::uint64_t>(batch.offset[row]);
      lengths_[row] = static_cast<std::uint64_t>(batch.length[row]);
      crcs_[row] = batch.crc32c[row];
    }
  }
  if (!any_inline) return;
  inline_ends_ = std::make_unique_for_overwrite<std::uint32_t[]>(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    if (is_inline(row))
      inline_bytes_.insert(inline_bytes_.end(), batch.inline_bytes + batch.inline_begin[row],
                           batch.inline_bytes + batch.inline_end[row]);
    inline_ends_[row] = static_cast<std::uint32_t>(inline_bytes_.size());
  }
  inline_bytes_.shrink_to_fit();
}

void RowBlock::copy_counts(const IndexBatch& batch) {
  const std::array<const NullableColumn<std::int64_t>*, 4> columns = {&batch.nan, &batch.pos_inf,
                                                                      &batch.neg_inf, &batch.zero};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const NullableColumn<std::int64_t>& column = *columns[c];
    if (!column.present()) continue;
    bool any = false;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      if (!column.has(row)) continue;
      flags_[row] |= kCounts;
      any = any || column[row] != 0;
    }
    if (!any) continue;
    counts_[c] = std::make_unique_for_overwrite<std::int64_t[]>(batch.rows);
    for (std::size_t row = 0; row < batch.rows; ++row)
      counts_[c][row] = column.has(row) ? column[row] : 0;
  }
}

void RowBlock::copy_reductions(const IndexBatch& batch) {
  for (std::size_t r = 0; r < Reduction::kCount; ++r) {
    const NullableColumn<double>& column = batch.reductions[r];
    if (!column.present()) continue;
    bool any = false;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      if (!column.has(row)) continue;
      flags_[row] |= 1U << r;
      any = true;
    }
    if (!any) continue;
    reductions_[r] = std::make_unique_for_overwrite<double[]>(batch.rows);
    for (std::size_t row = 0; row < batch.rows; ++row)
      reductions_[r][row] =
          column.has(row) ? column[row] : std::numeric_limits<double>::quiet_NaN();
  }
}

std::optional<ValueCounts> RowBlock::counts(std::size_t row) const noexcept {
  if ((flags_[row] & kCounts) == 0) return std::nullopt;
  const auto count = [&](std::size_t c) { return counts_[c] ? counts_[c][row] : std::int64_t{0}; };
  return ValueCounts{count(0), count(1), count(2), count(3)};
}

ReductionValues RowBlock::reductions(std::size_t row) const noexcept {
  ReductionValues values;
  for (std::uint32_t rest = flags_[row] & kReductions; rest != 0; rest &= rest - 1) {
    const auto r = static_cast<std::size_t>(std::countr_zero(rest));
    values.put(Reduction::at(r), reductions_[r][row]);
  }
  return values;
}

}  // namespace cupel::trial_detail
