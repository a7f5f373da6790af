#include "value_check.h"

#include <bit>
#include <cmath>

#include "cupel/stats/statistics.h"
#include "value_defect.h"

namespace cupel::trial_detail {

namespace {

Shape shape_in(const IndexBatch& batch, std::size_t row) {
  if (!batch.shape_begin.has(row)) return Shape{batch.elements[row]};
  const std::int32_t begin = batch.shape_begin[row];
  const std::int32_t end = batch.shape_end[row];
  return Shape(std::span(batch.shape_extents + begin, static_cast<std::size_t>(end - begin)));
}

bool same_number(double a, double b) noexcept {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

RowClaims::RowClaims(const IndexBatch& batch, std::size_t row)
    : step(batch.step[row]),
      tensor(batch.tensor(row)),
      dtype(batch.dtype(row)),
      shape(shape_in(batch, row)) {
  if (batch.nan.has(row) && batch.pos_inf.has(row) && batch.neg_inf.has(row) && batch.zero.has(row))
    counts = {batch.nan[row], batch.pos_inf[row], batch.neg_inf[row], batch.zero[row]};
  for (std::size_t i = 0; i < Reduction::kCount; ++i)
    if (batch.reductions[i].has(row)) reductions.put(Reduction::at(i), batch.reductions[i][row]);
  if (batch.offset.has(row)) {
    offset = static_cast<std::uint64_t>(batch.offset[row]);
    length = static_cast<std::uint64_t>(batch.length[row]);
    crc32c = batch.crc32c[row];
  }
}

std::string RowClaims::subject() const {
  return "the value of " + tensor + " at step " + std::to_string(step);
}

std::string counts_defect(const RowClaims& claims, const ValueCounts& counts) {
  if (!claims.counts || *claims.counts == counts) return "";
  return claims.subject() + " disagrees with the saved counts of special values";
}

std::string claims_defect(const RowClaims& claims, std::span<const std::byte> bytes) {
  if (const char* defect = value_defect(claims.dtype, claims.shape, bytes))
    return claims.subject() + ": " + defect;
  if (claims.dtype == DType::Utf8 || !(claims.counts || !claims.reductions.set.empty())) return "";
  const TensorView view(bytes.data(), claims.dtype, claims.shape);
  const Statistics statistics = compute_statistics(view);
  if (std::string defect = counts_defect(claims, statistics.counts); !defect.empty()) return defect;
  const ReductionValues found = compute_reductions(view, claims.reductions.set, &statistics);
  std::string wrong;
  claims.reductions.set.for_each([&](Reduction reduction) {
    const std::size_t i = reduction.index();
    if (wrong.empty() && !same_number(found.values[i], claims.reductions.values[i]))
      wrong = claims.subject() + " disagrees with the saved " + std::string(to_string(reduction));
  });
  return wrong;
}

}  // namespace cupel::trial_detail
