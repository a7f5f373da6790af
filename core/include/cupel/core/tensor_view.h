#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "cupel/core/dtype.h"
#include "cupel/core/shape.h"

namespace cupel {

/// Borrowed values of a tensor: a pointer, a dtype, a shape and, when not row-major, strides.
///
/// Never owns and never throws; the bytes must stay as they are until the call that takes the view
/// returns. For DType::Utf8 the data are an array of std::string, row-major. A view that cannot be
/// right (rank above 32, a negative extent, no data behind a non-empty shape) is built all the
/// same, and refused by whoever is asked to save it.
class TensorView {
 public:
  /// Row-major values of a shape: `TensorView(weights.data(), {out, in})`.
  template <TensorElement T>
  TensorView(const T* data, const Shape& shape) noexcept : data_(data), dtype_(kDTypeOf<T>) {
    shape_.assign(shape);
  }

  /// A one-dimensional tensor.
  template <TensorElement T, std::size_t N>
  TensorView(std::span<const T, N> values) noexcept
      : TensorView(values.data(), Shape{values.size()}) {}
  template <TensorElement T, std::size_t N>
  TensorView(std::span<T, N> values) noexcept : TensorView(std::span<const T, N>(values)) {}

  /// Values of a dtype known at run time; `strides` count elements, empty means row-major.
  TensorView(const void* data, DType dtype, const Shape& shape, const Shape& strides = {}) noexcept
      : data_(data), dtype_(dtype) {
    shape_.assign(shape);
    strides_.assign(strides);
  }

  const void* data() const noexcept { return data_; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  const Shape& strides() const noexcept { return strides_; }
  std::int64_t elements() const noexcept { return shape_.elements(); }

  /// Whether the elements lie one after another in row-major order.
  bool is_contiguous() const noexcept;

  /// Why the view cannot be saved, as a phrase without values; null when it can.
  const char* defect() const noexcept;

  /// Copies the elements in row-major order to `out`, which holds elements() *
  /// element_size(dtype()) bytes. For fixed-size dtypes only; a valid view only.
  void copy_to(std::byte* out) const noexcept;

 private:
  const void* data_;
  DType dtype_;
  Shape shape_;
  Shape strides_;
};

static_assert(std::is_trivially_copyable_v<TensorView>);

}  // namespace cupel
