#include "cupel/core/tensor_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cupel/core/element_type.h"

namespace cupel {
namespace {

constexpr std::int64_t kHugeExtent = std::numeric_limits<std::int64_t>::max();

std::vector<int> counting(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

/// A view over ints whose first element is `first`.
TensorView strided(const int* first, const Shape& shape, const Shape& strides) {
  return {first, DType::I32, shape, strides};
}

std::vector<int> copied(const TensorView& view) {
  std::vector<int> out(static_cast<std::size_t>(view.elements()), -1);
  view.copy_to(reinterpret_cast<std::byte*>(out.data()));
  return out;
}

/// The plain loop over all indices that copy_to must agree with.
std::vector<int> walked(const int* data, const Shape& shape, const Shape& strides,
                        std::size_t axis = 0) {
  if (axis == shape.rank()) return {*data};
  std::vector<int> out;
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    const auto inner = walked(data + i * strides[axis], shape, strides, axis + 1);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

TEST(TensorView, row_major_values_are_copied_as_they_lie) {
  const auto values = counting(6);
  EXPECT_EQ(copied(TensorView(values.data(), {2, 3})), values);
  EXPECT_EQ(copied(TensorView(values.data() + 4, {})), std::vector<int>{4});
}

TEST(TensorView, a_transposed_matrix_is_copied_in_row_major_order) {
  const auto values = counting(6);
  EXPECT_EQ(copied(strided(values.data(), {3, 2}, {1, 3})), (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(TensorView, a_stride_of_zero_repeats) {
  const auto values = counting(3);
  EXPECT_EQ(copied(strided(values.data(), {2, 3}, {0, 1})), (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(copied(strided(values.data(), {3, 2}, {1, 0})), (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(copied(strided(values.data() + 2, {2, 2}, {0, 0})), (std::vector<int>{2, 2, 2, 2}));
}

TEST(TensorView, a_negative_stride_goes_backwards) {
  const auto values = counting(6);
  EXPECT_EQ(copied(strided(values.data() + 5, {6}, {-1})), (std::vector<int>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(copied(strided(values.data() + 3, {2, 3}, {-3, 1})),
            (std::vector<int>{3, 4, 5, 0, 1, 2}));
}

TEST(TensorView, every_order_of_three_axes_agrees_with_the_plain_loop) {
  const auto values = counting(200);
  const Shape shape = {2, 3, 4};
  for (const std::int64_t a : {-24, -1, 0, 1, 4, 12, 30})
    for (const std::int64_t b : {-4, -2, 0, 1, 2, 4, 8})
      for (const std::int64_t c : {-6, -1, 0, 1, 2, 6}) {
        const int* first = values.data() + 100;
        ASSERT_EQ(copied(strided(first, shape, {a, b, c})), walked(first, shape, {a, b, c}))
            << a << ' ' << b << ' ' << c;
      }
}

TEST(TensorView, every_element_size_is_gathered) {
  const std::vector<double> f64 = {1, 2, 3, 4};
  std::vector<double> out(2);
  TensorView(f64.data(), DType::F64, {2}, {2}).copy_to(reinterpret_cast<std::byte*>(out.data()));
  EXPECT_EQ(out, (std::vector<double>{1, 3}));
  const std::string bytes = "abcdefgh";
  std::string chars(4, ' ');
  TensorView(bytes.data(), DType::U8, {4}, {2}).copy_to(reinterpret_cast<std::byte*>(chars.data()));
  EXPECT_EQ(chars, "aceg");
  TensorView(bytes.data(), DType::F16, {2}, {2})
      .copy_to(reinterpret_cast<std::byte*>(chars.data()));
  EXPECT_EQ(chars, "abef");
}

// --- Transposed views

/// Elements of one size at an address that may be misaligned by `offset` bytes.
template <class T>
class Source {
 public:
  Source(std::int64_t count, std::size_t offset)
      : offset_(offset), bytes_(static_cast<std::size_t>(count) * sizeof(T) + offset) {
    std::uint32_t state = 1;
    for (std::byte& byte : bytes_) {
      state = state * 1664525U + 1013904223U;
      byte = static_cast<std::byte>(state >> 24U);
    }
  }
  const std::byte* at(std::int64_t element) const {
    return bytes_.data() + offset_ + element * static_cast<std::int64_t>(sizeof(T));
  }

 private:
  std::size_t offset_;
  std::vector<std::byte> bytes_;
};

template <class T>
void walk(const std::byte* data, const Shape& shape, const Shape& strides,
          std::vector<std::byte>& out, std::size_t axis = 0) {
  if (axis == shape.rank()) {
    out.insert(out.end(), data, data + sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < shape[axis]; ++i)
    walk<T>(data + i * strides[axis] * static_cast<std::int64_t>(sizeof(T)), shape, strides, out,
            axis + 1);
}

/// Copies a view to an address that is misaligned by `offset`. Expects the result of the plain loop
/// over all indices, and that the bytes around the copy did not change.
template <class T>
void expect_walked(const std::byte* first, const Shape& shape, const Shape& strides,
                   std::size_t offset = 0) {
  constexpr std::size_t kAround = 64;
  constexpr std::byte kUntouched{0xa5};
  const TensorView view(first, kDTypeOf<T>, shape, strides);
  ASSERT_EQ(view.defect(), nullptr);
  std::vector<std::byte> expected;
  walk<T>(first, shape, strides, expected);
  expected.insert(expected.begin(), kAround + offset, kUntouched);
  expected.insert(expected.end(), kAround, kUntouched);
  std::vector<std::byte> out(expected.size(), kUntouched);
  view.copy_to(out.data() + kAround + offset);
  ASSERT_TRUE(out == expected) << to_string(shape) << " strides " << to_string(strides)
                               << ", misaligned by " << offset;
}

template <class T>
class TransposedView : public ::testing::Test {};
using Sizes = ::testing::Types<std::uint8_t, Float16, float, double>;
TYPED_TEST_SUITE(TransposedView, Sizes);

TYPED_TEST(TransposedView, matrices_of_all_small_extents_agree_with_the_plain_loop) {
  constexpr std::int64_t kMost = 2 * 16 / sizeof(TypeParam) + 2;
  const Source<TypeParam> source(kMost * 80, 1);
  for (std::int64_t rows = 0; rows <= kMost; ++rows)
    for (std::int64_t columns = 0; columns <= kMost; ++columns) {
      expect_walked<TypeParam>(source.at(0), {rows, columns}, {1, rows}, 0);
      expect_walked<TypeParam>(source.at(3), {rows, columns}, {1, rows + 5}, 1);
      if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST(TransposedView, matrices_at_the_edges_of_tiles_agree_with_the_plain_loop) {
  constexpr std::int64_t kTile = 512 / sizeof(TypeParam);
  const Source<TypeParam> source((kTile + 2) * (kTile + 2), 0);
  for (const std::int64_t rows : {kTile / 2 - 1, kTile / 2, kTile - 1, kTile + 1})
    for (const std::int64_t columns : {kTile / 4, kTile / 2 + 1, kTile - 1, kTile, kTile + 2}) {
      expect_walked<TypeParam>(source.at(0), {rows, columns}, {1, rows}, 3);
      if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST(TransposedView, a_copy_that_goes_past_the_caches_is_whole) {
  constexpr std::int64_t kRows = 901;
  constexpr std::int64_t kColumns = (1 << 20) / sizeof(TypeParam) / kRows + 3;
  const Source<TypeParam> source(kRows * kColumns, 1);
  for (const std::size_t offset : {0, 1, 60})
    expect_walked<TypeParam>(source.at(0), {kRows, kColumns}, {1, kRows}, offset);
}

TYPED_TEST(TransposedView, every_order_of_four_axes_agrees_with_the_plain_loop) {
  const std::int64_t extents[] = {3, 17, 9, 20};
  const Source<TypeParam> source(3 * 17 * 9 * 20, 1);
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    std::int64_t strides[4];
    std::int64_t stride = 1;
    for (std::size_t i = 4; i-- > 0; stride *= extents[order[i]]) strides[order[i]] = stride;
    expect_walked<TypeParam>(source.at(0), {extents[0], extents[1], extents[2], extents[3]},
                             {strides[0], strides[1], strides[2], strides[3]});
    if (this->HasFatalFailure()) return;
  } while (std::ranges::next_permutation(order).found);
}

TYPED_TEST(TransposedView, channels_last_and_channels_first_agree_with_the_plain_loop) {
  for (const std::int64_t channels : {1, 3, 4, 16, 67}) {
    constexpr std::int64_t kHeight = 7, kWidth = 11, kImages = 3;
    const std::int64_t pixels = kHeight * kWidth;
    const std::int64_t image = pixels * channels;
    const Source<TypeParam> source(kImages * image, 0);
    expect_walked<TypeParam>(source.at(0), {kImages, channels, kHeight, kWidth},
                             {image, 1, kWidth * channels, channels});
    expect_walked<TypeParam>(source.at(0), {kImages, kHeight, kWidth, channels},
                             {image, kWidth, 1, pixels});
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(TransposedView, backward_repeated_and_overlapping_rows_agree_with_the_plain_loop) {
  constexpr std::int64_t kRows = 40, kColumns = 30;
  const Source<TypeParam> source(kRows * kColumns, 0);
  // Columns from the last to the first, one column again and again, and windows one apart.
  expect_walked<TypeParam>(source.at(kRows * (kColumns - 1)), {kRows, kColumns}, {1, -kRows});
  expect_walked<TypeParam>(source.at(7), {kRows, kColumns}, {1, 0});
  expect_walked<TypeParam>(source.at(7), {kRows, kColumns}, {1, 1});
  expect_walked<TypeParam>(source.at(7), {kRows, kColumns}, {1, 2});
  expect_walked<TypeParam>(source.at(200), {kRows, 2, kColumns}, {1, -3, 5});
  expect_walked<TypeParam>(source.at(200), {5, kRows, kColumns}, {0, 1, 17});
}

TEST(TensorView, an_empty_view_copies_nothing) {
  TensorView(nullptr, DType::F32, {0, 3}, {3, 1}).copy_to(nullptr);
  EXPECT_EQ(TensorView(nullptr, DType::F32, {0, 3}).defect(), nullptr);
}

TEST(TensorView, thirty_two_axes_are_walked) {
  const auto values = counting(4);
  std::vector<int> extents(32, 1);
  std::vector<int> strides(32, 77);
  extents[3] = extents[31] = 2;
  strides[3] = 1;
  strides[31] = 2;
  EXPECT_EQ(copied(strided(values.data(), extents, strides)), (std::vector<int>{0, 2, 1, 3}));
}

TEST(TensorView, contiguity_ignores_axes_of_extent_one) {
  const auto values = counting(6);
  EXPECT_TRUE(TensorView(values.data(), {2, 3}).is_contiguous());
  EXPECT_TRUE(strided(values.data(), {2, 3}, {3, 1}).is_contiguous());
  EXPECT_TRUE(strided(values.data(), {2, 1, 3}, {3, 99, 1}).is_contiguous());
  EXPECT_TRUE(strided(values.data(), {1}, {0}).is_contiguous());
  EXPECT_TRUE(strided(values.data(), {0, 3}, {1, 7}).is_contiguous());
  EXPECT_FALSE(strided(values.data(), {3, 2}, {1, 3}).is_contiguous());
  EXPECT_FALSE(strided(values.data(), {3}, {2}).is_contiguous());
  EXPECT_FALSE(strided(values.data(), {2, 3}, {kHugeExtent, kHugeExtent}).is_contiguous());
}

struct Refusal {
  const char* why;
  TensorView view;
};

TEST(TensorView, what_cannot_be_saved_says_why) {
  const float value = 0;
  const std::string text;
  const std::vector<int> long_list(33, 1);
  const Refusal refusals[] = {
      {"the dtype is unknown", {&value, static_cast<DType>(14), {1}}},
      {"the shape has more than 32 extents", {&value, long_list}},
      {"an extent is negative", {&value, {0, -1}}},
      {"the size overflows", {&value, {kHugeExtent, kHugeExtent}}},
      {"the size overflows", {&value, {kHugeExtent / 2}}},
      {"the strides do not have the rank of the shape", {&value, DType::F32, {1, 1}, {1}}},
      {"the strides do not have the rank of the shape", {&value, DType::F32, {1}, long_list}},
      {"the shape is not empty and there are no data", {nullptr, DType::F32, {1}}},
      {"the shape is not empty and there are no data", {nullptr, DType::F32, {}}},
      {"the strides overflow", {&value, DType::F32, {3}, {kHugeExtent / 2}}},
      {"the strides overflow", {&value, DType::F32, {2}, {std::numeric_limits<int64_t>::min()}}},
      {"strings cannot have strides", {&text, DType::Utf8, {2}, {2}}},
  };
  for (const auto& [why, view] : refusals) EXPECT_STREQ(view.defect(), why);
}

TEST(TensorView, what_can_be_saved_has_no_defect) {
  const float value = 0;
  const std::string text;
  EXPECT_EQ(TensorView(&value, {}).defect(), nullptr);
  EXPECT_EQ(TensorView(&value, {1, 1}).defect(), nullptr);
  EXPECT_EQ(TensorView(&text, {1}).defect(), nullptr);
  EXPECT_EQ(TensorView(&value, DType::F32, {100, 100}, {0, 0}).defect(), nullptr);
  EXPECT_EQ(TensorView(nullptr, DType::F32, {0, kHugeExtent}).defect(), nullptr);
}

}  // namespace
}  // namespace cupel
