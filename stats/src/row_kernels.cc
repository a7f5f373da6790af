// Loops over rows of floats and doubles. This file is compiled once per instruction set.
//
// Two vectors of doubles, low and high, cover a group of neighbouring lanes. A block is swept once
// per group, and lies in the first-level cache after the first sweep. One vector of floats holds as
// many elements as those two.
//
// Floats are summed in double throughout. The square of a float is exact there, so MulAdd rounds as
// a multiplication and an addition do, and nothing overflows or underflows.

#include "row_kernels.h"

#include <algorithm>
#include <type_traits>

#include "plain_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "row_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cupel::stats_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <class T>
void sum(const T* data, std::size_t rows, double scale, LaneSums& sums, Range<T>& range) {
  sum_rows_plainly(data, rows, scale, sums);
  for (std::size_t i = 0; i < rows * kLanes; ++i) range.widen(data[i]);
}

template <class T>
void sum_distances(const T* data, std::size_t rows, double scale, double mean, double abs_mean,
                   LaneDistances& sums) {
  sum_row_distances_plainly(data, rows, scale, mean, abs_mean, sums);
}

template <class T>
void multiply(const T* data, std::size_t rows, LaneProducts& products) {
  multiply_rows_plainly(data, rows, products);
}

#else

using FloatTag = hn::CappedTag<float, kLanes>;
using DoubleTag = hn::RepartitionToWide<FloatTag>;  // half as many lanes
using HalfTag = hn::Rebind<float, DoubleTag>;       // the floats that promote to one vector
using DoubleBitsTag = hn::RebindToUnsigned<DoubleTag>;
using Doubles = hn::Vec<DoubleTag>;

HWY_INLINE Doubles load(const float* data) {
  return hn::PromoteTo(DoubleTag(), hn::LoadU(HalfTag(), data));
}
HWY_INLINE Doubles load(const double* data) { return hn::LoadU(DoubleTag(), data); }

template <class T>
HWY_INLINE Doubles load_scaled(const T* data, Doubles scale) {
  if constexpr (std::is_same_v<T, float>) return load(data);  // a float never needs it
  return hn::Mul(load(data), scale);
}

template <class T>
HWY_INLINE Doubles add_square(Doubles x, Doubles sum) {
  if constexpr (std::is_same_v<T, float>) return hn::MulAdd(x, x, sum);
  return hn::Add(sum, hn::Mul(x, x));
}

/// How many bytes ahead a sweep prefetches. Beyond a tensor's end that does nothing. The processor
/// by itself prefetches to the end of a page only.
constexpr std::size_t kPrefetched = 4096;

template <class T>
void sum(const T* data, std::size_t rows, double scale_factor, LaneSums& sums, Range<T>& range) {
  const std::conditional_t<std::is_same_v<T, float>, FloatTag, DoubleTag> elements;
  const DoubleTag doubles;
  const std::size_t half = hn::Lanes(doubles);
  const auto scale = hn::Set(doubles, scale_factor);
  auto min = hn::Set(elements, range.min);
  auto max = hn::Set(elements, range.max);
  auto abs_min = hn::Set(elements, range.abs_min);
  const auto widen_range = [&](auto x) HWY_ATTR {
    min = hn::Min(min, x);
    max = hn::Max(max, x);
    abs_min = hn::Min(abs_min, hn::Abs(x));
  };
  for (std::size_t group = 0; group < kLanes; group += 2 * half) {
    auto low_sum = hn::Zero(doubles), high_sum = low_sum;
    auto low_magnitudes = low_sum, high_magnitudes = low_sum;
    auto low_squares = low_sum, high_squares = low_sum;
    const T* row = data + group;
    for (std::size_t i = 0; i < rows; ++i, row += kLanes) {
      hwy::Prefetch(row + kPrefetched / sizeof(T));
      widen_range(hn::LoadU(elements, row));
      if constexpr (!std::is_same_v<T, float>) widen_range(hn::LoadU(elements, row + half));
      const auto low = load_scaled(row, scale);
      const auto high = load_scaled(row + half, scale);
      low_sum = hn::Add(low_sum, low);
      high_sum = hn::Add(high_sum, high);
      low_magnitudes = hn::Add(low_magnitudes, hn::Abs(low));
      high_magnitudes = hn::Add(high_magnitudes, hn::Abs(high));
      low_squares = add_square<T>(low, low_squares);
      high_squares = add_square<T>(high, high_squares);
    }
    hn::StoreU(low_sum, doubles, &sums.values[group]);
    hn::StoreU(high_sum, doubles, &sums.values[group + half]);
    hn::StoreU(low_magnitudes, doubles, &sums.magnitudes[group]);
    hn::StoreU(high_magnitudes, doubles, &sums.magnitudes[group + half]);
    hn::StoreU(low_squares, doubles, &sums.squares[group]);
    hn::StoreU(high_squares, doubles, &sums.squares[group + half]);
  }
  range.min = hn::GetLane(hn::MinOfLanes(elements, min));
  range.max = hn::GetLane(hn::MaxOfLanes(elements, max));
  range.abs_min = hn::GetLane(hn::MinOfLanes(elements, abs_min));
}

