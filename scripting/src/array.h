#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "cupel/core/aligned_buffer.h"
#include "cupel/core/dtype.h"
#include "cupel/core/shape.h"
#include "cupel/core/tensor_view.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::scripting_detail {

/// What operations on arrays ask before they work or take memory. Either may throw, which ends the
/// operation.
class Budget {
 public:
  Budget() = default;
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  virtual ~Budget() = default;
  /// Before work that takes about as long as so many instructions of a script, and not much longer
  /// than a millisecond.
  virtual void charge(std::int64_t instructions) = 0;
  virtual std::shared_ptr<AlignedBuffer> allocate(std::size_t bytes) = 0;
};

/// As many elements are worked on between two questions to the budget: whole blocks of
/// StatisticsAccumulator.
inline constexpr std::int64_t kElementsPerPiece = std::int64_t{1} << 16U;

/// What 64 elements cost, in instructions: of loops that the compiler turns into vectors, of those
/// that go through the elements one by one, of those that call a function of mathematics, and of
/// those whose function takes some microseconds in the worst case.
enum class Cost : std::uint16_t { Simple = 4, Single = 16, Function = 64, Long = 1024 };

/// Calls work(begin, count) for all elements, a piece at a time, and asks before each. Work that
/// returns whether it goes on is ended by false.
template <class F>
void for_each_piece(Budget& budget, std::int64_t elements, Cost cost, F&& work) {
  const std::int64_t piece = cost == Cost::Long ? kElementsPerPiece / 64 : kElementsPerPiece;
  for (std::int64_t begin = 0; begin < elements; begin += piece) {
    const std::int64_t count = std::min(piece, elements - begin);
    budget.charge(count * static_cast<std::int64_t>(cost) / 64 + 1);
    if constexpr (std::is_same_v<decltype(work(begin, count)), bool>) {
      if (!work(begin, count)) return;
    } else {
      work(begin, count);
    }
  }
}

/// Elements of a tensor in row-major order, in memory that arrays share: immutable, cheap to copy.
class Array {
 public:
  explicit Array(const std::shared_ptr<const TensorValue>& value);
  /// Elements of a numeric dtype; `bytes` has as many as are needed.
  Array(DType dtype, const Shape& shape, const std::shared_ptr<const AlignedBuffer>& bytes);
  /// Texts: `bytes` are elements + 1 offsets, and the characters.
  static Array of_texts(const Shape& shape, const std::shared_ptr<const AlignedBuffer>& bytes);
  /// Uninitialised elements of a numeric dtype, and where they are to be written. Throws UsageError
  /// if they are more than any memory holds.
  struct Blank;
  static Blank make(Budget& budget, DType dtype, const Shape& shape);

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t elements() const noexcept { return elements_; }
  bool is_text() const noexcept { return dtype_ == DType::Utf8; }
  const std::byte* data() const noexcept { return data_; }              ///< Of texts: the offsets.
  TensorView view() const noexcept { return {data_, dtype_, shape_}; }  ///< Numeric dtypes only.

  /// One element of a numeric dtype; bool as 0 or 1.
  double at(std::int64_t index) const noexcept;
  /// One element of an integer dtype, as far as an std::int64_t holds it.
  std::optional<std::int64_t> integer_at(std::int64_t index) const noexcept;
  std::string_view text_at(std::int64_t index) const noexcept;

  /// The same elements in another shape of as many.
  Array reshaped(const Shape& shape) const;
  /// The elements from `begin` on, which share this one's bytes.
  Array part(std::int64_t begin, const Shape& shape) const;

 private:
  Array(DType dtype, const Shape& shape, std::shared_ptr<const void> owner, const std::byte* data,
        const char* characters);
  DType dtype_;
  Shape shape_;
  std::int64_t elements_;
  std::shared_ptr<const void> owner_;
  const std::byte* data_;
  const char* characters_ = nullptr;
};

struct Array::Blank {
  Array array;
  std::byte* data;
  /// The elements of a dtype whose C++ type is T.
  template <class T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }
};

/// Copies elements of a numeric dtype as doubles: bool as 0 and 1, integers beyond 2^53 rounded.
void widen(DType dtype, const std::byte* data, std::int64_t count, double* out) noexcept;
/// The same of `count` elements from `begin` on.
void widen(const Array& array, std::int64_t begin, std::int64_t count, double* out) noexcept;

inline constexpr std::int64_t kElementsAtOnce = 1024;

/// Calls work(elements as doubles, begin, count) for some hundred at a time, and asks the budget.
template <class F>
void for_each_widened(Budget& budget, const Array& array, Cost cost, F&& work) {
  std::array<double, kElementsAtOnce> buffer;
  for_each_piece(budget, array.elements(), cost, [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t done = 0; done < count; done += kElementsAtOnce) {
      const std::int64_t now = std::min(kElementsAtOnce, count - done);
      widen(array, begin + done, now, buffer.data());
      work(static_cast<const double*>(buffer.data()), begin + done, now);
    }
  });
}

/// Calls f with an unsigned integer as large as the elements of a numeric dtype.
template <class F>
void with_bits(DType dtype, F&& f) {
  switch (element_size(dtype)) {
    case sizeof(std::uint8_t):
      return f(std::uint8_t{});
    case sizeof(std::uint16_t):
      return f(std::uint16_t{});
    case sizeof(std::uint32_t):
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

/// Every `step`-th element along an axis, `count` of them from `first` on: of `array`'s own bytes
/// where they lie one after another, or a copy.
Array slice(Budget& budget, const Array& array, std::size_t axis, std::int64_t first,
            std::int64_t count, std::int64_t step);

/// The elements for which `mask`, a bool array of as many elements, is true: one-dimensional.
Array select(Budget& budget, const Array& array, const Array& mask);

/// A shape without one of its axes.
Shape without_axis(const Shape& shape, std::size_t axis);

/// Whether shapes and elements are the same numbers, or texts, whatever their dtypes: integers
/// beyond 2^53 are not rounded. NaN is not the same as NaN.
bool equal(Budget& budget, const Array& a, const Array& b);

}  // namespace cupel::scripting_detail
