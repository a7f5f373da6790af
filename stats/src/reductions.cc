#include <cmath>
#include <optional>

#include "blocks.h"
#include "cupel/stats/statistics.h"
#include "median.h"
#include "pieces.h"
#include "product.h"

namespace cupel {
namespace {

double product_of(const TensorView& view) noexcept {
  stats_detail::Product product;
  stats_detail::for_each_piece(view, [&](const void* data, std::size_t count) {
    stats_detail::for_each_block(
        view.dtype(), data, count,
        [&product](const auto* block, std::size_t n) { product.multiply(block, n); });
  });
  return product.value();
}

double median_of(const TensorView& view, bool magnitudes, const Statistics& known) {
  // An empty tensor, one with NaNs, or one of equal elements needs no search.
  const double min = magnitudes ? known.abs_min : known.min;
  const double max = magnitudes ? known.abs_max : known.max;
  if (std::isnan(min) || min == max) return min;
  return stats_detail::median(view, magnitudes);
}

}  // namespace

ReductionSet beyond_one_pass(ReductionSet wanted) noexcept {
  ReductionSet rest;
  wanted.for_each([&](Reduction reduction) {
    if (reduction.op == ReductionOp::Prod || reduction.op == ReductionOp::Median)
      rest.add(reduction);
  });
  return rest;
}

ReductionValues compute_reductions(const TensorView& view, ReductionSet wanted,
                                   const Statistics* known) {
  std::optional<Statistics> computed;
  const auto statistics = [&]() -> const Statistics& {
    if (known != nullptr) return *known;
    if (!computed) computed = compute_statistics(view);
    return *computed;
  };
  std::optional<double> product;
  ReductionValues values;
  wanted.for_each([&](Reduction reduction) {
    if (reduction.op == ReductionOp::Prod) {
      if (!product) product = product_of(view);
      values.put(reduction, reduction.abs ? std::abs(*product) : *product);
    } else if (reduction.op == ReductionOp::Median) {
      values.put(reduction, median_of(view, reduction.abs, statistics()));
    } else {
      values.put(reduction, statistics().get(reduction));
    }
  });
  return values;
}

}  // namespace cupel
