#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/aligned_buffer.h"
#include "cupel/core/dtype.h"
#include "cupel/core/shape.h"
#include "cupel/core/tensor_view.h"

namespace cupel {

/// An element type whose values lie one after another; text does not (TensorValue::strings).
template <class T>
concept FixedSizeElement = TensorElement<T> && !std::same_as<T, std::string>;

template <FixedSizeElement T>
class OwnedValues;

/// A tensor's value in memory of its own: immutable, cheap to copy, 64-byte aligned.
class TensorValue {
 public:
  /// Throws FormatError naming `file` and `offset` unless `bytes` are those of a value of this
  /// dtype and shape.
  TensorValue(DType dtype, const Shape& shape, std::shared_ptr<const AlignedBuffer> bytes,
              std::string_view file, std::uint64_t offset);

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t elements() const noexcept { return elements_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_->span(); }
  /// Gives the bytes away, for a caller that changes them: the memory itself where no other value
  /// shares it, else a copy. This value may only be destroyed or assigned to afterwards.
  AlignedBuffer release() &&;

  /// The elements in row-major order; throws UsageError naming both types when T is not the
  /// dtype's.
  template <FixedSizeElement T>
  std::span<const T> as() const& {
    require_dtype(kDTypeOf<T>);
    return {reinterpret_cast<const T*>(bytes_->data()), static_cast<std::size_t>(elements_)};
  }
  /// The same for a temporary: a range that owns the bytes, so that
  /// `for (float x : t.value(10).as<float>())` is safe.
  template <FixedSizeElement T>
  OwnedValues<T> as() &&;

  /// The elements of a Utf8 tensor; throws UsageError for others.
  std::vector<std::string> strings() const;

  /// A view for statistics, of numeric dtypes only. It borrows this value.
  TensorView view() const noexcept { return {bytes_->data(), dtype_, shape_}; }

  /// One element as a double (a bool as 0 or 1), of numeric dtypes only.
  double at(std::int64_t index) const noexcept;

 private:
  void require_dtype(DType wanted) const;
  DType dtype_;
  Shape shape_;
  std::int64_t elements_;
  std::shared_ptr<const AlignedBuffer> bytes_;
};

/// The elements of a value, together with the bytes that hold them.
template <FixedSizeElement T>
class OwnedValues {
 public:
  using value_type = T;
  using const_iterator = typename std::span<const T>::iterator;

  explicit OwnedValues(TensorValue value) : value_(std::move(value)), values_(value_.as<T>()) {}
  const_iterator begin() const noexcept { return values_.begin(); }
  const_iterator end() const noexcept { return values_.end(); }
  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  const T& operator[](std::size_t i) const noexcept { return values_[i]; }

  std::span<const T> span() const& noexcept { return values_; }
  std::span<const T> span() && = delete;  // the bytes would be gone
  /// Bytes, not elements, so that a temporary does not convert to a std::span of elements.
  const std::byte* data() const noexcept { return value_.bytes().data(); }

 private:
  TensorValue value_;
  std::span<const T> values_;
};

template <FixedSizeElement T>
OwnedValues<T> TensorValue::as() && {
  return OwnedValues<T>(std::move(*this));
}

}  // namespace cupel
