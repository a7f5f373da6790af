#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "cupel/core/tensor_view.h"
#include "cupel/stats/statistics.h"

namespace cupel::stats_detail {

/// Reads the elements of a strided view in row-major order, a piece at a time.
class StridedReader {
 public:
  explicit StridedReader(const TensorView& view) noexcept;
  /// Copies the next elements, at most `capacity` of them, and returns how many; 0 at the end.
  std::size_t read(std::byte* out, std::size_t capacity) noexcept;

 private:
  struct Axis {
    std::int64_t extent;
    std::int64_t step;  // in bytes
    std::int64_t index;
  };
  void next_run() noexcept;

  const std::byte* next_;
  std::int64_t element_size_;
  std::int64_t left_;
  std::array<Axis, Shape::kMaxRank> axes_;  // outer to inner, neighbours merged where possible
  std::size_t rank_ = 0;
};

/// Calls `f(const void* data, std::size_t count)` for pieces of a view in row-major order: once for
/// a contiguous view, else with bounded copies. Every piece but the last is a whole number of
/// blocks.
template <class F>
void for_each_piece(const TensorView& view, F&& f) {
  const std::int64_t elements = view.elements();
  if (elements <= 0) return;
  if (view.is_contiguous()) {
    f(view.data(), static_cast<std::size_t>(elements));
    return;
  }
  constexpr std::size_t kPiece = StatisticsAccumulator::kBlockElements;
  alignas(64) std::array<std::byte, kPiece * sizeof(double)> piece;
  StridedReader reader(view);
  while (const std::size_t count = reader.read(piece.data(), kPiece))
    f(static_cast<const void*>(piece.data()), count);
}

}  // namespace cupel::stats_detail
