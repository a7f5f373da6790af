// Copying walks over the axes of a view after neighbours that lie one after another were merged:
// runs of the innermost axis are copied one by one (copy_runs). Where the elements of another axis
// lie one after another in memory, as in a transposed matrix or between NCHW and NHWC, that axis
// and the innermost one form matrices to transpose (copy_matrices). Nothing here allocates, throws
// or reads an element that is not the view's.

#include "cupel/core/tensor_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "transposed_copy.h"

namespace cupel {
namespace {

// Smaller matrices are not worth a tile of their own.
constexpr std::int64_t kSmallestMatrix = 64;
// A copy of so many bytes goes past the caches, since they would not hold it beside its source.
constexpr std::int64_t kPastCaches = std::int64_t{512} << 10U;

struct Axis {
  std::int64_t extent;
  std::int64_t stride;
};

/// The axes of a view from outer to inner, without those of extent 1 and with neighbours merged
/// that lie one after another in memory: a row-major tensor has one axis left, a scalar none.
struct Walk {
  std::array<Axis, Shape::kMaxRank> axes{};
  std::size_t rank = 0;

  Walk(const Shape& shape, const Shape& strides) noexcept {
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      const Axis axis{shape[i], strides[i]};
      Axis* outer = rank > 0 ? &axes[rank - 1] : nullptr;
      std::int64_t reach = 0;
      if (outer != nullptr && !__builtin_mul_overflow(axis.extent, axis.stride, &reach) &&
          outer->stride == reach)
        *outer = {outer->extent * axis.extent, axis.stride};
      else
        axes[rank++] = axis;
    }
  }
};

/// Copies `count` elements of kSize bytes that lie `step` bytes apart.
template <std::size_t kSize>
void gather(std::byte* out, const std::byte* in, std::int64_t count, std::int64_t step) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out, in, kSize);
    out += kSize;
    in += step;
  }
}

void copy_axis(std::byte* out, const std::byte* in, std::int64_t count, std::int64_t step,
               std::size_t size) noexcept {
  if (step == static_cast<std::int64_t>(size)) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * size);
    return;
  }
  switch (size) {
    case 1:
      return gather<1>(out, in, count, step);
    case 2:
      return gather<2>(out, in, count, step);
    case 4:
      return gather<4>(out, in, count, step);
    case 8:
      return gather<8>(out, in, count, step);
    default:
      return;
  }
}

/// A position in a walk over several axes, outer to inner; each axis moves `kOffsets` offsets.
template <std::size_t kOffsets>
class Odometer {
 public:
  using Offsets = std::array<std::int64_t, kOffsets>;

  void add_axis(std::int64_t extent, const Offsets& steps) noexcept {
    axes_[rank_++] = {extent, 0, steps};
  }
  const Offsets& offsets() const noexcept { return offsets_; }

  /// Goes to the next position. Behind the last one: returns false, and is at the first one again.
  bool next() noexcept {
    for (std::size_t i = rank_; i-- > 0;) {
      Moving& axis = axes_[i];
      const bool carries = ++axis.index == axis.extent;
      for (std::size_t k = 0; k < kOffsets; ++k)
        offsets_[k] += carries ? axis.steps[k] * (1 - axis.extent) : axis.steps[k];
      if (!carries) return true;
      axis.index = 0;
    }
    return false;
  }

 private:
  struct Moving {
    std::int64_t extent;
    std::int64_t index;
    Offsets steps;
  };
  std::array<Moving, Shape::kMaxRank> axes_;
  std::size_t rank_ = 0;
  Offsets offsets_{};
};

void copy_runs(std::byte* out, const std::byte* in, const Walk& walk, std::size_t size) noexcept {
  const auto bytes = static_cast<std::int64_t>(size);
  const Axis inner = walk.axes[walk.rank - 1];
  Odometer<1> outer;
  for (std::size_t i = 0; i + 1 < walk.rank; ++i)
    outer.add_axis(walk.axes[i].extent, {walk.axes[i].stride * bytes});
  do {
    copy_axis(out, in + outer.offsets()[0], inner.extent, inner.stride * bytes, size);
    out += inner.extent * bytes;
  } while (outer.next());
}

/// The axis that makes matrices to transpose together with the innermost one, if there is one.
std::optional<std::size_t> rows_of_matrices(const Walk& walk) noexcept {
  const Axis inner = walk.axes[walk.rank - 1];
  if (inner.stride == 1) return std::nullopt;
  for (std::size_t i = walk.rank - 1; i-- > 0;)
    if (walk.axes[i].stride == 1 && walk.axes[i].extent * inner.extent >= kSmallestMatrix) return i;
  return std::nullopt;
}

