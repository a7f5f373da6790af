// Every instruction set gives the same bits: for elements of every type, at every address, with
// strides, where numbers cancel, vanish and overflow. And the bits are near what long double says.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>

#include "cupel/core/element_type.h"
#include "cupel/stats/value_counting.h"
#include "stats/reference.h"
#include "stats/simd_targets.h"

namespace cupel {
namespace {

constexpr std::size_t kBlock = StatisticsAccumulator::kBlockElements;
constexpr std::size_t kLengths[] = {1,  2,          15,     16,         17,
                                    47, kBlock - 1, kBlock, kBlock + 1, 2 * kBlock + 35};

enum class Pattern {
  AnyBits,
  Finite,
  Subnormal,
  Huge,
  AlmostEqual,
  FarFromZero,
  Cancelling,
  Equal,
  Zeros,
  Infinite
};
constexpr Pattern kPatterns[] = {Pattern::AnyBits,    Pattern::Finite,      Pattern::Subnormal,
                                 Pattern::Huge,       Pattern::AlmostEqual, Pattern::FarFromZero,
                                 Pattern::Cancelling, Pattern::Equal,       Pattern::Zeros,
                                 Pattern::Infinite};

/// Whether a tensor of the pattern has neither NaNs nor infinities.
bool is_finite(DType dtype, Pattern pattern) {
  return !is_floating(dtype) || (pattern != Pattern::AnyBits && pattern != Pattern::Infinite);
}

/// Makes the bits of elements, of a float from its sign, exponent and fraction.
class Elements {
 public:
  Elements(DType dtype, Pattern pattern, std::uint64_t seed)
      : pattern_(pattern), size_(element_size(dtype)), random_(seed) {
    if (is_floating(dtype))
      fraction_bits_ = dtype == DType::F16    ? 10U
                       : dtype == DType::BF16 ? 7U
                       : dtype == DType::F32  ? 23U
                                              : 52U;
  }

  std::vector<std::byte> make(std::size_t count) {
    std::vector<std::byte> bytes(count * size_);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = fraction_bits_ == 0 ? integer(i) : number(i);
      std::memcpy(bytes.data() + i * size_, &bits, size_);
    }
    return bytes;
  }

 private:
  std::uint64_t highest_bit() const { return std::uint64_t{1} << (8 * size_ - 1); }

  std::uint64_t integer(std::size_t i) {
    switch (pattern_) {
      case Pattern::Subnormal:
        return random_.bits() % 10;
      case Pattern::Huge:
        return i % 2 == 0 ? highest_bit() : highest_bit() - 1;
      case Pattern::AlmostEqual:
        return highest_bit() - 20 + random_.bits() % 3;
      case Pattern::FarFromZero:
        return highest_bit() / 2 + random_.bits() % (highest_bit() / 64 + 2);
      case Pattern::Cancelling:
        return i % 2 == 0 ? last_ = random_.bits() : ~last_;
      case Pattern::Equal:
        return 0xa7a6a5a4a3a2a1a0U;
      case Pattern::Zeros:
        return 0;
      default:
        return random_.bits();
    }
  }

  std::uint64_t number(std::size_t i) {
    const std::uint64_t fraction = random_.bits() & ((std::uint64_t{1} << fraction_bits_) - 1);
    const std::uint64_t sign = random_.bits() % 2 * highest_bit();
    const std::uint64_t infinity = highest_bit() - (std::uint64_t{1} << fraction_bits_);
    const std::uint64_t one = std::uint64_t{1} << fraction_bits_;  // of the exponent
    const std::uint64_t exponents = infinity / one;
    switch (pattern_) {
      case Pattern::AnyBits:
        return random_.bits();
      case Pattern::Infinite:
        if (random_.bits() % 300 == 0) return sign | infinity;
        [[fallthrough]];
      case Pattern::Finite:
        return sign | random_.bits() % exponents * one | fraction;
      case Pattern::Subnormal:
        return sign | fraction;
      case Pattern::Huge:
        return sign | (exponents - 1) * one | fraction;
      case Pattern::AlmostEqual:
        return exponents / 2 * one | fraction % 3;
      case Pattern::FarFromZero:
        return exponents / 2 * one | fraction >> 6U;
      case Pattern::Cancelling:
        if (i % 16 == 7) return sign | exponents / 3 * one | fraction;
        if (i % 2 == 1) return last_ ^ highest_bit();
        return last_ = sign | (exponents - 2) * one | fraction;
      case Pattern::Equal:
        return exponents / 2 * one | one / 3;
      case Pattern::Zeros:
        return sign;
    }
    return 0;
  }

