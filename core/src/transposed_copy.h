#pragma once

#include <cstddef>
#include <cstdint>

namespace cupel::core_detail {

inline constexpr std::int64_t kCacheLine = 64;

/// A matrix to copy whose columns lie one after another in memory: the neighbours in a column are
/// `size` bytes apart, those in a row `in_step` bytes. The copy's rows begin `out_pitch` bytes
/// apart, and their elements lie one after another.
struct TransposedMatrix {
  const std::byte* in;
  std::int64_t in_step;
  std::byte* out;
  std::int64_t out_pitch;
  std::int64_t rows;
  std::int64_t columns;
};

/// The number of rows that copy_transposed() handles at a time.
std::int64_t transposed_rows_at_once(std::size_t size) noexcept;

/// Copies a matrix of elements of 1, 2, 4 or 8 bytes. With `past_caches`, whole cache lines of the
/// copy go past the caches, and the caller calls finish_past_caches() before anybody reads them.
void copy_transposed(const TransposedMatrix& matrix, std::size_t size, bool past_caches) noexcept;

/// Orders the stores that went past the caches before all later ones, as other threads see them.
void finish_past_caches() noexcept;

}  // namespace cupel::core_detail
