#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "scripting/array_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

// Each element is looked for from bin to bin.
scripting_detail::Histogram plain_histogram(const scripting_detail::Array& array,
                                            const std::vector<double>& edges) {
  scripting_detail::Histogram histogram;
  histogram.edges = edges;
  histogram.counts.resize(edges.size() - 1);
  for (const double x : doubles_of(array)) {
    if (std::isnan(x)) {
      ++histogram.nan;
    } else if (x < edges.front()) {
      ++histogram.below;
    } else if (x > edges.back()) {
      ++histogram.above;
    } else {
      std::size_t bin = edges.size() - 2;
      while (x < edges[bin]) --bin;
      ++histogram.counts[bin];
    }
  }
  return histogram;
}

void expect_histogram(const scripting_detail::Histogram& found,
                      const scripting_detail::Histogram& expected) {
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.nan, expected.nan);
  EXPECT_EQ(found.below, expected.below);
  EXPECT_EQ(found.above, expected.above);
}

TEST(Histogram, counts_every_dtype_as_the_plain_loop_does) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t bins : {1, 2, 7, 64, 1000}) {
      for (const scripting_detail::Array& array :
           {some_numbers(dtype, {3000}), any_numbers(dtype, {3000})}) {
        const scripting_detail::Histogram found =
            scripting_detail::histogram(budget, array, bins, std::nullopt);
        ASSERT_EQ(found.edges.size(), static_cast<std::size_t>(bins) + 1);
        EXPECT_TRUE(std::is_sorted(found.edges.begin(), found.edges.end()));
        expect_histogram(found, plain_histogram(array, found.edges));
      }
    }
  }
}

TEST(Histogram, bins_are_of_equal_width_and_the_last_has_its_upper_edge) {
  CountingBudget budget;
  const auto array = array_of<double>({-1, 0, 0.5, 1, 1.5, 2, 3, kNaN, kInfinity, -kInfinity});
  const scripting_detail::Histogram found =
      scripting_detail::histogram(budget, array, 4, std::pair(0.0, 2.0));
  EXPECT_THAT(found.edges, ElementsAre(0, 0.5, 1, 1.5, 2));
  EXPECT_THAT(found.counts, ElementsAre(1, 1, 1, 2));
  EXPECT_EQ(found.nan, 1);
  EXPECT_EQ(found.below, 2);
  EXPECT_EQ(found.above, 2);
}

TEST(Histogram, without_a_range_it_is_that_of_the_finite_elements) {
  CountingBudget budget;
  const auto edges = [&](const std::vector<double>& numbers) {
    return scripting_detail::histogram(budget, array_of(numbers), 2, std::nullopt).edges;
  };
  EXPECT_THAT(edges({3, -1, kInfinity, kNaN}), ElementsAre(-1, 1, 3));
  EXPECT_THAT(edges({}), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(edges({kNaN, -kInfinity}), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(edges({5, 5}), ElementsAre(4.5, 5, 5.5));
}

TEST(Histogram, ranges_beyond_and_below_what_doubles_divide_lose_nothing) {
  CountingBudget budget;
  constexpr double kMost = std::numeric_limits<double>::max();
  const double next = std::nextafter(1.0, 2.0);
  for (const std::vector<double>& numbers :
       {std::vector<double>{-kMost, -1, 0, 1, kMost}, std::vector<double>{5e-324, 0, 1e-323},
        std::vector<double>{1, next, std::nextafter(next, 2.0)},
        std::vector<double>{1e300, 1e300}}) {
    for (const std::int64_t bins : {1, 3, 10, 100}) {
      const scripting_detail::Histogram found =
          scripting_detail::histogram(budget, array_of(numbers), bins, std::nullopt);
      EXPECT_EQ(std::accumulate(found.counts.begin(), found.counts.end(), std::int64_t{0}),
                static_cast<std::int64_t>(numbers.size()))
          << numbers[0] << " " << bins;
      EXPECT_TRUE(std::is_sorted(found.edges.begin(), found.edges.end())) << numbers[0];
    }
  }
}

}  // namespace
}  // namespace cupel::testing
