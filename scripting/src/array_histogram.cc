#include <algorithm>
#include <cmath>
#include <limits>

#include "array_reductions.h"

namespace cupel::scripting_detail {
namespace {

// The least and the largest of the finite elements; of none 0 and 1.
std::pair<double, double> finite_range(Budget& budget, const Array& array) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double least = kInfinity;
  double most = -kInfinity;
  for_each_widened(budget, array, Cost::Single,
                   [&](const double* elements, std::int64_t, std::int64_t count) {
                     for (std::int64_t i = 0; i < count; ++i) {
                       if (!std::isfinite(elements[i])) continue;
                       least = std::min(least, elements[i]);
                       most = std::max(most, elements[i]);
                     }
                   });
  return least <= most ? std::pair(least, most) : std::pair(0.0, 1.0);
}

// Bins of equal width, as far as doubles know it.
class Bins {
 public:
  Bins(double least, double most, std::int64_t count)
      : least_(least), last_(static_cast<std::size_t>(count) - 1) {
    const auto bins = static_cast<double>(count);
    // The difference may be beyond double's range.
    const bool fits = std::isfinite(most - least);
    const double width = fits ? (most - least) / bins : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto bin = static_cast<double>(i);
      edges_.push_back(fits ? least + bin * width : std::lerp(least, most, bin / bins));
    }
    edges_.push_back(most);
    per_width_ = width > 0 ? 1 / width : 0;
  }
  std::size_t of(double x) const noexcept {
    const double guess = (x - least_) * per_width_;
    std::size_t bin = guess < static_cast<double>(last_) ? static_cast<std::size_t>(guess) : last_;
    if (x >= edges_[bin] && (bin == last_ || x < edges_[bin + 1])) return bin;
    const auto above = std::upper_bound(edges_.begin(), edges_.end(), x);
    bin = static_cast<std::size_t>(above - edges_.begin()) - 1;
    return std::min(bin, last_);
  }
  std::vector<double> edges() const { return edges_; }

 private:
  double least_;
  std::size_t last_;
  double per_width_ = 0;
  std::vector<double> edges_;
};

}  // namespace

Histogram histogram(Budget& budget, const Array& array, std::int64_t bins,
                    std::optional<std::pair<double, double>> range) {
  auto [least, most] = range ? *range : finite_range(budget, array);
  if (least == most) {
    least -= 0.5;
    most += 0.5;
  }
  const Bins sorter(least, most, bins);
  Histogram result;
  result.edges = sorter.edges();
  result.counts.resize(static_cast<std::size_t>(bins));
  for_each_widened(
      budget, array, Cost::Function,
      [&, low = least, high = most](const double* elements, std::int64_t, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          const double x = elements[i];
          if (std::isnan(x))
            ++result.nan;
          else if (x < low)
            ++result.below;
          else if (x > high)
            ++result.above;
          else
            ++result.counts[sorter.of(x)];
        }
      });
  return result;
}

}  // namespace cupel::scripting_detail
