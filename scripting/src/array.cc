// Arrays: elements of a tensor that operations share and never change.
//
// An array refers to the bytes of a tensor's value or to a buffer of its own; slices of whole rows
// share the bytes. Every loop asks the budget before each piece of work, and every buffer comes
// from it; the budget throws where a limit is reached. The thread of the Lua state runs all of it.

#include "array.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "array_text.h"
#include "cupel/core/element_type.h"
#include "cupel/core/error.h"

namespace cupel::scripting_detail {
namespace {

// Beyond any memory, and far from what would overflow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48U;

template <class T>
T load(const std::byte* data, std::int64_t index) noexcept {
  T element;
  std::memcpy(&element, data + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return element;
}

// Calls f with an element of the C++ type of a numeric dtype; a bool is a number here.
template <class F>
auto with_type(DType dtype, F&& f) {
  return with_element_type(dtype, [&f]<class T>(T) {
    return f(std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>{});
  });
}

std::size_t size_of(DType dtype, std::int64_t elements) {
  return static_cast<std::size_t>(elements) * element_size(dtype);
}

std::size_t size_of_offsets(std::int64_t elements) {
  return (static_cast<std::size_t>(elements) + 1) * sizeof(std::int64_t);
}

const char* characters_of(const std::byte* offsets, std::int64_t elements) {
  return reinterpret_cast<const char*>(offsets) + size_of_offsets(elements);
}

bool is_wide_integer(DType dtype) noexcept { return dtype == DType::I64 || dtype == DType::U64; }

// Whether an integer of 64 bits, of which doubles do not hold all, is the number y.
template <class T>
bool is_number(T x, double y) noexcept {
  constexpr double kEndOfRange = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
  return static_cast<double>(x) == y && y < kEndOfRange && static_cast<T>(y) == x;
}

template <class OfA, class OfB>
bool same_integers(const Array& a, const Array& b, std::int64_t begin, std::int64_t count) {
  for (std::int64_t i = begin; i < begin + count; ++i)
    if (!std::cmp_equal(load<OfA>(a.data(), i), load<OfB>(b.data(), i))) return false;
  return true;
}

// Of `a` the elements are T, an integer of 64 bits.
template <class T>
bool same_as_wide(const Array& a, const Array& b, std::int64_t begin, std::int64_t count) {
  if (b.dtype() == DType::I64) return same_integers<T, std::int64_t>(a, b, begin, count);
  if (b.dtype() == DType::U64) return same_integers<T, std::uint64_t>(a, b, begin, count);
  for (std::int64_t i = begin; i < begin + count; ++i)
    if (!is_number(load<T>(a.data(), i), b.at(i))) return false;
  return true;
}

bool same_numbers(const Array& a, const Array& b, std::int64_t begin, std::int64_t count) {
  if (is_wide_integer(b.dtype()) && !is_wide_integer(a.dtype()))
    return same_numbers(b, a, begin, count);
  if (a.dtype() == DType::I64) return same_as_wide<std::int64_t>(a, b, begin, count);
  if (a.dtype() == DType::U64) return same_as_wide<std::uint64_t>(a, b, begin, count);
  std::array<double, kElementsAtOnce> of_a;
  std::array<double, kElementsAtOnce> of_b;
  for (std::int64_t done = 0; done < count; done += kElementsAtOnce) {
    const std::int64_t now = std::min(kElementsAtOnce, count - done);
    widen(a, begin + done, now, of_a.data());
    widen(b, begin + done, now, of_b.data());
    if (!std::equal(of_a.begin(), of_a.begin() + now, of_b.begin())) return false;
  }
  return true;
}

}  // namespace

Array::Array(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
             const std::byte* data, const char* characters)
    : dtype_(dtype),
      elements_(shape.elements()),
      owner_(std::move(owner)),
      data_(data),
      characters_(characters) {
  shape_.assign(shape);
}

Array::Array(const std::shared_ptr<const TensorValue>& value)
    : Array(value->dtype(), value->shape(), value, value->bytes().data(), nullptr) {
  if (is_text()) characters_ = characters_of(data_, elements_);
}

Array::Array(DType dtype, const Shape& shape, const std::shared_ptr<const AlignedBuffer>& bytes)
    : Array(dtype, shape, bytes, bytes->data(), nullptr) {}

Array Array::of_texts(const Shape& shape, const std::shared_ptr<const AlignedBuffer>& bytes) {
  return {DType::Utf8, shape, bytes, bytes->data(), characters_of(bytes->data(), shape.elements())};
}

Array::Blank Array::make(Budget& budget, DType dtype, const Shape& shape) {
  const std::int64_t elements = shape.elements();
  if (elements < 0 || elements > kMostElements)
    throw UsageError("the shape has more elements than any memory");
  const std::shared_ptr<AlignedBuffer> bytes = budget.allocate(size_of(dtype, elements));
  return {Array(dtype, shape, bytes), bytes->data()};
}

double Array::at(std::int64_t index) const noexcept {
  double element = 0;
  widen(*this, index, 1, &element);
  return element;
}

std::optional<std::int64_t> Array::integer_at(std::int64_t index) const noexcept {
  return with_type(dtype_, [&](auto type) -> std::optional<std::int64_t> {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) {
      const T element = load<T>(data_, index);
      if (std::in_range<std::int64_t>(element)) return static_cast<std::int64_t>(element);
    }
    return std::nullopt;
  });
}

std::string_view Array::text_at(std::int64_t index) const noexcept {
  const auto begin = load<std::int64_t>(data_, index);
  const auto end = load<std::int64_t>(data_, index + 1);
  return {characters_ + begin, static_cast<std::size_t>(end - begin)};
}

Array Array::reshaped(const Shape& shape) const { return part(0, shape); }

Array Array::part(std::int64_t begin, const Shape& shape) const {
  // Neighbouring texts share the offset between them.
  const std::size_t size = is_text() ? sizeof(std::int64_t) : element_size(dtype_);
  const std::byte* const data =
      data_ == nullptr ? nullptr : data_ + static_cast<std::size_t>(begin) * size;
  return {dtype_, shape, owner_, data, characters_};
}

void widen(DType dtype, const std::byte* data, std::int64_t count, double* out) noexcept {
  if (count == 0) return;
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, double>)
      std::memcpy(out, data, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (std::int64_t i = 0; i < count; ++i) out[i] = as_double(load<T>(data, i));
  });
}

void widen(const Array& array, std::int64_t begin, std::int64_t count, double* out) noexcept {
  const std::size_t offset = static_cast<std::size_t>(begin) * element_size(array.dtype());
  widen(array.dtype(), array.data() + offset, count, out);
}

bool equal(Budget& budget, const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.is_text() != b.is_text()) return false;
  bool same = true;
  TextEquality same_text(budget);
  for_each_piece(budget, a.elements(), a.is_text() ? Cost::Function : Cost::Single,
                 [&](std::int64_t begin, std::int64_t count) {
                   if (!a.is_text()) return same = same_numbers(a, b, begin, count);
                   for (std::int64_t i = begin; i < begin + count && same; ++i)
                     same = same_text(a.text_at(i), b.text_at(i));
                   return same;
                 });
  return same;
}

}  // namespace cupel::scripting_detail
