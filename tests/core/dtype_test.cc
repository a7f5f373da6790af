#include "cupel/core/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "cupel/core/element_type.h"

namespace cupel {
namespace {

float half(std::uint16_t bits) { return static_cast<float>(Float16{bits}); }
float brain(std::uint16_t bits) { return static_cast<float>(BFloat16{bits}); }

TEST(DType, each_is_read_back_from_its_name) {
  for (const DType dtype : kAllDTypes) EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  EXPECT_EQ(to_string(DType::BF16), "bf16");
  EXPECT_EQ(parse_dtype("F32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(DType, sizes_are_those_of_the_cpp_types) {
  EXPECT_EQ(element_size(kDTypeOf<bool>), sizeof(bool));
  EXPECT_EQ(element_size(kDTypeOf<std::int16_t>), sizeof(std::int16_t));
  EXPECT_EQ(element_size(kDTypeOf<Float16>), sizeof(Float16));
  EXPECT_EQ(element_size(kDTypeOf<std::uint32_t>), sizeof(std::uint32_t));
  EXPECT_EQ(element_size(kDTypeOf<double>), sizeof(double));
  EXPECT_EQ(element_size(DType::Utf8), 0U);
}

TEST(DType, cpp_types_map_by_size_and_sign) {
  EXPECT_EQ(kDTypeOf<long long>, DType::I64);
  EXPECT_EQ(kDTypeOf<long>, DType::I64);
  EXPECT_EQ(kDTypeOf<unsigned char>, DType::U8);
  EXPECT_EQ(kDTypeOf<signed char>, DType::I8);
  EXPECT_EQ(kDTypeOf<std::string>, DType::Utf8);
  EXPECT_FALSE(TensorElement<long double>);
  EXPECT_FALSE(TensorElement<const char*>);
}

TEST(DType, only_the_four_floats_are_floating) {
  int floating = 0;
  for (const DType dtype : kAllDTypes) floating += is_floating(dtype) ? 1 : 0;
  EXPECT_EQ(floating, 4);
  EXPECT_TRUE(is_floating(DType::F16) && is_floating(DType::BF16));
  EXPECT_TRUE(is_floating(DType::F32) && is_floating(DType::F64));
}

TEST(DType, each_numeric_one_leads_to_its_cpp_type_and_back) {
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::Utf8) continue;
    const DType found = with_element_type(dtype, []<class T>(T zero) {
      EXPECT_EQ(zero, T{});
      return kDTypeOf<T>;
    });
    EXPECT_EQ(found, dtype);
  }
}

TEST(DType, elements_of_all_are_doubles_and_wide_integers_are_rounded) {
  EXPECT_EQ(as_double(true), 1);
  EXPECT_EQ(as_double(std::int8_t{-128}), -128);
  EXPECT_EQ(as_double(Float16{0xc000}), -2);
  EXPECT_EQ(as_double(BFloat16{0x3fc0}), 1.5);
  EXPECT_EQ(as_double(0.1F), static_cast<double>(0.1F));
  EXPECT_EQ(as_double(0.1), 0.1);
  EXPECT_EQ(as_double((std::int64_t{1} << 53) + 1), 0x1p53);
  EXPECT_EQ(as_double(~std::uint64_t{0}), 0x1p64);
}

TEST(DType, a_cast_integer_may_be_none) {
  EXPECT_EQ(to_string(static_cast<DType>(99)), "(no dtype)");
  EXPECT_EQ(element_size(static_cast<DType>(-1)), 0U);
}

TEST(Float16, known_values_convert_exactly) {
  EXPECT_EQ(half(0x3c00), 1.0F);
  EXPECT_EQ(half(0xc000), -2.0F);
  EXPECT_EQ(half(0x7bff), 65504.0F);
  EXPECT_EQ(half(0x3555), 0.333251953125F);
  EXPECT_EQ(half(0x0400), 0x1p-14F);
}

TEST(Float16, subnormals_convert_exactly) {
  EXPECT_EQ(half(0x0001), 0x1p-24F);
  EXPECT_EQ(half(0x03ff), 1023 * 0x1p-24F);
  EXPECT_EQ(half(0x8001), -0x1p-24F);
}

TEST(Float16, every_value_is_sign_times_fraction_times_power) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>((bits >> 10U) & 0x1fU);
    if (exponent == 0x1f) continue;
    const double fraction = (bits & 0x3ffU) + (exponent == 0 ? 0 : 1024);
    const double expected = std::ldexp(fraction, (exponent == 0 ? 1 : exponent) - 25);
    const float got = half(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::fabs(got), expected) << bits;
    ASSERT_EQ(std::signbit(got), bits >= 0x8000) << bits;
  }
}

TEST(Float16, infinities_and_nans_keep_sign_and_payload) {
  EXPECT_EQ(half(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(half(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half(0x7c01)));
  EXPECT_TRUE(std::isnan(half(0xffff)));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(half(0xfe01)), 0xffc02000U);
}

TEST(BFloat16, is_the_upper_half_of_a_float) {
  EXPECT_EQ(brain(0x3f80), 1.0F);
  EXPECT_EQ(brain(0xc040), -3.0F);
  EXPECT_EQ(brain(0x0001), 0x1p-133F);
  EXPECT_EQ(brain(0xff80), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(brain(0x7fc1)));
}

}  // namespace
}  // namespace cupel
