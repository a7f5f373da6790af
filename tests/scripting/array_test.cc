#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cupel/core/error.h"
#include "scripting/array_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Array, every_dtype_is_widened_as_the_plain_loop_says) {
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t length : kLengths) {
      const scripting_detail::Array array = any_numbers(dtype, {length});
      std::vector<double> wide(static_cast<std::size_t>(length));
      scripting_detail::widen(array, 0, length, wide.data());
      EXPECT_EQ(bits_of(wide), bits_of(doubles_of(array))) << to_string(dtype) << " " << length;
    }
  }
}

TEST(Array, a_part_of_it_is_widened_from_where_it_begins) {
  for (const DType dtype : kNumericDTypes) {
    const scripting_detail::Array array = some_numbers(dtype, {10});
    const std::vector<double> all = doubles_of(array);
    std::vector<double> wide(3);
    scripting_detail::widen(array, 4, 3, wide.data());
    EXPECT_THAT(wide, ElementsAre(all[4], all[5], all[6])) << to_string(dtype);
    EXPECT_EQ(array.at(7), all[7]);
  }
}

TEST(Array, integers_are_integers_as_far_as_64_bits_with_a_sign_hold_them) {
  const auto wide = array_of<std::int64_t>({INT64_MIN, (1LL << 53) + 1, INT64_MAX});
  EXPECT_EQ(wide.integer_at(0), INT64_MIN);
  EXPECT_EQ(wide.integer_at(1), 9007199254740993);
  EXPECT_EQ(wide.integer_at(2), INT64_MAX);
  const auto without_sign = array_of<std::uint64_t>({7, 1ULL << 63U});
  EXPECT_EQ(without_sign.integer_at(0), 7);
  EXPECT_EQ(without_sign.integer_at(1), std::nullopt);
  EXPECT_EQ(array_of<std::int8_t>({-128}).integer_at(0), -128);
  EXPECT_EQ(array_of<float>({1}).integer_at(0), std::nullopt);
}

TEST(Array, another_shape_and_a_part_share_the_bytes) {
  const auto array = array_of<std::int16_t>({1, 2, 3, 4, 5, 6});
  const scripting_detail::Array shaped = array.reshaped({2, 3});
  EXPECT_EQ(shaped.data(), array.data());
  EXPECT_EQ(shaped.shape(), (Shape{2, 3}));
  const scripting_detail::Array part = array.part(2, {2, 2});
  EXPECT_EQ(part.data(), array.data() + 4);
  EXPECT_THAT(doubles_of(part), ElementsAre(3, 4, 5, 6));
}

TEST(Array, more_elements_than_any_memory_are_refused_before_it_is_asked_for) {
  CountingBudget budget;
  EXPECT_THROW(scripting_detail::Array::make(budget, DType::F64, {1LL << 32U, 1LL << 32U}),
               UsageError);
  EXPECT_THROW(scripting_detail::Array::make(budget, DType::U8, {(1LL << 48U) + 1}), UsageError);
  EXPECT_EQ(budget.allocated, 0U);
}

// --- Slices

// Elements along `axis` from `first` on, in nested loops.
std::vector<double> plain_slice(const scripting_detail::Array& array, std::size_t axis,
                                std::int64_t first, std::int64_t count, std::int64_t step) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < array.shape().rank(); ++i) inner *= array.shape()[i];
  const std::int64_t extent = array.shape()[axis];
  const std::vector<double> all = doubles_of(array);
  std::vector<double> chosen;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    const std::int64_t place = i / inner % extent - first;
    if (place >= 0 && place % step == 0 && place / step < count)
      chosen.push_back(all[static_cast<std::size_t>(i)]);
  }
  return chosen;
}

TEST(Slice, every_axis_and_step_is_as_the_plain_loop_says) {
  CountingBudget budget;
  for (const Shape& shape : {Shape{7}, Shape{5, 7}, Shape{3, 4, 5}, Shape{2, 3, 1, 6}}) {
    const scripting_detail::Array array = some_numbers(DType::I32, shape);
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      for (std::int64_t first = 0; first < shape[axis]; ++first)
        for (std::int64_t step = 1; step <= 3; ++step) {
          const std::int64_t most = (shape[axis] - first - 1) / step + 1;
          for (std::int64_t count = 0; count <= most; ++count) {
            const scripting_detail::Array part =
                scripting_detail::slice(budget, array, axis, first, count, step);
            EXPECT_EQ(doubles_of(part), plain_slice(array, axis, first, count, step));
            EXPECT_EQ(part.shape()[axis], count);
          }
        }
  }
}

TEST(Slice, every_dtype_keeps_its_elements) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    const scripting_detail::Array array = some_numbers(dtype, {6, 4});
    const scripting_detail::Array part = scripting_detail::slice(budget, array, 1, 1, 2, 2);
    EXPECT_EQ(part.dtype(), dtype);
    EXPECT_EQ(doubles_of(part), plain_slice(array, 1, 1, 2, 2)) << to_string(dtype);
  }
}