void copy_matrices(std::byte* out, const std::byte* in, const Walk& walk, std::size_t rows_axis,
                   std::size_t size) noexcept {
  const auto bytes = static_cast<std::int64_t>(size);
  const Axis inner = walk.axes[walk.rank - 1];
  Odometer<2> others;  // offsets in the view and in the copy
  std::array<std::int64_t, Shape::kMaxRank> pitches;
  std::int64_t copied = bytes;
  for (std::size_t i = walk.rank; i-- > 0; copied *= walk.axes[i].extent) pitches[i] = copied;
  for (std::size_t i = 0; i + 1 < walk.rank; ++i)
    if (i != rows_axis)
      others.add_axis(walk.axes[i].extent, {walk.axes[i].stride * bytes, pitches[i]});

  const bool past_caches = copied >= kPastCaches;
  const std::int64_t rows = walk.axes[rows_axis].extent;
  // Short rows that lie apart fill cache lines together with those of the next matrices.
  const std::int64_t row_bytes = inner.extent * bytes;
  const bool short_rows = row_bytes < core_detail::kCacheLine && row_bytes < pitches[rows_axis];
  const std::int64_t at_once = short_rows ? core_detail::transposed_rows_at_once(size) : rows;
  for (std::int64_t row = 0; row < rows; row += at_once) {
    do {
      core_detail::copy_transposed({.in = in + others.offsets()[0] + row * bytes,
                                    .in_step = inner.stride * bytes,
                                    .out = out + others.offsets()[1] + row * pitches[rows_axis],
                                    .out_pitch = pitches[rows_axis],
                                    .rows = std::min(at_once, rows - row),
                                    .columns = inner.extent},
                                   size, past_caches);
    } while (others.next());
  }
  if (past_caches) core_detail::finish_past_caches();
}

/// Whether every element lies within reach of a pointer difference.
bool reachable(const Shape& shape, const Shape& strides, std::int64_t size) noexcept {
  std::int64_t farthest = 0;
  for (std::size_t i = 0; i < strides.rank(); ++i) {
    if (strides[i] == std::numeric_limits<std::int64_t>::min()) return false;
    const std::int64_t stride = strides[i] < 0 ? -strides[i] : strides[i];
    std::int64_t span = 0;
    if (__builtin_mul_overflow(stride, shape[i] - 1, &span)) return false;
    if (__builtin_add_overflow(farthest, span, &farthest)) return false;
  }
  return !__builtin_mul_overflow(farthest, size, &farthest);
}

}  // namespace

bool TensorView::is_contiguous() const noexcept {
  if (strides_.valid() && strides_.rank() == 0) return true;
  if (strides_.rank() != shape_.rank()) return false;
  if (elements() <= 0) return elements() == 0;
  const Walk walk(shape_, strides_);
  return walk.rank == 0 || (walk.rank == 1 && walk.axes[0].stride == 1);
}

const char* TensorView::defect() const noexcept {
  if (std::ranges::find(kAllDTypes, dtype_) == kAllDTypes.end()) return "the dtype is unknown";
  if (!shape_.valid()) return "the shape has more than 32 extents";
  if (std::ranges::any_of(shape_, [](std::int64_t extent) { return extent < 0; }))
    return "an extent is negative";
  const std::int64_t count = elements();
  const auto size =
      static_cast<std::int64_t>(dtype_ == DType::Utf8 ? sizeof(std::string) : element_size(dtype_));
  std::int64_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(count, size, &bytes)) return "the size overflows";
  if (!strides_.valid() || (strides_.rank() != 0 && strides_.rank() != shape_.rank()))
    return "the strides do not have the rank of the shape";
  if (count == 0) return nullptr;
  if (data_ == nullptr) return "the shape is not empty and there are no data";
  if (!reachable(shape_, strides_, size)) return "the strides overflow";
  if (dtype_ == DType::Utf8 && !is_contiguous()) return "strings cannot have strides";
  return nullptr;
}

void TensorView::copy_to(std::byte* out) const noexcept {
  const std::size_t size = element_size(dtype_);
  const std::int64_t count = elements();
  if (count <= 0 || size == 0) return;
  const auto* in = static_cast<const std::byte*>(data_);
  if (strides_.rank() == 0) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * size);
    return;
  }
  const Walk walk(shape_, strides_);
  if (walk.rank == 0) {
    std::memcpy(out, in, size);
    return;
  }
  if (const auto rows = rows_of_matrices(walk))
    copy_matrices(out, in, walk, *rows, size);
  else
    copy_runs(out, in, walk, size);
}

}  // namespace cupel
