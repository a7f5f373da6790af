// Sums and extremes of F16 and BF16. This file is compiled once per instruction set.
//
// As with floats, two vectors of doubles cover a group of lanes, and each group takes one sweep.
// The extremes are those of the bits. The bits of negative halves grow with the magnitude, so the
// extremes follow from unsigned and signed comparisons together. Extremes are taken of two rows at
// a time, and each sweep takes those of one part of them.

#include "half_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "plain_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "half_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "widen_inl.h"

HWY_BEFORE_NAMESPACE();
namespace cupel::stats_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <class Half>
void sum_halves(const std::byte* data, std::size_t rows, LaneSums& sums, Range<float>& range) {
  sums = {};
  for (std::size_t i = 0; i < rows * kLanes; ++i) {
    Half half;
    std::memcpy(&half, data + i * sizeof half, sizeof half);
    const auto x = static_cast<float>(half);
    add_element(sums, i % kLanes, static_cast<double>(x));
    range.widen(x);
  }
}

#else

using FloatTag = hn::CappedTag<float, kLanes>;
using DoubleTag = hn::RepartitionToWide<FloatTag>;
using HalfFloatTag = hn::Rebind<float, DoubleTag>;  // the floats that promote to one vector
using HalfTag = hn::Repartition<std::uint16_t, FloatTag>;
using SignedHalfTag = hn::RebindToSigned<HalfTag>;
using Doubles = hn::Vec<DoubleTag>;

HWY_INLINE void load(Float16, const std::byte* from, Doubles& low, Doubles& high) {
  const std::size_t bytes = hn::Lanes(DoubleTag()) * sizeof(Float16);
  low = hn::PromoteTo(DoubleTag(), load_float16(HalfFloatTag(), from));
  high = hn::PromoteTo(DoubleTag(), load_float16(HalfFloatTag(), from + bytes));
}
HWY_INLINE void store(Float16, Doubles low, Doubles high, double* to) {
  hn::StoreU(low, DoubleTag(), to);
  hn::StoreU(high, DoubleTag(), to + hn::Lanes(DoubleTag()));
}

// A pair of these is an integer of 32 bits: even elements are low, odd ones high.
HWY_INLINE void load(BFloat16, const std::byte* from, Doubles& low, Doubles& high) {
  const hn::RebindToUnsigned<HalfFloatTag> pairs;
  const auto both = load_narrow<std::uint32_t>(HalfFloatTag(), from);
  const auto even = hn::ShiftLeft<16>(both);
  const auto odd = hn::And(both, hn::Set(pairs, 0xffff0000U));
  low = hn::PromoteTo(DoubleTag(), hn::BitCast(HalfFloatTag(), even));
  high = hn::PromoteTo(DoubleTag(), hn::BitCast(HalfFloatTag(), odd));
}
HWY_INLINE void store(BFloat16, Doubles low, Doubles high, double* to) {
  hn::StoreInterleaved2(low, high, DoubleTag(), to);
}

/// The least and the greatest of elements' bits, unsigned and signed.
struct BitExtremes {
  std::uint16_t least, greatest;
  std::int16_t signed_least, signed_greatest;
};

HWY_INLINE hn::Vec<FloatTag> load_floats(Float16, const std::byte* from) {
  return load_float16(FloatTag(), from);
}
HWY_INLINE hn::Vec<FloatTag> load_floats(BFloat16, const std::byte* from) {
  const auto bits =
      hn::PromoteTo(hn::RebindToUnsigned<FloatTag>(), load_narrow<std::uint16_t>(FloatTag(), from));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bits));
}

template <class Half>
Range<float> range_of(const BitExtremes& bits) {
  const bool any_negative = bits.greatest > 0x7fff;
  const bool any_positive = bits.least <= 0x7fff;
  const auto least_magnitude = static_cast<std::uint16_t>(bits.signed_least & 0x7fff);
  const std::uint16_t found[kLanes] = {
      any_negative ? bits.greatest : bits.least,
      any_positive ? static_cast<std::uint16_t>(bits.signed_greatest) : bits.least,
      any_negative ? any_positive ? std::min(bits.least, least_magnitude) : least_magnitude
                   : bits.least};
  float floats[kLanes];
  const auto wide = load_floats(Half(), reinterpret_cast<const std::byte*>(found));
  hn::StoreU(wide, FloatTag(), floats);
  return {floats[0], floats[1], floats[2]};
}