TEST(Slice, blocks_around_the_size_of_a_piece_are_copied_whole) {
  CountingBudget budget;
  for (const std::int64_t inner : {1, 15, 4095, 4097, 65535, 65536, 65537, 140'000}) {
    const scripting_detail::Array array = some_numbers(DType::U8, {3, 2, inner});
    const scripting_detail::Array part = scripting_detail::slice(budget, array, 1, 1, 1, 1);
    EXPECT_EQ(doubles_of(part), plain_slice(array, 1, 1, 1, 1)) << inner;
  }
}

TEST(Slice, what_lies_together_is_not_copied) {
  CountingBudget budget;
  const scripting_detail::Array array = some_numbers(DType::F32, {6, 4});
  EXPECT_EQ(scripting_detail::slice(budget, array, 0, 2, 3, 1).data(), array.data() + 32);
  EXPECT_EQ(scripting_detail::slice(budget, array, 0, 5, 1, 3).data(), array.data() + 80);
  EXPECT_EQ(budget.allocated, 0U);
}

TEST(Slice, of_nothing_is_empty_however_large_the_other_extents_are) {
  CountingBudget budget;
  const scripting_detail::Array array = some_numbers(DType::F64, {1LL << 40U, 0, 1LL << 40U});
  EXPECT_EQ(scripting_detail::slice(budget, array, 0, 1, 5, 2).shape(), (Shape{5, 0, 1LL << 40U}));
  EXPECT_EQ(scripting_detail::slice(budget, array, 1, 0, 0, 1).shape(), array.shape());
  EXPECT_EQ(scripting_detail::slice(budget, array, 2, 0, 0, 1).elements(), 0);
}

TEST(Slice, small_blocks_are_paid_for) {
  CountingBudget budget;
  scripting_detail::slice(budget, some_numbers(DType::U8, {1'000'000, 2}), 1, 0, 1, 1);
  EXPECT_GE(budget.charged, 1'000'000);
  EXPECT_LE(budget.most_at_once, 10'000);
}

// --- Masks

TEST(Select, every_dtype_and_length_is_as_the_plain_loop_says) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t length : kLengths) {
      const scripting_detail::Array array = any_numbers(dtype, {length});
      const scripting_detail::Array mask = some_numbers(DType::Bool, {length}, 2);
      const std::vector<double> all = doubles_of(array);
      std::vector<double> chosen;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (mask.data()[i] != std::byte{0}) chosen.push_back(all[i]);
      const scripting_detail::Array selected = scripting_detail::select(budget, array, mask);
      EXPECT_EQ(bits_of(doubles_of(selected)), bits_of(chosen)) << to_string(dtype) << length;
      EXPECT_EQ(selected.dtype(), dtype);
    }
  }
}

TEST(Select, of_several_axes_is_flat) {
  CountingBudget budget;
  const auto array = array_of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto mask = array_of<bool>({false, true, true, false, false, true}, {2, 3});
  const scripting_detail::Array selected = scripting_detail::select(budget, array, mask);
  EXPECT_EQ(selected.shape(), Shape{3});
  EXPECT_THAT(doubles_of(selected), ElementsAre(2, 3, 6));
}

// --- Equality

TEST(Equal, numbers_are_compared_whatever_their_dtypes) {
  CountingBudget budget;
  const auto small = array_of<std::int8_t>({1, 2, 100});
  for (const DType dtype : kNumericDTypes) {
    if (dtype == DType::Bool) continue;
    EXPECT_TRUE(scripting_detail::equal(budget, small, array_of(dtype, {1, 2, 100}, {3})))
        << to_string(dtype);
    EXPECT_TRUE(scripting_detail::equal(budget, array_of(dtype, {1, 2, 100}, {3}), small))
        << to_string(dtype);
    EXPECT_FALSE(scripting_detail::equal(budget, array_of(dtype, {1, 2, 96}, {3}), small))
        << to_string(dtype);
  }
  EXPECT_FALSE(scripting_detail::equal(budget, small, array_of<std::int8_t>({1, 2, 100}, {3, 1})));
}

TEST(Equal, integers_beyond_2_to_the_53_are_not_rounded) {
  CountingBudget budget;
  const auto is = [&](const scripting_detail::Array& a, const scripting_detail::Array& b) {
    EXPECT_EQ(scripting_detail::equal(budget, a, b), scripting_detail::equal(budget, b, a));
    return scripting_detail::equal(budget, a, b);
  };
  constexpr std::int64_t kOdd = (1LL << 53U) + 1;
  EXPECT_FALSE(is(array_of<std::int64_t>({kOdd}), array_of<std::int64_t>({kOdd - 1})));
  EXPECT_FALSE(is(array_of<std::int64_t>({kOdd}), array_of<std::uint64_t>({kOdd - 1})));
  EXPECT_TRUE(is(array_of<std::int64_t>({kOdd}), array_of<std::uint64_t>({kOdd})));
  EXPECT_FALSE(is(array_of<std::int64_t>({kOdd}), array_of<double>({0x1p53})));
  EXPECT_TRUE(is(array_of<std::int64_t>({kOdd - 1}), array_of<double>({0x1p53})));
  EXPECT_FALSE(is(array_of<std::int64_t>({INT64_MAX}), array_of<double>({0x1p63})));
  EXPECT_TRUE(is(array_of<std::int64_t>({INT64_MIN}), array_of<float>({-0x1p63F})));
  EXPECT_FALSE(is(array_of<std::int64_t>({-1}), array_of<std::uint64_t>({UINT64_MAX})));
  EXPECT_FALSE(is(array_of<std::uint64_t>({UINT64_MAX}), array_of<double>({0x1p64})));
  EXPECT_TRUE(is(array_of<std::uint64_t>({1ULL << 63U}), array_of<double>({0x1p63})));
  EXPECT_FALSE(is(array_of<std::uint64_t>({5}), array_of<double>({kNaN})));
}

