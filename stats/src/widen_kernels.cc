// Included once per instruction set. Doubles that there are no instructions for are put together
// from bits: under the exponent of 2^52 a fraction counts ones, under that of 2^84 it counts 2^32s.

#include "widen_kernels.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cupel/core/element_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "widen_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "widen_inl.h"

HWY_BEFORE_NAMESPACE();
namespace cupel::stats_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kMostLanes = 16;
using FloatTag = hn::CappedTag<float, kMostLanes>;
using DoubleTag = hn::RepartitionToWide<FloatTag>;

/// Only the last addition rounds.
template <class T>
HWY_INLINE hn::Vec<DoubleTag> widen_64_bits(DoubleTag doubles, const std::byte* from) {
  constexpr std::uint64_t kSign = std::is_signed_v<T> ? 1ULL << 31U : 0;
  constexpr double kBeyond = 0x1p84 + 0x1p52 + (std::is_signed_v<T> ? 0x1p63 : 0);
  const hn::RebindToUnsigned<DoubleTag> tag;
  const auto bits = load_narrow<std::uint64_t>(doubles, from);
  const auto lower =
      hn::Or(hn::And(bits, hn::Set(tag, 0xffffffffULL)), hn::Set(tag, 0x433ULL << 52U));
  const auto upper = hn::Xor(hn::ShiftRight<32>(bits), hn::Set(tag, 0x453ULL << 52U | kSign));
  return hn::Add(hn::Sub(hn::BitCast(doubles, upper), hn::Set(doubles, kBeyond)),
                 hn::BitCast(doubles, lower));
}

template <class T>
HWY_INLINE hn::Vec<FloatTag> load_wide(FloatTag tag, const std::byte* from) {
  const hn::RebindToSigned<FloatTag> ints;
  if constexpr (std::is_same_v<T, Float16>) {
    return load_float16(tag, from);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const auto bits = hn::PromoteTo(ints, load_narrow<std::uint16_t>(tag, from));
    return hn::BitCast(tag, hn::ShiftLeft<16>(bits));
  } else if constexpr (std::is_same_v<T, bool>) {
    const hn::Rebind<std::uint8_t, FloatTag> bytes;
    const auto any = load_narrow<std::uint8_t>(tag, from);
    const auto one = hn::Min(any, hn::Set(bytes, std::uint8_t{1}));
    return hn::ConvertTo(tag, hn::PromoteTo(ints, one));
  } else {
    return hn::ConvertTo(tag, hn::PromoteTo(ints, load_narrow<T>(tag, from)));
  }
}

template <class T>
HWY_INLINE hn::Vec<DoubleTag> load_wide(DoubleTag tag, const std::byte* from) {
  if constexpr (sizeof(T) == 8) {
    return widen_64_bits<T>(tag, from);
  } else if constexpr (std::is_signed_v<T>) {
    return hn::PromoteTo(tag, load_narrow<T>(tag, from));
  } else {
    const hn::RebindToUnsigned<DoubleTag> bits;
    const auto ones = hn::PromoteTo(bits, load_narrow<T>(tag, from));
    const auto biased = hn::BitCast(tag, hn::Or(ones, hn::Set(bits, 0x433ULL << 52U)));
    return hn::Sub(biased, hn::Set(tag, 0x1p52));
  }
}

template <class T, class Wide>
void widen_all(const std::byte* from, std::size_t count, Wide* to) {
  const std::conditional_t<std::is_same_v<Wide, float>, FloatTag, DoubleTag> tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(load_wide<T>(tag, from + i * sizeof(T)), tag, to + i);
  if (i == count) return;
  std::byte rest[kMostLanes * sizeof(T)] = {};
  Wide wide_rest[kMostLanes];
  std::memcpy(rest, from + i * sizeof(T), (count - i) * sizeof(T));
  hn::StoreU(load_wide<T>(tag, rest), tag, wide_rest);
  std::copy(wide_rest, wide_rest + (count - i), to + i);
}

void widen_to_float(DType dtype, const std::byte* from, std::size_t count, float* to) {
  with_element_type(dtype, [&]<class T>(T) {
    if constexpr (sizeof(T) <= 2) widen_all<T>(from, count, to);
  });
}

void widen_to_double(DType dtype, const std::byte* from, std::size_t count, double* to) {
  with_element_type(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) widen_all<T>(from, count, to);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace cupel::stats_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cupel::stats_detail {

HWY_EXPORT(widen_to_float);
HWY_EXPORT(widen_to_double);

void widen(DType dtype, const std::byte* from, std::size_t count, float* to) noexcept {
  assert(fits_float(dtype) && dtype != DType::F32);
  HWY_DYNAMIC_DISPATCH(widen_to_float)(dtype, from, count, to);
}
void widen(DType dtype, const std::byte* from, std::size_t count, double* to) noexcept {
  assert(!fits_float(dtype) && !is_floating(dtype));
  HWY_DYNAMIC_DISPATCH(widen_to_double)(dtype, from, count, to);
}

}  // namespace cupel::stats_detail
#endif  // HWY_ONCE
