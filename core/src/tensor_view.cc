#include "cupel/core/tensor_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace cupel {
namespace {

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
  const auto in_bytes = [size](std::int64_t elements) {
    return elements * static_cast<std::int64_t>(size);
  };
  const Axis inner = walk.axes[walk.rank - 1];
  std::array<std::int64_t, Shape::kMaxRank> index{};
  std::int64_t offset = 0;
  for (;;) {
    copy_axis(out, in + offset, inner.extent, in_bytes(inner.stride), size);
    out += in_bytes(inner.extent);
    // Step to the next run, carrying from the innermost of the outer axes.
    std::size_t axis = walk.rank - 1;
    for (; axis > 0; --axis) {
      const Axis& outer = walk.axes[axis - 1];
      offset += in_bytes(outer.stride);
      if (++index[axis - 1] < outer.extent) break;
      offset -= in_bytes(outer.stride * outer.extent);
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace cupel