template <class Half>
void sum_halves(const std::byte* data, std::size_t rows, LaneSums& sums, Range<float>& range) {
  constexpr std::size_t kRowBytes = kLanes * sizeof(Half);
  const DoubleTag doubles;
  const HalfTag halves;
  const SignedHalfTag signed_halves;
  const std::size_t half = hn::Lanes(doubles);
  auto least = hn::Set(halves, std::uint16_t{0xffff});
  auto greatest = hn::Zero(halves);
  auto signed_least = hn::Set(signed_halves, std::int16_t{0x7fff});
  auto signed_greatest = hn::Set(signed_halves, std::int16_t{-0x8000});
  for (std::size_t group = 0; group < kLanes; group += 2 * half) {
    auto low_sum = hn::Zero(doubles), high_sum = low_sum;
    auto low_magnitudes = low_sum, high_magnitudes = low_sum;
    auto low_squares = low_sum, high_squares = low_sum;
    const auto add = [&](const std::byte* from) HWY_ATTR {
      Doubles low, high;
      load(Half(), from, low, high);
      low_sum = hn::Add(low_sum, low);
      high_sum = hn::Add(high_sum, high);
      low_magnitudes = hn::Add(low_magnitudes, hn::Abs(low));
      high_magnitudes = hn::Add(high_magnitudes, hn::Abs(high));
      low_squares = hn::MulAdd(low, low, low_squares);  // the square of a half is exact
      high_squares = hn::MulAdd(high, high, high_squares);
    };
    const std::byte* row = data + group * sizeof(Half);
    const std::byte* part = data + 2 * group * sizeof(Half);
    for (std::size_t i = 0; i < rows; i += 2, row += 2 * kRowBytes, part += 2 * kRowBytes) {
      const auto bits = load_narrow<std::uint16_t>(halves, part);
      const auto signed_bits = hn::BitCast(signed_halves, bits);
      least = hn::Min(least, bits);
      greatest = hn::Max(greatest, bits);
      signed_least = hn::Min(signed_least, signed_bits);
      signed_greatest = hn::Max(signed_greatest, signed_bits);
      add(row);
      add(row + kRowBytes);
    }
    store(Half(), low_sum, high_sum, &sums.values[group]);
    store(Half(), low_magnitudes, high_magnitudes, &sums.magnitudes[group]);
    store(Half(), low_squares, high_squares, &sums.squares[group]);
  }
  range = range_of<Half>({hn::GetLane(hn::MinOfLanes(halves, least)),
                          hn::GetLane(hn::MaxOfLanes(halves, greatest)),
                          hn::GetLane(hn::MinOfLanes(signed_halves, signed_least)),
                          hn::GetLane(hn::MaxOfLanes(signed_halves, signed_greatest))});
}

#endif  // HWY_TARGET == HWY_SCALAR

void sum_either_halves(DType dtype, const std::byte* data, std::size_t rows, LaneSums& sums,
                       Range<float>& range) {
  if (dtype == DType::F16)
    sum_halves<Float16>(data, rows, sums, range);
  else
    sum_halves<BFloat16>(data, rows, sums, range);
}

std::int64_t count_half_zeros(const std::byte* data, std::size_t rows) {
  const hn::CappedTag<std::uint16_t, kLanes> tag;
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < rows * kLanes; i += hn::Lanes(tag)) {
    const auto bits = load_narrow<std::uint16_t>(tag, data + i * sizeof(std::uint16_t));
    zeros += hn::CountTrue(tag, hn::Eq(hn::Add(bits, bits), hn::Zero(tag)));
  }
  return static_cast<std::int64_t>(zeros);
}

}  // namespace HWY_NAMESPACE
}  // namespace cupel::stats_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cupel::stats_detail {

HWY_EXPORT(sum_either_halves);
HWY_EXPORT(count_half_zeros);

void sum_half_rows(DType dtype, const std::byte* data, std::size_t rows, LaneSums& sums,
                   Range<float>& range) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_either_halves)(dtype, data, rows, sums, range);
}
std::int64_t count_half_row_zeros(const std::byte* data, std::size_t rows) noexcept {
  return HWY_DYNAMIC_DISPATCH(count_half_zeros)(data, rows);
}

}  // namespace cupel::stats_detail
#endif  // HWY_ONCE
