#include "cupel/trial/tensor_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cupel/core/error.h"
#include "trial/run_builder.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

TensorValue value_of(const SavedTensor& tensor) {
  auto buffer = std::make_shared<AlignedBuffer>(tensor.bytes->size());
  if (!tensor.bytes->empty())
    std::memcpy(buffer->data(), tensor.bytes->data(), tensor.bytes->size());
  return TensorValue(tensor.dtype, *tensor.shape, buffer, "events/file", 77);
}

template <class T>
TensorValue value_of(std::vector<T> values) {
  return value_of(raw_of("t", values));
}

TEST(TensorValue, gives_its_elements_as_their_type) {
  const TensorValue value = value_of<std::int16_t>({1, -2, 3});
  EXPECT_THAT(value.as<std::int16_t>(), ElementsAre(1, -2, 3));
  EXPECT_EQ(value.elements(), 3);
  EXPECT_EQ(value.bytes().size(), 6U);
}

TEST(TensorValue, refuses_other_types_and_names_both) {
  const TensorValue value = value_of<float>({1});
  try {
    static_cast<void>(value.as<double>());
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("f32"), ::testing::HasSubstr("f64")));
  }
}

TEST(TensorValue, gives_its_memory_away_where_nobody_shares_it) {
  TensorValue value = value_of<float>({1, 2});
  const std::byte* const memory = value.bytes().data();
  EXPECT_EQ(std::move(value).release().data(), memory);
}

TEST(TensorValue, gives_a_copy_away_where_another_value_shares_its_memory) {
  TensorValue value = value_of<float>({1, 2});
  const TensorValue other = value;
  AlignedBuffer released = std::move(value).release();
  released.data()[0] = std::byte{0x55};
  EXPECT_THAT(other.as<float>(), ElementsAre(1, 2));
  EXPECT_EQ(released.size(), 8U);
}

TEST(TensorValue, that_is_a_temporary_gives_elements_that_live_on) {
  const auto elements = value_of<float>({4, 5}).as<float>();
  EXPECT_THAT(elements, ElementsAre(4, 5));
  EXPECT_EQ(elements[1], 5);
}

TEST(TensorValue, that_is_a_temporary_makes_no_span_that_dangles) {
  static_assert(std::is_convertible_v<decltype(std::declval<const TensorValue&>().as<float>()),
                                      std::span<const float>>);
  static_assert(!std::is_convertible_v<decltype(std::declval<TensorValue>().as<float>()),
                                       std::span<const float>>);
  static_assert(!std::is_constructible_v<std::span<const float>,
                                         decltype(std::declval<TensorValue>().as<float>())>);
}

TEST(TensorValue, is_aligned) {
  const TensorValue value = value_of<double>({1});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value.bytes().data()) % 64, 0U);
}

TEST(TensorValue, gives_single_elements_of_every_numeric_type) {
  EXPECT_EQ(value_of<std::int8_t>({-3}).at(0), -3);
  EXPECT_EQ(value_of<std::int32_t>({0, -4}).at(1), -4);
  EXPECT_EQ(value_of<std::int64_t>({5}).at(0), 5);
  EXPECT_EQ(value_of<std::uint8_t>({200}).at(0), 200);
  EXPECT_EQ(value_of<std::uint16_t>({60000}).at(0), 60000);
  EXPECT_EQ(value_of<std::uint32_t>({7}).at(0), 7);
  EXPECT_EQ(value_of<std::uint64_t>({8}).at(0), 8);
  EXPECT_EQ(value_of<Float16>({Float16{0x3c00}}).at(0), 1);
  EXPECT_EQ(value_of<BFloat16>({BFloat16{0xc000}}).at(0), -2);
  EXPECT_EQ(value_of<double>({2.5}).at(0), 2.5);
}

SavedTensor bools(std::initializer_list<std::uint8_t> bytes) {
  SavedTensor tensor = raw_of("t", std::vector<std::uint8_t>(bytes));
  tensor.dtype = DType::Bool;
  return tensor;
}

TEST(TensorValue, reads_bools) {
  const TensorValue value = value_of(bools({0, 1}));
  EXPECT_THAT(value.as<bool>(), ElementsAre(false, true));
  EXPECT_EQ(value.at(1), 1);
}

TEST(TensorValue, refuses_bools_that_are_neither) {
  EXPECT_THROW(value_of(bools({0, 2})), FormatError);
}

TEST(TensorValue, names_the_place_of_what_it_refuses) {
  try {
    value_of(bools({9}));
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, "events/file");
    EXPECT_EQ(error.offset, 77U);
  }
}

TEST(TensorValue, refuses_bytes_that_do_not_make_the_shape) {
  EXPECT_THROW(value_of(raw("t", {1, 2}).shaped({3})), FormatError);
  EXPECT_THROW(value_of(raw("t", {1, 2}).shaped({1})), FormatError);
}

TEST(TensorValue, reads_texts) {
  EXPECT_THAT(value_of(texts("t", {"one", "", "three"})).strings(),
              ElementsAre("one", "", "three"));
  EXPECT_THAT(value_of(texts("t", {"one"})).strings(), ElementsAre("one"));
  EXPECT_THROW(static_cast<void>(value_of<float>({1}).strings()), UsageError);
}

SavedTensor texts_with_offsets(std::vector<std::int64_t> offsets) {
  SavedTensor tensor = texts("t", {"ab", "cd"});
  std::memcpy(tensor.bytes->data(), offsets.data(), offsets.size() * 8);
  return tensor;
}

TEST(TensorValue, refuses_offsets_of_texts_that_lead_astray) {
  EXPECT_NO_THROW(value_of(texts_with_offsets({0, 1, 4})));
  EXPECT_THROW(value_of(texts_with_offsets({1, 2, 4})), FormatError);
  EXPECT_THROW(value_of(texts_with_offsets({0, 5, 4})), FormatError);
  EXPECT_THROW(value_of(texts_with_offsets({0, -1, 4})), FormatError);
  EXPECT_THROW(value_of(texts_with_offsets({0, 2, 3})), FormatError);
  EXPECT_THROW(value_of(texts_with_offsets({0, 2, 1'000'000})), FormatError);
}

TEST(TensorValue, refuses_texts_whose_offsets_are_cut_off) {
  EXPECT_THROW(value_of(texts("t", {"ab"}).shaped({5})), FormatError);
  EXPECT_THROW(value_of(texts("t", {}).shaped({std::int64_t{1} << 60})), FormatError);
}

}  // namespace
}  // namespace cupel::testing
