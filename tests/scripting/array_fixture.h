#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "../../scripting/src/array.h"
#include "../../scripting/src/array_arithmetic.h"
#include "../../scripting/src/array_axis.h"
#include "../../scripting/src/array_reductions.h"
#include "../../scripting/src/array_text.h"
#include "cupel/core/element_type.h"

namespace cupel::testing {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Lengths around those at which the operations cut their work.
inline constexpr std::int64_t kLengths[] = {0, 1, 2, 1023, 1024, 1025, 65535, 65536, 65537};

inline constexpr DType kNumericDTypes[] = {
    DType::Bool, DType::I8,  DType::I16, DType::I32,  DType::I64, DType::U8, DType::U16,
    DType::U32,  DType::U64, DType::F16, DType::BF16, DType::F32, DType::F64};

/// A budget without an end that counts what it is asked for.
class CountingBudget : public scripting_detail::Budget {
 public:
  void charge(std::int64_t instructions) override {
    charged += instructions;
    most_at_once = std::max(most_at_once, instructions);
  }
  std::shared_ptr<AlignedBuffer> allocate(std::size_t bytes) override {
    allocated += bytes;
    return std::make_shared<AlignedBuffer>(bytes);
  }
  std::int64_t charged = 0;
  std::int64_t most_at_once = 0;
  std::size_t allocated = 0;
};

/// The elements of an array as doubles, by a plain loop.
inline std::vector<double> doubles_of(const scripting_detail::Array& array) {
  std::vector<double> doubles;
  with_element_type(array.dtype(), [&](auto element) {
    for (std::int64_t i = 0; i < array.elements(); ++i) {
      std::memcpy(&element, array.data() + static_cast<std::size_t>(i) * sizeof element,
                  sizeof element);
      doubles.push_back(as_double(element));
    }
  });
  return doubles;
}

/// An array of a C++ type's dtype.
template <class T>
scripting_detail::Array array_of(const std::vector<T>& elements, const Shape& shape) {
  const auto bytes = std::make_shared<AlignedBuffer>(elements.size() * sizeof(T));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T element = elements[i];
    std::memcpy(bytes->data() + i * sizeof(T), &element, sizeof(T));
  }
  return {kDTypeOf<T>, shape, bytes};
}
template <class T>
scripting_detail::Array array_of(const std::vector<T>& elements) {
  return array_of(elements, Shape{elements.size()});
}

/// An array of texts.
inline scripting_detail::Array texts_of(const std::vector<std::string>& texts, const Shape& shape) {
  std::size_t characters = 0;
  for (const std::string& text : texts) characters += text.size();
  const std::size_t offsets = (texts.size() + 1) * sizeof(std::int64_t);
  const auto bytes = std::make_shared<AlignedBuffer>(offsets + characters);
  std::int64_t at = 0;
  std::memcpy(bytes->data(), &at, sizeof at);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(bytes->data() + offsets + at, texts[i].data(), texts[i].size());
    at += static_cast<std::int64_t>(texts[i].size());
    std::memcpy(bytes->data() + (i + 1) * sizeof at, &at, sizeof at);
  }
  return scripting_detail::Array::of_texts(shape, bytes);
}

inline std::vector<std::string> strings_of(const scripting_detail::Array& array) {
  std::vector<std::string> strings;
  for (std::int64_t i = 0; i < array.elements(); ++i) strings.emplace_back(array.text_at(i));
  return strings;
}

/// A number that a half holds exactly, as its bits.
inline Float16 half_of(double x) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000U : 0U);
  if (std::isnan(x)) return {0x7e00};
  if (std::isinf(x)) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  if (x == 0) return {sign};
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(x), &exponent);
  return {static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 14) << 10U |
                                     static_cast<unsigned>((2 * mantissa - 1) * 1024))};
}

/// An element of a type that holds the number exactly.
template <class T>
T element_of(double x) {
  if constexpr (std::is_same_v<T, Float16>)
    return half_of(x);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16U)};
  else
    return static_cast<T>(x);
}

inline scripting_detail::Array array_of(DType dtype, const std::vector<double>& numbers,
                                        const Shape& shape) {
  return with_element_type(dtype, [&](auto element) {
    std::vector<decltype(element)> elements;
    for (const double x : numbers) elements.push_back(element_of<decltype(element)>(x));
    return array_of(elements, shape);
  });
}

/// Numbers that every dtype of its kind holds: bool 0 and 1, integers without a sign 0 to 100, with
/// one -100 to 100, floats quarters of -25 to 25; the same for the same seed.
inline scripting_detail::Array some_numbers(DType dtype, const Shape& shape, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::vector<double> numbers(static_cast<std::size_t>(shape.elements()));
  const bool is_unsigned = dtype >= DType::U8 && dtype <= DType::U64;
  for (double& x : numbers) {
    x = static_cast<double>(engine() % 201) - 100;
    if (dtype == DType::Bool) x = x > 0 ? 1 : 0;
    if (is_unsigned) x = std::abs(x);
    if (is_floating(dtype)) x /= 4;
  }
  return array_of(dtype, numbers, shape);
}

/// Any bits, and among them the least, the largest, zeros of both signs, infinities and NaN.
inline scripting_detail::Array any_numbers(DType dtype, const Shape& shape, unsigned seed = 1) {
  std::mt19937_64 engine(seed);
  return with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    std::vector<T> elements;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const std::uint64_t bits = engine();
      if constexpr (std::is_same_v<T, bool>)
        elements.push_back(bits % 2 == 1);
      else if constexpr (std::is_integral_v<T>)
        elements.push_back(i % 7 == 3   ? std::numeric_limits<T>::max()
                           : i % 7 == 5 ? std::numeric_limits<T>::min()
                           : i % 7 == 6 ? T{0}
                                        : static_cast<T>(bits));
      else if (i % 4 != 1)
        std::memcpy(static_cast<void*>(&elements.emplace_back()), &bits, sizeof(T));
      else
        elements.push_back(element_of<T>(std::vector{kNaN, kInfinity, -kInfinity, 0.0,
                                                     -0.0}[static_cast<std::size_t>(bits % 5)]));
    }
    return array_of(elements, shape);
  });
}

/// The bits of numbers, NaNs all the same: for EXPECT_EQ.
inline std::vector<std::uint64_t> bits_of(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> bits;
  for (const double x : numbers)
    bits.push_back(std::bit_cast<std::uint64_t>(std::isnan(x) ? kNaN : x));
  return bits;
}

/// What the stats room says of an array.
inline double stats_of(const scripting_detail::Array& array, Reduction reduction) {
  ReductionSet wanted;
  wanted.add(reduction);
  return compute_reductions(array.view(), wanted).get(reduction).value();
}

}  // namespace cupel::testing
