#include "cupel/core/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace cupel {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(Shape, the_number_of_elements_is_the_product) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{5, 0}).elements(), 0);
}

TEST(Shape, impossible_extents_have_no_number_of_elements) {
  EXPECT_EQ((Shape{2, -1}).elements(), -1);
  EXPECT_EQ((Shape{0, -1}).elements(), -1);
  EXPECT_EQ((Shape{kHuge, 2}).elements(), -1);
  EXPECT_EQ(Shape{std::numeric_limits<std::uint64_t>::max()}.elements(), -1);
}

TEST(Shape, an_empty_shape_does_not_overflow) { EXPECT_EQ((Shape{kHuge, kHuge, 0}).elements(), 0); }

TEST(Shape, thirty_two_extents_are_the_most) {
  EXPECT_TRUE(Shape(std::vector<int>(32, 1)).valid());
  const Shape too_many(std::vector<int>(33, 1));
  EXPECT_FALSE(too_many.valid());
  EXPECT_EQ(too_many.rank(), 0U);
  EXPECT_EQ(too_many.elements(), -1);
}

TEST(Shape, equality_looks_at_the_extents_in_use) {
  Shape longer = {1, 2, 3};
  longer = Shape{1, 2};
  EXPECT_EQ(longer, (Shape{1, 2}));
  EXPECT_FALSE((Shape{1, 2} == Shape{1, 2, 1}));
  EXPECT_FALSE(Shape{} == Shape(std::vector<int>(33, 1)));
}

TEST(Shape, assign_copies_rank_and_extents) {
  Shape shape = {7, 8, 9};
  shape.assign(Shape{1, 2});
  EXPECT_EQ(shape, (Shape{1, 2}));
  shape.assign(Shape(std::vector<int>(33, 1)));
  EXPECT_FALSE(shape.valid());
}

TEST(Shape, prints_like_a_tuple) {
  EXPECT_EQ(to_string(Shape{256, 128}), "(256, 128)");
  EXPECT_EQ(to_string(Shape{7}), "(7)");
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape(std::vector<int>(33, 1))), "(invalid)");
}

TEST(Shape, iterates_over_its_extents) {
  const Shape shape = {4, 5};
  EXPECT_EQ(std::vector<std::int64_t>(shape.begin(), shape.end()),
            (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(shape.extents().size(), 2U);
  EXPECT_EQ(shape[1], 5);
}

}  // namespace
}  // namespace cupel
