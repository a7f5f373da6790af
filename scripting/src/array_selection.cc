// Radix select: elements are mapped to unsigned keys of the same order, and a count of the keys'
// top 16 bits tells which bucket holds the one that is asked for. The next 16 bits are counted
// within that bucket only, until it is small enough to be copied out, or all bits are known.

#include "array_selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "array_reductions.h"

namespace cupel::scripting_detail {
namespace {

constexpr unsigned kDigitBits = 16;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;

// In the order of the stats room, which has -0 before 0.
std::uint64_t key_of(double x, bool magnitudes) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(magnitudes ? std::abs(x) : x);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double value_of(std::uint64_t key) noexcept {
  return std::bit_cast<double>((key & kSign) != 0 ? key & ~kSign : ~key);
}

// The keys that agree in their top bits, those of `mask`.
struct Bucket {
  std::uint64_t known = 0;
  std::uint64_t mask = 0;
  std::uint64_t members = 0;
  std::uint64_t last() const noexcept { return known | ~mask; }
  bool contains(std::uint64_t key) const noexcept { return (key & mask) == known; }
};

class Keys {
 public:
  Keys(Budget& budget, const Array& array, bool magnitudes)
      : budget_(budget), array_(array), magnitudes_(magnitudes) {}
  template <class F>
  void for_each(F&& visit) const {
    for_each_widened(budget_, array_, Cost::Single,
                     [&](const double* elements, std::int64_t, std::int64_t count) {
                       for (std::int64_t i = 0; i < count; ++i)
                         visit(key_of(elements[i], magnitudes_));
                     });
  }
  // Narrows the bucket by a digit to the one that holds the member `rank`, and makes that the rank
  // in it.
  void narrow(Bucket& bucket, std::uint64_t& rank, unsigned shift, std::uint64_t* counts) const {
    budget_.charge(static_cast<std::int64_t>(kDigits / 16));
    std::fill_n(counts, kDigits, 0);
    for_each([&](std::uint64_t key) {
      counts[(key >> shift) % kDigits] += bucket.contains(key) ? 1 : 0;
    });
    std::uint64_t digit = 0;
    while (rank >= counts[digit]) rank -= counts[digit++];
    bucket.members = counts[digit];
    bucket.known |= digit << shift;
    bucket.mask |= std::uint64_t{kDigits - 1} << shift;
  }
  double least_above(std::uint64_t bound) const {
    std::uint64_t least = ~std::uint64_t{0};
    for_each([&](std::uint64_t key) { least = key > bound ? std::min(least, key) : least; });
    return value_of(least);
  }

 private:
  Budget& budget_;
  const Array& array_;
  bool magnitudes_;
};

}  // namespace

std::pair<double, double> elements_of_rank(Budget& budget, const Array& array, bool magnitudes,
                                           std::int64_t rank) {
  // The counts of digits, and later the keys that are copied out.
  const std::shared_ptr<AlignedBuffer> memory = budget.allocate(kDigits * sizeof(std::uint64_t));
  auto* const table = reinterpret_cast<std::uint64_t*>(memory->data());
  const Keys keys(budget, array, magnitudes);
  Bucket bucket{.members = static_cast<std::uint64_t>(array.elements())};
  auto left = static_cast<std::uint64_t>(rank);
  for (unsigned shift = 64; shift > 0 && bucket.members > kDigits;)
    keys.narrow(bucket, left, shift -= kDigitBits, table);
  const bool is_last = rank + 1 == array.elements();
  const auto next = [&](auto&& in_bucket) {
    if (is_last) return std::numeric_limits<double>::quiet_NaN();
    return left + 1 < bucket.members ? value_of(in_bucket()) : keys.least_above(bucket.last());
  };
  // More than can be copied out are all the same.
  if (bucket.members > kDigits) return {value_of(bucket.known), next([&] { return bucket.known; })};
  std::uint64_t* end = table;
  keys.for_each([&](std::uint64_t key) {
    if (bucket.contains(key)) *end++ = key;
  });
  std::uint64_t* const place = table + left;
  std::nth_element(table, place, end);
  return {value_of(*place), next([&] { return *std::min_element(place + 1, end); })};
}

double quantile(Budget& budget, const Array& array, double q, bool magnitudes,
                const Statistics& known) {
  const double min = magnitudes ? known.abs_min : known.min;
  if (std::isnan(min)) return min;
  const double place = q * static_cast<double>(array.elements() - 1);
  const double below = std::floor(place);
  const auto rank = static_cast<std::int64_t>(below);
  const auto [lower, upper] = elements_of_rank(budget, array, magnitudes, rank);
  if (place == below || lower == upper) return lower;
  return std::lerp(lower, upper, place - below);
}

}  // namespace cupel::scripting_detail