template <class T>
void sum_distances(const T* data, std::size_t rows, double scale_factor, double mean,
                   double abs_mean, LaneDistances& sums) {
  const DoubleTag doubles;
  const std::size_t half = hn::Lanes(doubles);
  const auto scale = hn::Set(doubles, scale_factor);
  const auto center = hn::Set(doubles, mean);
  const auto abs_center = hn::Set(doubles, abs_mean);
  for (std::size_t group = 0; group < kLanes; group += half) {
    auto values = hn::Zero(doubles), squares = values, abs_values = values, abs_squares = values;
    const T* row = data + group;
    for (std::size_t i = 0; i < rows; ++i, row += kLanes) {
      const auto x = load_scaled(row, scale);
      const auto distance = hn::Sub(x, center);
      const auto abs_distance = hn::Sub(hn::Abs(x), abs_center);
      values = hn::Add(values, distance);
      squares = hn::Add(squares, hn::Mul(distance, distance));
      abs_values = hn::Add(abs_values, abs_distance);
      abs_squares = hn::Add(abs_squares, hn::Mul(abs_distance, abs_distance));
    }
    hn::StoreU(values, doubles, &sums.values[group]);
    hn::StoreU(squares, doubles, &sums.squares[group]);
    hn::StoreU(abs_values, doubles, &sums.abs_values[group]);
    hn::StoreU(abs_squares, doubles, &sums.abs_squares[group]);
  }
}

/// As normalise() of one number: only where the exponent is neither that of 0 nor of infinity and
/// NaN.
HWY_INLINE void normalise_lanes(Doubles& mantissa, hn::Vec<DoubleBitsTag>& exponent) {
  const DoubleBitsTag tag;
  const auto highest = hn::Set(tag, 0x7ffULL);
  const auto bits = hn::BitCast(tag, mantissa);
  const auto biased = hn::And(hn::ShiftRight<52>(bits), highest);
  const auto stays = hn::Or(hn::Eq(biased, hn::Zero(tag)), hn::Eq(biased, highest));
  const auto fraction = hn::AndNot(hn::ShiftLeft<52>(highest), bits);
  const auto normal = hn::Or(fraction, hn::Set(tag, 1023ULL << 52U));
  mantissa = hn::BitCast(DoubleTag(), hn::IfThenElse(stays, bits, normal));
  const auto change = hn::Sub(biased, hn::Set(tag, 1023ULL));
  exponent = hn::Add(exponent, hn::IfThenZeroElse(stays, change));
}

/// The number of rows that are multiplied between two normalisations of the product.
template <class T>
constexpr std::size_t kRowsAtOnce = 0;
// Six floats, each between 2^-149 and 2^128, keep a mantissa of [1, 2) normal.
template <>
constexpr std::size_t kRowsAtOnce<float> = 6;
// Doubles are normalised themselves: a thousand of [1, 2) do so too.
template <>
constexpr std::size_t kRowsAtOnce<double> = 1000;

