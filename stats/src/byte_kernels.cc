// Sums and extremes of integers and bools of 8 bits. This file is compiled once per instruction
// set.
//
// The sums of a block are whole numbers of at most 28 bits, which a double holds exactly. So
// vectors of any length and additions in any order give the same bits as the sixteen lanes that
// other elements are summed in, and no element becomes a float. Signed elements are summed and
// compared as unsigned ones after 128 was added.

#include "byte_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "cupel/stats/statistics.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "byte_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cupel::stats_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlockBytes = StatisticsAccumulator::kBlockElements;
constexpr int kBias = 128;

#if HWY_TARGET == HWY_SCALAR

template <class T>
ByteSums sum_all(const std::uint8_t* data) {
  ByteSums sums{.min = 255, .max = -kBias, .abs_min = 255};
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    const int x = static_cast<T>(data[i]);  // a bool: whether it is not 0
    const int magnitude = std::abs(x);
    sums.values += x;
    sums.magnitudes += magnitude;
    sums.squares += x * x;
    sums.min = std::min(sums.min, x);
    sums.max = std::max(sums.max, x);
    sums.abs_min = std::min(sums.abs_min, magnitude);
  }
  return sums;
}

#else

constexpr std::size_t kMostBytes = 64;  // of a vector
using ByteTag = hn::CappedTag<std::uint8_t, kMostBytes>;
using SignedByteTag = hn::RebindToSigned<ByteTag>;
using PairTag = hn::Repartition<std::uint16_t, ByteTag>;
using SquareTag = hn::Repartition<std::int32_t, ByteTag>;
using SumTag = hn::Repartition<std::uint64_t, ByteTag>;
using Bytes = hn::Vec<ByteTag>;

HWY_INLINE hn::Vec<PairTag> even_bytes(Bytes x) {
  return hn::And(hn::BitCast(PairTag(), x), hn::Set(PairTag(), std::uint16_t{0xff}));
}
HWY_INLINE hn::Vec<PairTag> odd_bytes(Bytes x) {
  return hn::ShiftRight<8>(hn::BitCast(PairTag(), x));
}

HWY_INLINE int least(Bytes x) {
  return hn::GetLane(hn::MinOfLanes(PairTag(), hn::Min(even_bytes(x), odd_bytes(x))));
}
HWY_INLINE int greatest(Bytes x) {
  return hn::GetLane(hn::MaxOfLanes(PairTag(), hn::Max(even_bytes(x), odd_bytes(x))));
}
HWY_INLINE std::int64_t total(hn::Vec<SumTag> x) {
  return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(SumTag(), x)));
}

/// How many bytes ahead a sweep prefetches, as in row_kernels.cc.
constexpr std::size_t kPrefetched = 4096;

template <class T>
ByteSums sum_all(const std::uint8_t* data) {
  constexpr bool kSigned = std::is_signed_v<T>;
  const ByteTag tag;
  const SignedByteTag signed_tag;
  const SquareTag square_tag;
  const hn::RebindToSigned<PairTag> factor_tag;
  const auto bias = hn::Set(tag, static_cast<std::uint8_t>(kBias));
  const auto one = hn::Set(tag, std::uint8_t{1});
  auto values = hn::Zero(SumTag()), magnitudes = values;
  auto squares = hn::Zero(square_tag), more_squares = squares;
  auto rest = squares, more_rest = squares;
  auto min = hn::Set(tag, std::uint8_t{255}), abs_min = min;
  auto max = hn::Zero(tag);
  for (std::size_t i = 0; i < kBlockBytes; i += hn::Lanes(tag)) {
    hwy::Prefetch(data + i + kPrefetched);
    auto x = hn::LoadU(tag, data + i);
    if constexpr (std::is_same_v<T, bool>) x = hn::Min(x, one);
    auto magnitude = x;
    if constexpr (kSigned) {
      magnitude = hn::BitCast(tag, hn::Abs(hn::BitCast(signed_tag, x)));  // of -128: 128
      x = hn::Xor(x, bias);
      values = hn::Add(values, hn::SumsOf8(x));
      abs_min = hn::Min(abs_min, magnitude);
    }
    magnitudes = hn::Add(magnitudes, hn::SumsOf8(magnitude));
    min = hn::Min(min, x);
    max = hn::Max(max, x);
    if constexpr (!std::is_same_v<T, bool>) {
      const auto even = hn::BitCast(factor_tag, even_bytes(magnitude));
      const auto odd = hn::BitCast(factor_tag, odd_bytes(magnitude));
      squares = hn::ReorderWidenMulAccumulate(square_tag, even, even, squares, rest);
      more_squares = hn::ReorderWidenMulAccumulate(square_tag, odd, odd, more_squares, more_rest);
    }
  }
  ByteSums sums;
  sums.magnitudes = total(magnitudes);
  sums.min = least(min);
  sums.max = greatest(max);
  if constexpr (kSigned) {
    sums.values = total(values) - kBias * static_cast<std::int64_t>(kBlockBytes);
    sums.min -= kBias;
    sums.max -= kBias;
    sums.abs_min = least(abs_min);
  } else {
    sums.values = sums.magnitudes;
    sums.abs_min = sums.min;
  }
  if constexpr (std::is_same_v<T, bool>) {
    sums.squares = sums.values;
  } else {
    const auto all = hn::Add(hn::Add(squares, rest), hn::Add(more_squares, more_rest));
    sums.squares = hn::GetLane(hn::SumOfLanes(square_tag, all));
  }
  return sums;
}

#endif  // HWY_TARGET == HWY_SCALAR

ByteSums sum_any_bytes(DType dtype, const std::byte* data) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data);
  if (dtype == DType::I8) return sum_all<std::int8_t>(bytes);
  if (dtype == DType::U8) return sum_all<std::uint8_t>(bytes);
  return sum_all<bool>(bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace cupel::stats_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cupel::stats_detail {

HWY_EXPORT(sum_any_bytes);

ByteSums sum_bytes(DType dtype, const std::byte* data) noexcept {
  return HWY_DYNAMIC_DISPATCH(sum_any_bytes)(dtype, data);
}

}  // namespace cupel::stats_detail
#endif  // HWY_ONCE
