#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scripting/array_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::Each;
using ::testing::IsNan;

// The elements of each row along an axis.
std::vector<scripting_detail::Array> rows_of(const scripting_detail::Array& array,
                                             std::size_t axis) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < array.shape().rank(); ++i) inner *= array.shape()[i];
  const std::int64_t extent = array.shape()[axis];
  const std::vector<double> all = doubles_of(array);
  std::vector<scripting_detail::Array> rows;
  for (std::int64_t row = 0; row < array.elements() / extent; ++row) {
    std::vector<double> elements;
    for (std::int64_t i = 0; i < extent; ++i)
      elements.push_back(
          all[static_cast<std::size_t>((row / inner * extent + i) * inner + row % inner)]);
    rows.push_back(array_of(array.dtype(), elements, {extent}));
  }
  return rows;
}

std::vector<double> each_row(
    const scripting_detail::Array& array, std::size_t axis,
    const std::function<double(const scripting_detail::Array&)>& function) {
  std::vector<double> results;
  for (const scripting_detail::Array& row : rows_of(array, axis)) results.push_back(function(row));
  return results;
}

TEST(Axis, every_reduction_is_the_stats_rooms_of_each_row_to_the_bit) {
  CountingBudget budget;
  for (const Shape& shape : {Shape{9}, Shape{6, 5}, Shape{3, 40, 4}, Shape{2, 3, 1, 37}}) {
    for (const DType dtype :
         {DType::Bool, DType::U8, DType::I16, DType::F16, DType::F32, DType::F64}) {
      const scripting_detail::Array array = some_numbers(dtype, shape);
      for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
        for (std::size_t i = 0; i < Reduction::kCount; ++i) {
          const Reduction reduction = Reduction::at(i);
          const scripting_detail::Array found =
              scripting_detail::reduce_axis(budget, array, axis, reduction);
          EXPECT_EQ(found.shape(), scripting_detail::without_axis(shape, axis));
          EXPECT_EQ(bits_of(doubles_of(found)),
                    bits_of(each_row(array, axis,
                                     [&](const auto& row) { return stats_of(row, reduction); })))
              << to_string(reduction) << to_string(dtype) << to_string(shape) << axis;
        }
      }
    }
  }
}

TEST(Axis, rows_around_the_size_of_a_piece_are_the_stats_rooms_to_the_bit) {
  CountingBudget budget;
  for (const std::int64_t length : {2047, 2048, 2049, 65535, 65536, 65537})
    for (const Shape& shape : {Shape{length, 3}, Shape{2, length}, Shape{length, 1}}) {
      const scripting_detail::Array array = some_numbers(DType::F32, shape);
      const std::size_t axis = shape[0] == length ? 0 : 1;
      for (const Reduction reduction :
           {Reduction{ReductionOp::Variance}, Reduction{ReductionOp::Sum}})
        EXPECT_EQ(doubles_of(scripting_detail::reduce_axis(budget, array, axis, reduction)),
                  each_row(array, axis, [&](const auto& row) { return stats_of(row, reduction); }))
            << to_string(shape) << to_string(reduction);
    }
}

TEST(Axis, counts_and_indices_are_those_of_each_row) {
  CountingBudget budget;
  for (const Shape& shape : {Shape{9}, Shape{6, 50}, Shape{30, 4, 4}, Shape{3000, 2}}) {
    for (const DType dtype : {DType::Bool, DType::I8, DType::F32}) {
      const scripting_detail::Array array = some_numbers(dtype, shape, 7);
      for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
        const auto nonzero = [&](const scripting_detail::Array& row) {
          return static_cast<double>(scripting_detail::count_nonzero(budget, row));
        };
        const auto all = static_cast<double>(shape[axis]);
        const auto count = [&](scripting_detail::Counting counting) {
          return doubles_of(scripting_detail::count_axis(budget, array, axis, counting));
        };
        EXPECT_EQ(count(scripting_detail::Counting::Nonzero), each_row(array, axis, nonzero));
        EXPECT_EQ(
            count(scripting_detail::Counting::Any),
            each_row(array, axis, [&](const auto& row) { return nonzero(row) > 0 ? 1.0 : 0.0; }));
        EXPECT_EQ(count(scripting_detail::Counting::All),
                  each_row(array, axis,
                           [&](const auto& row) { return nonzero(row) == all ? 1.0 : 0.0; }));
        for (const bool largest : {false, true})
          EXPECT_EQ(
              doubles_of(scripting_detail::index_of_extreme_axis(budget, array, axis, largest, 1)),
              each_row(array, axis, [&](const auto& row) {
                return static_cast<double>(
                    scripting_detail::index_of_extreme(budget, row, largest) + 1);
              }));
      }
    }
  }
}

TEST(Axis, a_function_gets_each_row) {
  CountingBudget budget;
  const scripting_detail::Array array = some_numbers(DType::I32, {3, 5, 4});
  for (std::size_t axis = 0; axis < 3; ++axis)
    EXPECT_EQ(doubles_of(scripting_detail::map_axis(
                  budget, array, axis, [](const auto& row) { return row.at(1) - row.at(0); })),
              each_row(array, axis, [](const auto& row) { return row.at(1) - row.at(0); }));
}

TEST(Axis, an_empty_one_leaves_what_the_reduction_is_of_nothing) {
  CountingBudget budget;
  const scripting_detail::Array array = some_numbers(DType::F32, {2, 0, 3});
  const auto along = [&](ReductionOp op) {
    return doubles_of(scripting_detail::reduce_axis(budget, array, 1, {op}));
  };
  EXPECT_EQ(along(ReductionOp::Sum), std::vector<double>(6, 0));
  EXPECT_EQ(along(ReductionOp::Prod), std::vector<double>(6, 1));
  EXPECT_THAT(along(ReductionOp::Max), Each(IsNan()));
  EXPECT_EQ(scripting_detail::reduce_axis(budget, array, 0, {}).shape(), (Shape{0, 3}));
  EXPECT_THAT(
      doubles_of(scripting_detail::count_axis(budget, array, 1, scripting_detail::Counting::All)),
      Each(1));
  EXPECT_THAT(
      doubles_of(scripting_detail::count_axis(budget, array, 1, scripting_detail::Counting::Any)),
      Each(0));
}

TEST(Axis, the_extents_of_an_empty_array_may_be_large) {
  CountingBudget budget;
  const scripting_detail::Array array = some_numbers(DType::F32, {1LL << 40U, 0, 1LL << 40U, 0});
  EXPECT_EQ(scripting_detail::reduce_axis(budget, array, 0, {}).elements(), 0);
  EXPECT_EQ(
      scripting_detail::count_axis(budget, array, 1, scripting_detail::Counting::Any).elements(),
      0);
}

TEST(Axis, many_short_rows_are_paid_for) {
  CountingBudget budget;
  constexpr std::int64_t kRows = 200'000;
  for (const Shape& shape : {Shape{kRows, 1}, Shape{1, kRows}, Shape{kRows, 0}}) {
    budget.charged = 0;
    scripting_detail::reduce_axis(budget, some_numbers(DType::U8, shape), shape[0] == 1 ? 0 : 1,
                                  {});
    EXPECT_GE(budget.charged, 20 * kRows) << to_string(shape);
  }
  EXPECT_LE(budget.most_at_once, 4096);
}

TEST(Axis, long_rows_take_little_memory_beside_the_result) {
  CountingBudget budget;
  scripting_detail::reduce_axis(budget, some_numbers(DType::F64, {200'000, 20}), 0, {});
  EXPECT_LE(budget.allocated, 300'000U);
}

}  // namespace
}  // namespace cupel::testing