HWY_INLINE Doubles load_factor(const float* data, hn::Vec<DoubleBitsTag>&) { return load(data); }

/// As multiply_element() does with a double.
HWY_INLINE Doubles load_factor(const double* data, hn::Vec<DoubleBitsTag>& exponent) {
  const DoubleTag doubles;
  const DoubleBitsTag tag;
  const auto x = load(data);
  const auto small = hn::Lt(hn::Abs(x), hn::Set(doubles, 0x1p-1022));
  auto factor = hn::IfThenElse(small, hn::Mul(x, hn::Set(doubles, 0x1p64)), x);
  const auto sixty_four = hn::Set(tag, std::uint64_t{64});
  exponent = hn::Sub(exponent, hn::IfThenElseZero(hn::RebindMask(tag, small), sixty_four));
  normalise_lanes(factor, exponent);
  return factor;
}

template <class T>
void multiply(const T* data, std::size_t rows, LaneProducts& products) {
  const DoubleTag doubles;
  const DoubleBitsTag tag;
  const std::size_t half = hn::Lanes(doubles);
  for (std::size_t group = 0; group < kLanes; group += 2 * half) {
    auto* exponents = reinterpret_cast<std::uint64_t*>(&products.exponents[group]);
    auto low = hn::LoadU(doubles, &products.mantissas[group]);
    auto high = hn::LoadU(doubles, &products.mantissas[group + half]);
    auto low_exponent = hn::LoadU(tag, exponents);
    auto high_exponent = hn::LoadU(tag, exponents + half);
    const T* row = data + group;
    for (std::size_t i = 0; i < rows;) {
      const std::size_t end = std::min(i + kRowsAtOnce<T>, rows);
      for (; i < end; ++i, row += kLanes) {
        low = hn::Mul(low, load_factor(row, low_exponent));
        high = hn::Mul(high, load_factor(row + half, high_exponent));
      }
      normalise_lanes(low, low_exponent);
      normalise_lanes(high, high_exponent);
    }
    hn::StoreU(low, doubles, &products.mantissas[group]);
    hn::StoreU(high, doubles, &products.mantissas[group + half]);
    hn::StoreU(low_exponent, tag, exponents);
    hn::StoreU(high_exponent, tag, exponents + half);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

// The counting compares bits, so it is right also where the program flushes subnormals to zero.

template <class T>
using BitsTag = hn::RebindToUnsigned<hn::CappedTag<T, kLanes>>;

template <class T>
HWY_INLINE hn::Vec<BitsTag<T>> load_bits(const T* data) {
  return hn::BitCast(BitsTag<T>(), hn::LoadU(hn::CappedTag<T, kLanes>(), data));
}

template <class T>
std::int64_t count_zeros(const T* data, std::size_t rows) {
  const BitsTag<T> tag;
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < rows * kLanes; i += hn::Lanes(tag)) {
    const auto x = load_bits(data + i);
    zeros += hn::CountTrue(tag, hn::Eq(hn::Add(x, x), hn::Zero(tag)));
  }
  return static_cast<std::int64_t>(zeros);
}

template <class T>
ValueCounts count_specials(const T* data, std::size_t rows) {
  using Bits = hn::TFromD<BitsTag<T>>;
  const BitsTag<T> tag;
  const hn::RebindToSigned<BitsTag<T>> signed_tag;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  constexpr auto kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  const auto pos_inf = hn::Set(tag, kInfinity);
  const auto neg_inf = hn::Set(tag, kInfinity | kSign);
  const auto magnitude = hn::Set(tag, static_cast<Bits>(~kSign));
  std::size_t nan = 0, pos = 0, neg = 0;
  for (std::size_t i = 0; i < rows * kLanes; i += hn::Lanes(tag)) {
    const auto x = load_bits(data + i);
    nan += hn::CountTrue(signed_tag, hn::Gt(hn::BitCast(signed_tag, hn::And(x, magnitude)),
                                            hn::BitCast(signed_tag, pos_inf)));
    pos += hn::CountTrue(tag, hn::Eq(x, pos_inf));
    neg += hn::CountTrue(tag, hn::Eq(x, neg_inf));
  }
  return {.nan = static_cast<std::int64_t>(nan),
          .pos_inf = static_cast<std::int64_t>(pos),
          .neg_inf = static_cast<std::int64_t>(neg)};
}

void sum_floats(const float* data, std::size_t rows, double scale, LaneSums& sums,
                Range<float>& range) {
  sum(data, rows, scale, sums, range);
}
void sum_doubles(const double* data, std::size_t rows, double scale, LaneSums& sums,
                 Range<double>& range) {
  sum(data, rows, scale, sums, range);
}
void sum_float_distances(const float* data, std::size_t rows, double scale, double mean,
                         double abs_mean, LaneDistances& sums) {
  sum_distances(data, rows, scale, mean, abs_mean, sums);
}
void sum_double_distances(const double* data, std::size_t rows, double scale, double mean,
                          double abs_mean, LaneDistances& sums) {
  sum_distances(data, rows, scale, mean, abs_mean, sums);
}
void multiply_floats(const float* data, std::size_t rows, LaneProducts& products) {
  multiply(data, rows, products);
}
void multiply_doubles(const double* data, std::size_t rows, LaneProducts& products) {
  multiply(data, rows, products);
}
std::int64_t count_float_zeros(const float* data, std::size_t rows) {
  return count_zeros(data, rows);
}
std::int64_t count_double_zeros(const double* data, std::size_t rows) {
  return count_zeros(data, rows);
}
ValueCounts count_float_specials(const float* data, std::size_t rows) {
  return count_specials(data, rows);
}
ValueCounts count_double_specials(const double* data, std::size_t rows) {
  return count_specials(data, rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace cupel::stats_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cupel::stats_detail {

HWY_EXPORT(sum_floats);
HWY_EXPORT(sum_doubles);
HWY_EXPORT(sum_float_distances);
HWY_EXPORT(sum_double_distances);
HWY_EXPORT(count_float_zeros);
HWY_EXPORT(count_double_zeros);
HWY_EXPORT(count_float_specials);
HWY_EXPORT(count_double_specials);
HWY_EXPORT(multiply_floats);
HWY_EXPORT(multiply_doubles);

void sum_rows(const float* data, std::size_t rows, double scale, LaneSums& sums,
              Range<float>& range) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_floats)(data, rows, scale, sums, range);
}
void sum_rows(const double* data, std::size_t rows, double scale, LaneSums& sums,
              Range<double>& range) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_doubles)(data, rows, scale, sums, range);
}
void sum_row_distances(const float* data, std::size_t rows, double scale, double mean,
                       double abs_mean, LaneDistances& sums) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_float_distances)(data, rows, scale, mean, abs_mean, sums);
}
void sum_row_distances(const double* data, std::size_t rows, double scale, double mean,
                       double abs_mean, LaneDistances& sums) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_double_distances)(data, rows, scale, mean, abs_mean, sums);
}
std::int64_t count_row_zeros(const float* data, std::size_t rows) noexcept {
  return HWY_DYNAMIC_DISPATCH(count_float_zeros)(data, rows);
}
std::int64_t count_row_zeros(const double* data, std::size_t rows) noexcept {
  return HWY_DYNAMIC_DISPATCH(count_double_zeros)(data, rows);
}
ValueCounts count_row_specials(const float* data, std::size_t rows) noexcept {
  return HWY_DYNAMIC_DISPATCH(count_float_specials)(data, rows);
}
ValueCounts count_row_specials(const double* data, std::size_t rows) noexcept {
  return HWY_DYNAMIC_DISPATCH(count_double_specials)(data, rows);
}
void multiply_rows(const float* data, std::size_t rows, LaneProducts& products) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply_floats)(data, rows, products);
}
void multiply_rows(const double* data, std::size_t rows, LaneProducts& products) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply_doubles)(data, rows, products);
}

}  // namespace cupel::stats_detail
#endif  // HWY_ONCE