  Pattern pattern_;
  std::size_t size_;
  unsigned fraction_bits_ = 0;
  Random random_;
  std::uint64_t last_ = 0;
};

/// All that is computed of a tensor, to the bit.
std::string everything_of(const TensorView& view) {
  const Statistics statistics = compute_statistics(view);
  ReductionSet wanted;
  const Reduction beyond[] = {
      {ReductionOp::Prod}, {ReductionOp::Median}, {ReductionOp::Median, true}};
  for (const Reduction reduction : beyond) wanted.add(reduction);
  const ReductionValues values = compute_reductions(view, wanted, &statistics);
  std::string text = exact_text(statistics);
  for (const Reduction reduction : beyond) {
    char number[64];
    std::snprintf(number, sizeof number, ", %a", values.get(reduction).value());
    text += std::string(number);
  }
  return text;
}

std::string everything_of(DType dtype, const std::vector<std::byte>& bytes) {
  return everything_of(TensorView(bytes.data(), dtype, {bytes.size() / element_size(dtype)}));
}

/// Statistics, product and medians of the same elements, differently stored.
std::vector<std::string> everything_in_all_layouts(DType dtype,
                                                   const std::vector<std::byte>& bytes) {
  const std::size_t size = element_size(dtype);
  const auto count = static_cast<std::int64_t>(bytes.size() / size);
  std::vector<std::string> texts{everything_of(dtype, bytes)};
  for (const std::size_t offset : {1U, 6U}) {
    std::vector<std::byte> shifted(bytes.size() + offset);
    std::memcpy(shifted.data() + offset, bytes.data(), bytes.size());
    texts.push_back(everything_of(TensorView(shifted.data() + offset, dtype, {count})));
  }
  for (const std::int64_t stride : {3, -1}) {
    const std::int64_t steps = std::abs(stride);
    std::vector<std::byte> spread(bytes.size() * static_cast<std::size_t>(steps), std::byte{0x7f});
    const std::int64_t first = stride > 0 ? 0 : (count - 1) * steps;
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(spread.data() + static_cast<std::size_t>(first + i * stride) * size,
                  bytes.data() + static_cast<std::size_t>(i) * size, size);
    const std::byte* const data = spread.data() + static_cast<std::size_t>(first) * size;
    texts.push_back(everything_of(TensorView(data, dtype, {count}, {stride})));
  }
  return texts;
}

std::vector<double> doubles_of(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<double> doubles;
  for (std::size_t i = 0; i < bytes.size(); i += element_size(dtype)) {
    doubles.push_back(with_element_type(dtype, [&]<class T>(T element) {
      if constexpr (std::is_same_v<T, bool>) return bytes[i] == std::byte{0} ? 0.0 : 1.0;
      std::memcpy(&element, bytes.data() + i, sizeof element);
      return as_double(element);
    }));
  }
  return doubles;
}

ValueCounts counts_of(const std::vector<double>& values) {
  ValueCounts counts;
  for (const double x : values) {
    counts.nan += std::isnan(x) ? 1 : 0;
    counts.pos_inf += x == kInfinity ? 1 : 0;
    counts.neg_inf += x == -kInfinity ? 1 : 0;
    counts.zero += x == 0 ? 1 : 0;
  }
  return counts;
}

/// In long double, whose exponents go further than those of any tensor here.
double product_of(const std::vector<double>& values) {
  long double mantissa = 1;
  int exponent = 0;
  for (const double x : values) {
    int shift = 0;
    mantissa = std::frexp(mantissa * static_cast<long double>(x), &shift);
    exponent += shift;
  }
  return static_cast<double>(std::ldexp(mantissa, std::clamp(exponent, -9999, 9999)));
}

class SimdAgreement : public ::testing::TestWithParam<DType> {
 protected:
  /// Calls `f(pattern, bytes)` for tensors of all patterns and lengths.
  template <class F>
  void for_each_tensor(F&& f) {
    for (const Pattern pattern : kPatterns) {
      Elements elements(GetParam(), pattern, 17);
      for (const std::size_t count : kLengths) {
        SCOPED_TRACE(::testing::Message()
                     << "pattern " << static_cast<int>(pattern) << ", " << count << " elements");
        f(pattern, elements.make(count));
        if (HasFailure()) return;
      }
    }
  }
};

TEST_P(SimdAgreement, no_instruction_set_address_or_stride_changes_a_bit) {
  for_each_tensor([&](Pattern, const std::vector<std::byte>& bytes) {
    const std::string expected = everything_of(GetParam(), bytes);
    for_each_simd_target([&](const std::string& target) {
      for (const std::string& text : everything_in_all_layouts(GetParam(), bytes))
        EXPECT_EQ(text, expected) << target;
    });
  });
}

// Bytes are summed as integers. Floats, which hold the same values, take the other kernels.
TEST_P(SimdAgreement, bytes_have_the_bits_of_the_same_values_as_floats) {
  if (element_size(GetParam()) != 1) return;
  for_each_tensor([&](Pattern, const std::vector<std::byte>& bytes) {
    const std::vector<double> doubles = doubles_of(GetParam(), bytes);
    const std::vector<float> floats(doubles.begin(), doubles.end());
    Statistics expected = compute_statistics(TensorView(floats.data(), {floats.size()}));
    expected.counts = {};
    for_each_simd_target([&](const std::string& target) {
      const TensorView view(bytes.data(), GetParam(), {bytes.size()});
      EXPECT_EQ(exact_text(compute_statistics(view)), exact_text(expected)) << target;
    });
  });
}

TEST_P(SimdAgreement, counting_alone_finds_the_counts_of_the_statistics) {
  const std::size_t size = element_size(GetParam());
  for_each_tensor([&](Pattern, const std::vector<std::byte>& bytes) {
    const std::size_t count = bytes.size() / size;
    const ValueCounts expected =
        compute_statistics(TensorView(bytes.data(), GetParam(), {count})).counts;
    std::vector<std::byte> shifted(bytes.size() + 3);
    std::memcpy(shifted.data() + 3, bytes.data(), bytes.size());
    for_each_simd_target([&](const std::string& target) {
      ValueCounts counts;
      count_values(GetParam(), bytes.data(), count, counts);
      EXPECT_EQ(counts, expected) << target;
      ValueCounts of_pieces;
      const std::size_t first = count / 3;
      count_values(GetParam(), shifted.data() + 3, first, of_pieces);
      count_values(GetParam(), nullptr, 0, of_pieces);
      count_values(GetParam(), shifted.data() + 3 + first * size, count - first, of_pieces);
      EXPECT_EQ(of_pieces, expected) << target;
    });
  });
}

TEST_P(SimdAgreement, the_bits_are_near_what_long_double_says) {
  for_each_tensor([&](Pattern pattern, const std::vector<std::byte>& bytes) {
    const std::vector<double> values = doubles_of(GetParam(), bytes);
    const TensorView view(bytes.data(), GetParam(), {values.size()});
    const Statistics statistics = compute_statistics(view);
    const ValueCounts counts = is_floating(GetParam()) ? counts_of(values) : ValueCounts{};
    EXPECT_EQ(statistics.counts.nan, counts.nan);
    EXPECT_EQ(statistics.counts.pos_inf, counts.pos_inf);
    EXPECT_EQ(statistics.counts.neg_inf, counts.neg_inf);
    EXPECT_EQ(statistics.counts.zero, counts.zero);
    if (!is_finite(GetParam(), pattern)) return;

    expect_statistics(statistics, reference_statistics(values));
    ReductionSet wanted;
    wanted.add({ReductionOp::Prod});
    wanted.add({ReductionOp::Median});
    wanted.add({ReductionOp::Median, true});
    const ReductionValues reductions = compute_reductions(view, wanted, &statistics);
    const double product = product_of(values);
    const double rounding = std::max(std::abs(product) * 1e-12, 0x1p-1074);
    EXPECT_TRUE(is_near(reductions.get({ReductionOp::Prod}).value(), product, rounding))
        << reductions.get({ReductionOp::Prod}).value() << " is not " << product;
    EXPECT_EQ(reductions.get({ReductionOp::Median}).value(), sorted_median(values, false));
    EXPECT_EQ(reductions.get({ReductionOp::Median, true}).value(), sorted_median(values, true));
  });
}

std::string name_of(const ::testing::TestParamInfo<DType>& info) {
  return std::string(to_string(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, SimdAgreement,
                         ::testing::ValuesIn(kAllDTypes.begin(), kAllDTypes.end() - 1), name_of);

}  // namespace
}  // namespace cupel
