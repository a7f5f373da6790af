#pragma once

// Presents elements of any dtype as blocks of floats, where a float holds every value exactly, and
// of doubles otherwise.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cupel/core/dtype.h"
#include "cupel/stats/statistics.h"
#include "widen_kernels.h"

namespace cupel::stats_detail {

template <class Wide, class F>
void for_each_block_of(DType dtype, const std::byte* data, std::size_t elements, F&& f) {
  constexpr std::size_t kBlock = StatisticsAccumulator::kBlockElements;
  const bool wide = dtype == kDTypeOf<Wide>;
  const bool in_place = wide && reinterpret_cast<std::uintptr_t>(data) % alignof(Wide) == 0;
  alignas(64) std::array<Wide, kBlock> copy;
  for (std::size_t done = 0; done < elements; done += kBlock) {
    const std::size_t count = std::min(kBlock, elements - done);
    const std::byte* const source = data + done * element_size(dtype);
    const Wide* block = copy.data();
    if (in_place)
      block = reinterpret_cast<const Wide*>(source);
    else if (wide)
      std::memcpy(copy.data(), source, count * sizeof(Wide));
    else
      widen(dtype, source, count, copy.data());
    f(block, count);
  }
}

/// Calls `f(const float*, count)` or `f(const double*, count)` for one block after the other; every
/// block but the last is full. `data` may be misaligned.
template <class F>
void for_each_block(DType dtype, const void* data, std::size_t elements, F&& f) {
  const auto* bytes = static_cast<const std::byte*>(data);
  if (fits_float(dtype))
    for_each_block_of<float>(dtype, bytes, elements, f);
  else
    for_each_block_of<double>(dtype, bytes, elements, f);
}

}  // namespace cupel::stats_detail