TEST(Equal, zeros_are_and_nans_are_not) {
  CountingBudget budget;
  EXPECT_TRUE(scripting_detail::equal(budget, array_of<double>({-0.0}), array_of<float>({0})));
  EXPECT_FALSE(
      scripting_detail::equal(budget, array_of<float>({1, NAN}), array_of<float>({1, NAN})));
}

TEST(Equal, a_difference_anywhere_is_found) {
  CountingBudget budget;
  for (const std::size_t place : {0U, 1023U, 1024U, 65535U, 65536U, 69'999U}) {
    std::vector<float> other(70'000, 1);
    const scripting_detail::Array ones = array_of(other);
    EXPECT_TRUE(scripting_detail::equal(budget, ones, array_of(other)));
    other[place] = 2;
    EXPECT_FALSE(scripting_detail::equal(budget, ones, array_of(other))) << place;
  }
}

// --- Texts

TEST(Texts, slices_and_masks_choose_them) {
  CountingBudget budget;
  const scripting_detail::Array array = texts_of({"a", "", "ccc", "dd", "e", "f"}, {2, 3});
  EXPECT_THAT(strings_of(scripting_detail::slice(budget, array, 1, 0, 2, 2)),
              ElementsAre("a", "ccc", "dd", "f"));
  EXPECT_THAT(strings_of(scripting_detail::slice(budget, array, 0, 1, 1, 1)),
              ElementsAre("dd", "e", "f"));
  const auto mask = array_of<bool>({false, true, true, false, false, true}, {2, 3});
  EXPECT_THAT(strings_of(scripting_detail::select(budget, array, mask)),
              ElementsAre("", "ccc", "f"));
  EXPECT_THAT(strings_of(scripting_detail::select(budget, array,
                                                  array_of(std::vector<bool>(6, false), {2, 3}))),
              IsEmpty());
}

TEST(Texts, a_text_of_a_slice_is_where_it_was) {
  CountingBudget budget;
  const scripting_detail::Array array = texts_of({"one", "two", "three"}, {3});
  EXPECT_EQ(array.part(1, {2}).text_at(1), "three");
}

TEST(Texts, are_equal_by_their_characters) {
  CountingBudget budget;
  const std::string nul("a\0b", 3);
  EXPECT_TRUE(
      scripting_detail::equal(budget, texts_of({"x", nul}, {2}), texts_of({"x", nul}, {2})));
  EXPECT_FALSE(
      scripting_detail::equal(budget, texts_of({"x", nul}, {2}), texts_of({"x", "a"}, {2})));
  EXPECT_FALSE(scripting_detail::equal(budget, texts_of({"1"}, {1}), array_of<float>({1})));
}

TEST(Texts, long_ones_are_copied_and_compared_in_parts_that_are_paid_for) {
  std::string text(3'000'001, 'x');
  const scripting_detail::Array array = texts_of({"short", text}, {2});
  const auto mask = array_of<bool>({false, true});
  CountingBudget budget;
  const scripting_detail::Array copy = scripting_detail::select(budget, array, mask);
  EXPECT_EQ(copy.text_at(0), text);
  EXPECT_GE(budget.charged, 2'900'000 / 64);
  EXPECT_LE(budget.most_at_once, 4096);

  text.back() = 'y';
  budget.charged = 0;
  EXPECT_FALSE(scripting_detail::equal(budget, array, texts_of({"short", text}, {2})));
  EXPECT_GE(budget.charged, 2'900'000 / 64);
  EXPECT_LE(budget.most_at_once, 4096);
}

TEST(Texts, a_mask_that_has_few_of_many_is_gone_through_in_pieces) {
  constexpr std::int64_t kMany = 500'000;
  const scripting_detail::Array array = texts_of(std::vector<std::string>(kMany, "t"), {kMany});
  std::vector<bool> last(kMany, false);
  last.back() = true;
  CountingBudget budget;
  EXPECT_EQ(scripting_detail::select(budget, array, array_of(last)).elements(), 1);
  EXPECT_GE(budget.charged, kMany / 4);
  EXPECT_LE(budget.most_at_once, scripting_detail::kElementsPerPiece);
}

}  // namespace
}  // namespace cupel::testing
