// Counts zeros, infinities and NaNs. This file is compiled once per instruction set.
//
// Elements are compared as bits, so the counts are right also where the program flushes subnormals
// to zero. The first sweep over a block counts zeros and finds out whether any magnitude is that of
// an infinity or above. Only then a second sweep counts infinities and NaNs.

#include "cupel/stats/value_counting.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cupel/core/element_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "value_counting.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "widen_inl.h"

HWY_BEFORE_NAMESPACE();
namespace cupel::stats_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlockBytes = std::size_t{8} << 10U;
constexpr std::size_t kMostLanes = 32;

/// The bits of a floating-point format.
template <class T>
struct Format {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  static constexpr int kFractionBits = std::is_same_v<T, Float16>    ? 10
                                       : std::is_same_v<T, BFloat16> ? 7
                                       : std::is_same_v<T, float>    ? 23
                                                                     : 52;
  static constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  static constexpr auto kInfinity = static_cast<Bits>(kSign - (Bits{1} << kFractionBits));
  static constexpr auto kMagnitude = static_cast<Bits>(kSign - 1);
};

/// Calls `f(tag, bits)` for all elements, a vector at a time. The last vector is filled up with the
/// bits 1, which are a small number in each format.
template <class T, class F>
HWY_INLINE void for_each_vector(const std::byte* data, std::size_t elements, F&& f) {
  using Bits = typename Format<T>::Bits;
  const hn::CappedTag<Bits, kMostLanes> tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= elements; i += lanes) f(tag, load_narrow<Bits>(tag, data + i * sizeof(Bits)));
  if (i == elements) return;
  Bits rest[kMostLanes];
  std::fill_n(rest, kMostLanes, Bits{1});
  std::memcpy(rest, data + i * sizeof(Bits), (elements - i) * sizeof(Bits));
  f(tag, load_narrow<Bits>(tag, reinterpret_cast<const std::byte*>(rest)));
}

template <class T>
void count_block(const std::byte* data, std::size_t elements, ValueCounts& counts) {
  using Bits = typename Format<T>::Bits;
  const hn::CappedTag<Bits, kMostLanes> all;
  const auto magnitude_of = hn::Set(all, Format<T>::kMagnitude);
  // Adding this sets the sign's bit of an infinity's magnitude and of those above it.
  const auto distance = hn::Set(all, static_cast<Bits>(Format<T>::kSign - Format<T>::kInfinity));
  std::size_t zero = 0, nan = 0, positive = 0, negative = 0;
  auto carried = hn::Zero(all);
  for_each_vector<T>(data, elements, [&](auto tag, auto bits) HWY_ATTR {
    const auto magnitude = hn::And(bits, magnitude_of);
    zero += hn::CountTrue(tag, hn::Eq(magnitude, hn::Zero(tag)));
    carried = hn::Or(carried, hn::Add(magnitude, distance));
  });
  const auto signs = hn::And(carried, hn::Set(all, Format<T>::kSign));
  if (!hn::AllTrue(all, hn::Eq(signs, hn::Zero(all)))) {
    const auto infinity = hn::Set(all, Format<T>::kInfinity);
    const auto minus_infinity =
        hn::Set(all, static_cast<Bits>(Format<T>::kInfinity | Format<T>::kSign));
    const hn::RebindToSigned<decltype(all)> numbers;
    for_each_vector<T>(data, elements, [&](auto tag, auto bits) HWY_ATTR {
      positive += hn::CountTrue(tag, hn::Eq(bits, infinity));
      negative += hn::CountTrue(tag, hn::Eq(bits, minus_infinity));
      const auto magnitude = hn::BitCast(numbers, hn::And(bits, magnitude_of));
      nan += hn::CountTrue(numbers, hn::Gt(magnitude, hn::BitCast(numbers, infinity)));
    });
  }
  counts.nan += static_cast<std::int64_t>(nan);
  counts.pos_inf += static_cast<std::int64_t>(positive);
  counts.neg_inf += static_cast<std::int64_t>(negative);
  counts.zero += static_cast<std::int64_t>(zero);
}

void count_any(DType dtype, const std::byte* data, std::size_t elements, ValueCounts& counts) {
  with_element_type(dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Float16> ||
                  std::is_same_v<T, BFloat16>) {
      constexpr std::size_t kBlock = kBlockBytes / sizeof(T);
      for (std::size_t done = 0; done < elements; done += kBlock)
        count_block<T>(data + done * sizeof(T), std::min(kBlock, elements - done), counts);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace cupel::stats_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cupel {
namespace stats_detail {

HWY_EXPORT(count_any);

}  // namespace stats_detail

void count_values(DType dtype, const void* data, std::size_t elements,
                  ValueCounts& counts) noexcept {
  using namespace stats_detail;
  HWY_DYNAMIC_DISPATCH(count_any)(dtype, static_cast<const std::byte*>(data), elements, counts);
}

}  // namespace cupel
#endif  // HWY_ONCE
