// Copies matrices whose columns are contiguous, as of a transposed view.
//
// A tile of the matrix is transposed into a buffer that stays in a near cache, and then copied out
// row by row. So memory is read and written in runs of several cache lines. Element by element,
// each element of a large matrix would cost a cache line, and with distances of a power of two the
// lines would evict each other. While a tile is transposed, the next one is prefetched, because the
// processor does not predict such jumps.
//
// Within a tile, vectors of 16 bytes are transposed as squares: n rows of n elements take log2(n)
// rounds, each of which interleaves row i with row i + n / 2. Elements at the edges are copied one
// by one. Any thread runs this; nothing allocates or fails.

#include "transposed_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cupel::core_detail {
namespace {

constexpr std::int64_t kVector = 16;
constexpr std::int64_t kBuffer = std::int64_t{64} << 10U;

/// A vector of elements of kSize bytes, and the two halves of two of them interleaved.
template <std::size_t kSize>
struct Vector;

template <>
struct Vector<1> {
  using Type = std::uint8_t __attribute__((vector_size(kVector)));
  static Type low(Type a, Type b) noexcept {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  static Type high(Type a, Type b) noexcept {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  }
};

template <>
struct Vector<2> {
  using Type = std::uint16_t __attribute__((vector_size(kVector)));
  static Type low(Type a, Type b) noexcept {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  static Type high(Type a, Type b) noexcept {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
};

template <>
struct Vector<4> {
  using Type = std::uint32_t __attribute__((vector_size(kVector)));
  static Type low(Type a, Type b) noexcept { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
  static Type high(Type a, Type b) noexcept { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
};

template <>
struct Vector<8> {
  using Type = std::uint64_t __attribute__((vector_size(kVector)));
  static Type low(Type a, Type b) noexcept { return __builtin_shufflevector(a, b, 0, 2); }
  static Type high(Type a, Type b) noexcept { return __builtin_shufflevector(a, b, 1, 3); }
};

/// The extents of a tile and of the squares in it, in elements.
template <std::size_t kSize>
struct Tile {
  static constexpr auto kElement = static_cast<std::int64_t>(kSize);
  static constexpr std::int64_t kSquare = kVector / kElement;
  static constexpr std::int64_t kRows = 512 / kElement;
  static constexpr std::int64_t kColumns = (kSize < 4 ? 128 : 256) / kElement;
  static constexpr std::int64_t kColumnsOfFewRows = 8 * kColumns;
  static_assert(kRows * kColumns * kElement <= kBuffer);
  static_assert(kSquare * kColumnsOfFewRows * kElement <= kBuffer);
};

template <std::size_t kSize>
void transpose_square(std::byte* out, std::int64_t out_pitch, const std::byte* in,
                      std::int64_t in_step) noexcept {
  using Type = typename Vector<kSize>::Type;
  constexpr std::size_t kSquare = Tile<kSize>::kSquare;
  Type rows[kSquare];
  Type mixed[kSquare];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSquare; ++i)
    std::memcpy(&rows[i], in + static_cast<std::int64_t>(i) * in_step, sizeof(Type));
#pragma GCC unroll 4
  for (std::size_t round = 1; round < kSquare; round *= 2) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSquare / 2; ++i) {
      mixed[2 * i] = Vector<kSize>::low(rows[i], rows[i + kSquare / 2]);
      mixed[2 * i + 1] = Vector<kSize>::high(rows[i], rows[i + kSquare / 2]);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kSquare; ++i) rows[i] = mixed[i];
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSquare; ++i)
    std::memcpy(out + static_cast<std::int64_t>(i) * out_pitch, &rows[i], sizeof(Type));
}

/// Copies `count` elements that lie `in_step` bytes apart to places `out_step` bytes apart.
template <std::size_t kSize>
void copy_elements(std::byte* out, std::int64_t out_step, const std::byte* in, std::int64_t in_step,
                   std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(out + i * out_step, in + i * in_step, kSize);
}

/// Transposes a tile of any extents into `out`, whose rows begin `out_pitch` bytes apart, and
/// prefetches the next one meanwhile.
template <std::size_t kSize>
void transpose_tile(std::byte* out, std::int64_t out_pitch, const TransposedMatrix& tile,
                    const TransposedMatrix& next) noexcept {
  constexpr std::int64_t kSquare = Tile<kSize>::kSquare;
  constexpr auto kElement = Tile<kSize>::kElement;
  const std::int64_t in_squares_rows = tile.rows / kSquare * kSquare;
  const std::int64_t in_squares_columns = tile.columns / kSquare * kSquare;
  for (std::int64_t column = 0; column < in_squares_columns; column += kSquare) {
    const std::byte* const in = tile.in + column * tile.in_step;
    // No function of its own: g++ 12 drops calls of a function that only prefetches.
    for (std::int64_t k = column; k < std::min(column + kSquare, next.columns); ++k)
      for (std::int64_t at = 0; at < next.rows * kElement; at += kCacheLine)
        __builtin_prefetch(next.in + k * next.in_step + at);
    for (std::int64_t row = 0; row < in_squares_rows; row += kSquare)
      transpose_square<kSize>(out + row * out_pitch + column * kElement, out_pitch,
                              in + row * kElement, tile.in_step);
  }
  for (std::int64_t column = in_squares_columns; column < tile.columns; ++column)
    copy_elements<kSize>(out + column * kElement, out_pitch, tile.in + column * tile.in_step,
                         kElement, in_squares_rows);
  for (std::int64_t row = in_squares_rows; row < tile.rows; ++row)
    copy_elements<kSize>(out + row * out_pitch, kElement, tile.in + row * kElement, tile.in_step,
                         tile.columns);
}

#if defined(__SSE2__)

void stream(std::byte* out, const std::byte* in, std::int64_t bytes) noexcept {
  const auto misaligned =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % kCacheLine);
  std::int64_t at = std::min((kCacheLine - misaligned) % kCacheLine, bytes);
  std::memcpy(out, in, static_cast<std::size_t>(at));
  for (; at + kCacheLine <= bytes; at += kCacheLine)
    for (std::int64_t part = at; part < at + kCacheLine; part += kVector)
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + part)));
  std::memcpy(out + at, in + at, static_cast<std::size_t>(bytes - at));
}

