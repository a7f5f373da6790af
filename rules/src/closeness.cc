#include "closeness.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "elements.h"

namespace cupel::rules_detail {
namespace {
// Of saved means, which are rounded.
constexpr double kRounding = 1e-13;
}  // namespace

Parameter relative_tolerance() {
  return {.name = "rtol",
          .default_text = "1e-5",
          .range = {.least = 0},
          .help = "how far elements may differ, relative to their size (>= 0)"};
}

Parameter absolute_tolerance() {
  return {.name = "atol",
          .default_text = "1e-8",
          .range = {.least = 0},
          .help = "how far elements may differ in addition, absolutely (>= 0)"};
}

bool Tolerance::close(double a, double b) const noexcept {
  if (a == b) return true;
  if (std::isnan(a) || std::isnan(b)) return equal_nan && std::isnan(a) && std::isnan(b);
  return std::isfinite(a) && std::isfinite(b) &&
         std::abs(a - b) <= absolute + relative * std::abs(b);
}

Closeness closeness_of(const TensorValue& a, const TensorValue& b, const Tolerance& tolerance,
                       bool to_the_end) {
  Closeness closeness;
  // Text has no numbers to compare; the types may differ, for one may be of another run.
  const bool are_numbers = a.dtype() != DType::Utf8 && b.dtype() != DType::Utf8;
  if (a.shape() != b.shape() || !are_numbers) return {.close = false};
  for_each_span(a, b, [&](std::span<const double> of_a, std::span<const double> of_b) {
    for (std::size_t i = 0; i < of_a.size() && (closeness.close || to_the_end); ++i) {
      closeness.close = closeness.close && tolerance.close(of_a[i], of_b[i]);
      const double between = std::abs(of_a[i] - of_b[i]);
      if (std::isfinite(between)) closeness.largest = std::max(closeness.largest, between);
    }
    return closeness.close || to_the_end;
  });
  return closeness;
}

Closeness closeness_of(const ReductionValues& a, const ReductionValues& b, ReductionSet common,
                       const Tolerance& tolerance) {
  Closeness closeness;
  common.for_each([&](Reduction reduction) {
    const double of_a = *a.get(reduction);
    const double of_b = *b.get(reduction);
    closeness.close = closeness.close && tolerance.close(of_a, of_b);
    const double between = std::abs(of_a - of_b);
    if (std::isfinite(between)) closeness.largest = std::max(closeness.largest, between);
  });
  return closeness;
}

bool means_differ(double mean_a, double mean_b, double abs_mean_b, const Tolerance& tolerance) {
  const double may_differ = tolerance.absolute + (tolerance.relative + kRounding) * abs_mean_b +
                            kRounding * std::abs(mean_a);
  return std::abs(mean_a - mean_b) > may_differ;
}

ReductionSet in_both(ReductionSet a, ReductionSet b) noexcept {
  ReductionSet both;
  a.for_each([&](Reduction reduction) {
    if (b.contains(reduction)) both.add(reduction);
  });
  return both;
}

std::string names_of(ReductionSet reductions) {
  std::string names;
  reductions.for_each([&](Reduction reduction) {
    names += (names.empty() ? "" : ", ") + std::string(to_string(reduction));
  });
  return names;
}

}  // namespace cupel::rules_detail
