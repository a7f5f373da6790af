// Loads of elements that are narrower than the numbers that kernels compute with. Kernels include
// this file once per instruction set.

#if defined(CUPEL_STATS_WIDEN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUPEL_STATS_WIDEN_INL_H
#undef CUPEL_STATS_WIDEN_INL_H
#else
#define CUPEL_STATS_WIDEN_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cupel::stats_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// As many elements as the wide vector has lanes, from any address.
template <class T, class WideTag>
HWY_INLINE hn::Vec<hn::Rebind<T, WideTag>> load_narrow(WideTag, const std::byte* from) {
  const hn::Rebind<T, WideTag> tag;
#if HWY_TARGET == HWY_SCALAR
  T element;
  std::memcpy(&element, from, sizeof element);
  return hn::Set(tag, element);
#else
  const hn::Repartition<std::uint8_t, decltype(tag)> bytes;
  return hn::BitCast(tag, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

template <class FloatTag>
HWY_INLINE hn::Vec<FloatTag> load_float16(FloatTag floats, const std::byte* from) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  return hn::PromoteTo(floats, load_narrow<hwy::float16_t>(floats, from));
#else
  const hn::RebindToUnsigned<FloatTag> tag;
  const auto bits = hn::PromoteTo(tag, load_narrow<std::uint16_t>(floats, from));
  const auto magnitude = hn::And(bits, hn::Set(tag, 0x7fffU));
  const auto exponent = hn::And(bits, hn::Set(tag, 0x7c00U));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(tag, 112U << 23U));
  const auto special = hn::Or(shifted, hn::Set(tag, 0x7f800000U));
  const auto fraction =
      hn::ConvertTo(floats, hn::BitCast(hn::RebindToSigned<FloatTag>(), magnitude));
  const auto subnormal = hn::BitCast(tag, hn::Mul(fraction, hn::Set(floats, 0x1p-24F)));
  const auto finite = hn::IfThenElse(hn::Eq(exponent, hn::Zero(tag)), subnormal, normal);
  const auto value = hn::IfThenElse(hn::Eq(exponent, hn::Set(tag, 0x7c00U)), special, finite);
  return hn::BitCast(floats, hn::Or(value, hn::ShiftLeft<16>(hn::Sub(bits, magnitude))));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace cupel::stats_detail
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
