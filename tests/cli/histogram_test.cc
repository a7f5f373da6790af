#include "histogram.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>

#include "text_width.h"

namespace cupel::command_detail {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();

template <class T>
TensorValue value_of(const std::vector<T>& elements) {
  auto bytes = std::make_shared<AlignedBuffer>(elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(bytes->data(), elements.data(), bytes->size());
  return {kDTypeOf<T>, Shape{elements.size()}, std::move(bytes), "test", 0};
}
TensorValue doubles(const std::vector<double>& elements) { return value_of(elements); }

Bins bins_of(const TensorValue& value, std::size_t most, bool whole = false) {
  return {summary_of(value), whole, most};
}

HistogramRow row_of(std::int64_t step, const TensorValue& value, const Bins& bins) {
  HistogramRow row{step, summary_of(value)};
  row.count(value, bins);
  return row;
}

std::vector<std::uint64_t> bin_counts(const TensorValue& value, const Bins& bins) {
  return row_of(0, value, bins).counts;
}

TEST(Histogram, tells_finite_elements_from_the_others) {
  const ElementSummary summary = summary_of(doubles({kNaN, 2, kInf, -1, kInf, -kInf}));
  EXPECT_EQ(summary.low, -1);
  EXPECT_EQ(summary.high, 2);
  EXPECT_EQ(summary.nan, 1U);
  EXPECT_EQ(summary.pos_inf, 2U);
  EXPECT_EQ(summary.neg_inf, 1U);
}

TEST(Histogram, a_bin_holds_its_lower_edge_and_the_last_one_both) {
  const TensorValue value = doubles({0, 0.99, 1, 2, 3, 3.99, 4, kNaN});
  const Bins bins = bins_of(value, 4);
  EXPECT_THAT(bins.edges(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(bin_counts(value, bins), ElementsAre(2, 1, 1, 3));
}

TEST(Histogram, few_whole_numbers_have_a_bin_each) {
  const TensorValue value = value_of<std::int8_t>({-1, 2, 2});
  const Bins bins = bins_of(value, 10, true);
  EXPECT_THAT(bins.edges(), ElementsAre(-1.5, -0.5, 0.5, 1.5, 2.5));
  EXPECT_THAT(bin_counts(value, bins), ElementsAre(1, 0, 0, 2));
  EXPECT_EQ(bins_of(value_of<std::int32_t>({0, 10}), 10, true).edges().size(), 11U);
}

TEST(Histogram, reads_every_type_of_number) {
  EXPECT_EQ(summary_of(value_of<std::uint64_t>({1U << 31U})).high, 2147483648.);
  EXPECT_EQ(summary_of(value_of<std::int16_t>({-300})).low, -300);
  EXPECT_EQ(summary_of(value_of<float>({0.5F})).low, 0.5);
  EXPECT_EQ(summary_of(value_of<Float16>({{0x3c00}, {0x7e00}})).nan, 1U);
  EXPECT_EQ(summary_of(value_of<BFloat16>({{0xc000}})).low, -2);
  const auto bytes = std::make_shared<AlignedBuffer>(2);
  std::memcpy(bytes->data(), "\x00\x01", 2);
  EXPECT_EQ(summary_of({DType::Bool, Shape{2}, bytes, "test", 0}).high, 1);
}

TEST(Histogram, of_a_single_number_has_bins_around_it) {
  for (const double number : {0., 3., -1e-300, kMax, -kMax, 5e-324}) {
    const TensorValue value = doubles({number, number});
    const Bins bins = bins_of(value, 4);
    const auto counts = bin_counts(value, bins);
    EXPECT_EQ(counts.size(), 4U);
    EXPECT_EQ(counts[bins.index_of(number)], 2U) << number;
    EXPECT_TRUE(std::isfinite(bins.edge(0)) && std::isfinite(bins.edge(4))) << number;
  }
  EXPECT_THAT(bins_of(doubles({2}), 2).edges(), ElementsAre(1, 2, 3));
}

TEST(Histogram, takes_the_whole_range_of_numbers) {
  const TensorValue value = doubles({-kMax, 0, kMax});
  const Bins bins = bins_of(value, 3);
  EXPECT_THAT(bin_counts(value, bins), ElementsAre(1, 1, 1));
  EXPECT_EQ(bins.edge(0), -kMax);
  EXPECT_EQ(bins.edge(3), kMax);
}

TEST(Histogram, of_nothing_finite_has_no_bins) {
  for (const auto& value : {doubles({}), doubles({kNaN, kInf})}) {
    const Bins bins = bins_of(value, 10);
    EXPECT_EQ(bins.size(), 0U);
    EXPECT_THAT(bins.edges(), IsEmpty());
    EXPECT_THAT(bin_counts(value, bins), IsEmpty());
  }
}

// 100 numbers from 1 to 2, and others.
TensorValue spread_with(const std::vector<double>& others) {
  std::vector<double> elements = others;
  for (int i = 0; i < 100; ++i) elements.push_back(1 + i / 99.);
  return doubles(elements);
}

TEST(ElementSpread, finds_the_range_without_outliers) {
  ElementSpread spread;
  spread.add(spread_with({1e6, kNaN, kInf, -1e5, -1e6}));
  const auto range = spread.range_without_outliers();
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(*range, std::pair(1., 2.));
}

TEST(ElementSpread, keeps_what_is_near_the_others) {
  ElementSpread spread;
  spread.add(spread_with({1e6, 2.75, 0.25}));
  EXPECT_EQ(spread.range_without_outliers(), std::pair(0.25, 2.75));
}

TEST(ElementSpread, has_no_outliers_where_the_others_have_room_or_are_one_number) {
  for (const auto& elements : {spread_with({3, -1}), doubles({}), doubles({1, 2, 1e9}),
                               doubles({0, -0., 0, 0, 0, 0, 0, 0, 0, 1e9})}) {
    ElementSpread spread;
    spread.add(elements);
    EXPECT_FALSE(spread.range_without_outliers().has_value());
  }
}

TEST(ElementSpread, takes_the_whole_range_of_numbers) {
  ElementSpread spread;
  spread.add(spread_with({kMax, -kMax, 5e-324}));
  EXPECT_EQ(spread.range_without_outliers(), std::pair(1., 2.));
}

TEST(Densities, count_elements_outside_the_bins) {
  const TensorValue value = doubles({-9, 0, 1, 2, 3, 70, 80});
  const Bins bins({.low = 0, .high = 3}, false, 3);
  std::ostringstream out;
  print_densities(out, {row_of(0, value, bins)}, bins, 38);
  EXPECT_EQ(out.str(),
            "STEP  MIN  MAX  BELOW  ABOVE\n"
            "   0   -9   80      1      2  ▄▄▄▄██\n"
            "                              └────┘\n"
            "                              0    3\n");
}

TEST(Bars, have_a_line_for_elements_outside_the_bins) {
  const TensorValue value = doubles({-9, 0, 0, 2, 80});
  const Bins bins({.low = 0, .high = 2}, false, 2);
  std::ostringstream out;
  print_bars(out, row_of(0, value, bins), bins, 28);
  EXPECT_EQ(out.str(),
            "FROM  TO  ELEMENTS\n"
            "  -9   0         1  ████\n"
            "   0   1         2  ████████\n"
            "   1   2         1  ████\n"
            "   2  80         1  ████\n");
  const TensorValue whole = value_of<std::int32_t>({-9, 0, 1, 80});
  const Bins bins_of_whole({.low = 0, .high = 1}, true, 9);
  std::ostringstream of_whole;
  print_bars(of_whole, row_of(0, whole, bins_of_whole), bins_of_whole, 20);
  EXPECT_EQ(of_whole.str(),
            "VALUE  ELEMENTS\n"
            "  < 0         1  ████████\n"
            "    0         1  ████████\n"
            "    1         1  ████████\n"
            "  > 1         1  ████████\n");
}

TEST(Densities, are_blocks_by_the_fullest_bin_of_a_line) {
  const TensorValue first = doubles({0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 2});
  const TensorValue second = doubles({1, kNaN});
  ElementSummary all = summary_of(first);
  all.add(summary_of(second));
  const Bins bins(all, false, 4);
  std::ostringstream out;
  print_densities(out, {row_of(0, first, bins), row_of(10, second, bins)}, bins, 32);
  EXPECT_EQ(out.str(),
            "STEP  MIN  MAX  NaN\n"
            "   0    0    4    0  ██  ▁▁▄▄\n"
            "  10    1    1    1    ██\n"
            "                     └──────┘\n"
            "                     0      4\n");
}

TEST(Densities, take_no_more_than_the_width) {
  const TensorValue value = doubles({-1.23456e-200, 7.654321e300, kNaN, kInf, -kInf});
  for (const std::size_t width : {60U, 80U, 133U}) {
    std::vector<HistogramRow> rows = {{123456, summary_of(value)}};
    const Bins bins(summary_of(value), false,
                    std::min<std::size_t>(60, density_columns(rows, width)));
    rows[0].count(value, bins);
    std::ostringstream out;
    print_densities(out, rows, bins, width);
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), width) << line;
  }
}

TEST(Densities, of_steps_without_anything_finite_are_empty) {
  const TensorValue value = doubles({kNaN, kNaN});
  const Bins bins = bins_of(value, 10);
  std::ostringstream out;
  print_densities(out, {row_of(5, value, bins), row_of(6, doubles({}), bins)}, bins, 80);
  EXPECT_EQ(out.str(),
            "STEP  MIN  MAX  NaN\n"
            "   5    -    -    2\n"
            "   6    -    -    0\n"
            "no element is finite\n");
}

TEST(Bars, show_each_bin_with_its_edges_and_count) {
  const TensorValue value = doubles({0, 0, 2, kInf});
  const Bins bins = bins_of(value, 2);
  std::ostringstream out;
  print_bars(out, row_of(0, value, bins), bins, 31);
  EXPECT_EQ(out.str(),
            "FROM  TO  ELEMENTS\n"
            "   0   1         2  ███████████\n"
            "   1   2         1  █████▌\n"
            "inf 1\n");
}

TEST(Bars, show_whole_numbers_as_what_they_are) {
  const TensorValue value = value_of<std::int32_t>({1000000, 1000001, 1000001});
  const Bins bins = bins_of(value, 40, true);
  std::ostringstream out;
  print_bars(out, row_of(0, value, bins), bins, 27);
  EXPECT_EQ(out.str(),
            "  VALUE  ELEMENTS\n"
            "1000000         1  ████\n"
            "1000001         2  ████████\n");
}

}  // namespace
}  // namespace cupel::command_detail
