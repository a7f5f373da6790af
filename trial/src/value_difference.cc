// Comparing two values element by element, in the loop of their type.
//
// Equal bytes are found first, without a loop over elements. Floating-point numbers are compared in
// doubles; integers, bools and text exactly. Any thread; nothing is allocated but for text.

#include "value_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "cupel/core/element_type.h"
#include "cupel/core/error.h"

namespace cupel::trial_detail {

namespace {

/// Counts the elements that differ.
class Differences {
 public:
  void add(std::int64_t index, std::optional<double> distance) {
    if (!found_) found_ = ValueDifference{index, 0, distance, distance};
    ++found_->differing;
    if (distance && !(found_->greatest >= distance)) found_->greatest = distance;
  }
  std::optional<ValueDifference> found() const { return found_; }

 private:
  std::optional<ValueDifference> found_;
};

/// |a - b|, also of 64-bit integers whose signed difference does not fit into 64 bits.
template <class T>
double integer_distance(T a, T b) noexcept {
  const auto wide = [](T x) { return static_cast<std::uint64_t>(x); };
  return static_cast<double>(a > b ? wide(a) - wide(b) : wide(b) - wide(a));
}

template <class T>
void compare_elements(const TensorValue& a, const TensorValue& b, const Tolerance& tolerance,
                      Differences& differences) {
  const std::span<const T> left = a.as<T>(), right = b.as<T>();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if constexpr (is_floating(kDTypeOf<T>)) {
      const double x = as_double(left[i]), y = as_double(right[i]);
      if (!tolerance.same(x, y)) differences.add(index, distance(x, y));
    } else if (left[i] != right[i]) {
      if constexpr (std::is_same_v<T, bool>)
        differences.add(index, std::nullopt);
      else
        differences.add(index, integer_distance(left[i], right[i]));
    }
  }
}

/// One element of a Utf8 value. Its offsets were checked when the value was made.
std::string_view text_of(const TensorValue& value, std::int64_t index) noexcept {
  const auto offset = [&](std::int64_t i) {
    std::int64_t at = 0;
    std::memcpy(&at, value.bytes().data() + static_cast<std::size_t>(i) * sizeof(at), sizeof(at));
    return static_cast<std::size_t>(at);
  };
  const auto* text = reinterpret_cast<const char*>(value.bytes().data()) +
                     (static_cast<std::size_t>(value.elements()) + 1) * sizeof(std::int64_t);
  return {text + offset(index), offset(index + 1) - offset(index)};
}

void compare_texts(const TensorValue& a, const TensorValue& b, Differences& differences) {
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (text_of(a, i) != text_of(b, i)) differences.add(i, std::nullopt);
}

template <class T>
T at(const TensorValue& value, std::int64_t index) {
  return value.as<T>()[static_cast<std::size_t>(index)];
}

}  // namespace

Tolerance::Tolerance(double rtol, double atol) : rtol_(rtol), atol_(atol) {
  const auto usable = [](double x) { return std::isfinite(x) && x >= 0; };
  if (!usable(rtol) || !usable(atol))
    throw UsageError("A tolerance is a finite number that is not negative");
}

bool Tolerance::same(double a, double b) const noexcept {
  if (a == b) return true;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (is_exact() || std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= atol_ + rtol_ * std::max(std::fabs(a), std::fabs(b));
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::optional<double> distance(double a, double b) noexcept {
  if (std::isnan(a) || std::isnan(b)) return std::nullopt;
  return std::fabs(a - b);
}

std::optional<ValueDifference> difference_of(const TensorValue& a, const TensorValue& b,
                                             const Tolerance& tolerance) {
  if (same_bytes(a.bytes(), b.bytes())) return std::nullopt;
  Differences differences;
  if (a.dtype() == DType::Utf8) {
    compare_texts(a, b, differences);
  } else {
    with_element_type(a.dtype(),
                      [&]<class T>(T) { compare_elements<T>(a, b, tolerance, differences); });
  }
  return differences.found();
}

ComparedNumber element_of(const TensorValue& value, std::int64_t index) {
  switch (value.dtype()) {
    case DType::Bool:
      return at<bool>(value, index);
    case DType::I64:
      return at<std::int64_t>(value, index);
    case DType::U64:
      return at<std::uint64_t>(value, index);
    case DType::Utf8:
      return std::string(text_of(value, index));
    default:
      break;
  }
  const double number = value.at(index);
  if (is_floating(value.dtype())) return number;
  return static_cast<std::int64_t>(number);
}

}  // namespace cupel::trial_detail