#else

void stream(std::byte* out, const std::byte* in, std::int64_t bytes) noexcept {
  std::memcpy(out, in, static_cast<std::size_t>(bytes));
}

#endif

void put(std::byte* out, const std::byte* in, std::int64_t bytes, bool past_caches) noexcept {
  if (past_caches)
    stream(out, in, bytes);
  else
    std::memcpy(out, in, static_cast<std::size_t>(bytes));
}

/// The extent of a tile that begins at `first`: `most`, or less so that the next one begins with a
/// cache line.
template <std::size_t kSize>
std::int64_t extent_to_line(const std::byte* first, std::int64_t most) noexcept {
  const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(first) % kCacheLine;
  return most - static_cast<std::int64_t>(beyond / kSize);
}

/// The tile of a matrix that begins at a row and a column; empty behind the last row.
template <std::size_t kSize>
TransposedMatrix tile_at(const TransposedMatrix& matrix, std::int64_t row,
                         std::int64_t column) noexcept {
  using Tiles = Tile<kSize>;
  if (row >= matrix.rows) return {};
  TransposedMatrix tile = matrix;
  const std::byte* const first = matrix.in + row * Tiles::kElement;
  tile.in = first + column * matrix.in_step;
  tile.out += row * matrix.out_pitch + column * Tiles::kElement;
  tile.rows = std::min(extent_to_line<kSize>(first, Tiles::kRows), matrix.rows - row);
  const std::int64_t most = tile.rows < Tiles::kSquare ? Tiles::kColumnsOfFewRows : Tiles::kColumns;
  tile.columns = std::min(extent_to_line<kSize>(tile.out, most), matrix.columns - column);
  return tile;
}

template <std::size_t kSize>
void copy_tiles(const TransposedMatrix& matrix, bool past_caches) noexcept {
  alignas(kCacheLine) std::array<std::byte, kBuffer> buffer;
  std::int64_t row = 0;
  std::int64_t column = 0;
  TransposedMatrix tile = tile_at<kSize>(matrix, row, column);
  while (tile.rows > 0) {
    column += tile.columns;
    if (column == matrix.columns) {
      column = 0;
      row += tile.rows;
    }
    const TransposedMatrix next = tile_at<kSize>(matrix, row, column);
    const std::int64_t pitch = tile.columns * static_cast<std::int64_t>(kSize);
    transpose_tile<kSize>(buffer.data(), pitch, tile, next);
    if (tile.out_pitch == pitch)
      put(tile.out, buffer.data(), tile.rows * pitch, past_caches);
    else
      for (std::int64_t i = 0; i < tile.rows; ++i)
        put(tile.out + i * tile.out_pitch, buffer.data() + i * pitch, pitch, past_caches);
    tile = next;
  }
}

template <class F>
void with_size(std::size_t size, F&& f) noexcept {
  switch (size) {
    case 1:
      return f(std::integral_constant<std::size_t, 1>());
    case 2:
      return f(std::integral_constant<std::size_t, 2>());
    case 4:
      return f(std::integral_constant<std::size_t, 4>());
    default:
      return f(std::integral_constant<std::size_t, 8>());
  }
}

}  // namespace

std::int64_t transposed_rows_at_once(std::size_t size) noexcept {
  std::int64_t rows = 0;
  with_size(size, [&rows](auto constant) { rows = Tile<constant.value>::kRows; });
  return rows;
}

void copy_transposed(const TransposedMatrix& matrix, std::size_t size, bool past_caches) noexcept {
  with_size(size, [&](auto constant) { copy_tiles<constant.value>(matrix, past_caches); });
}

void finish_past_caches() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace cupel::core_detail
