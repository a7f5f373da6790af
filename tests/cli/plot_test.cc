#include "plot.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "text_width.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();

// A plot with 38 columns for the drawing, less the label, and 3 rows: 12 dots down.
std::vector<std::string> small_plot(const std::vector<PlotPoint>& points, bool log = false) {
  return plot(points, {.width = 40, .rows = 3, .log = log});
}

// What is drawn in a line: everything behind the axis.
std::string drawn(const std::string& line) {
  for (const std::string axis : {"┤", "│"})
    if (const auto at = line.find(axis); at != std::string::npos)
      return line.substr(at + axis.size());
  return {};
}

std::string blanks(std::size_t count) { return std::string(count, ' '); }

TEST(Plot, of_nothing_has_no_lines) { EXPECT_THAT(plot({}), IsEmpty()); }

TEST(Plot, puts_the_greatest_number_above_and_the_last_step_to_the_right) {
  // Apart by an infinity, which has no place, the ends are dots of their own: the lower left one
  // of the first character, and the upper right one of the last.
  const auto lines = small_plot({{0, 1}, {5, kInf}, {10, 3}});
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "  3 ┤" + blanks(34) + "⠈");
  EXPECT_EQ(lines[1], "  2 ┤");
  EXPECT_EQ(lines[2], "  1 ┤⡀");
  // The middle of 70 columns of dots.
  EXPECT_EQ(lines[3], "inf │" + blanks(17) + "×");
  EXPECT_EQ(lines[4].find("└"), 4U);
  EXPECT_EQ(lines[5], blanks(5) + "0" + blanks(32) + "10");
}

TEST(Plot, joins_neighbours) {
  // Four rows down at each of two columns of dots: all dots of the left half, then of the right.
  const auto lines = plot({{0, 0}, {0, 11}}, {.width = 40, .rows = 3});
  EXPECT_EQ(drawn(lines[0]), "⡇");
  EXPECT_EQ(drawn(lines[1]), "⡇");
  EXPECT_EQ(drawn(lines[2]), "⡇");
}

TEST(Plot, of_equal_numbers_is_a_line_in_the_middle) {
  const auto lines = small_plot({{0, 7}, {10, 7}});
  EXPECT_EQ(lines[0], "  │");
  EXPECT_THAT(lines[1], StartsWith("7 ┤⠤⠤⠤"));
  EXPECT_EQ(text_width(lines[1]), 40U);
  EXPECT_EQ(lines[2], "  │");
}

TEST(Plot, of_one_point_is_a_dot_and_its_step) {
  const auto lines = small_plot({{7, 0.25}});
  EXPECT_EQ(lines[1], "0.25 ┤⠄");
  EXPECT_EQ(lines.back(), blanks(6) + "7");
}

TEST(Plot, no_peak_of_many_points_is_lost) {
  for (const std::int64_t peak : {0, 1, 4321, 77777, 99999}) {
    std::vector<PlotPoint> points;
    for (std::int64_t step = 0; step < 100000; ++step)
      points.push_back({step, step == peak ? 5. : 0.});
    EXPECT_THAT(drawn(small_plot(points)[0]), Not(IsEmpty())) << peak;
  }
}

TEST(Plot, marks_what_is_not_finite_on_lines_of_their_own_and_interrupts_the_line) {
  const auto lines = small_plot({{0, 1}, {1, kGap}, {2, -kInf}, {3, 1}});
  EXPECT_EQ(lines[1], "   1 ┤⠄" + blanks(32) + "⠠");
  EXPECT_EQ(lines[3], " NaN │" + blanks(11) + "×");
  EXPECT_EQ(lines[4], "-inf │" + blanks(22) + "×");
}

TEST(Plot, of_nothing_finite_has_the_marks_only) {
  EXPECT_THAT(small_plot({{3, kGap}}), ElementsAre("NaN │×", StartsWith("    └──"), "     3"));
}

TEST(Plot, a_logarithmic_scale_has_equal_steps_for_equal_ratios) {
  // 1e-6 is in the middle of 1e-12 and 1: dot 5.5 of 11, which is rounded up to 6 from above.
  const auto lines = small_plot({{0, 1e-12}, {1, kGap}, {2, 1e-6}, {3, kGap}, {4, 1}}, true);
  EXPECT_THAT(drawn(lines[1]), HasSubstr("⠠"));
  const auto linear = small_plot({{0, 1e-12}, {1, kGap}, {2, 1e-6}, {3, kGap}, {4, 1}});
  EXPECT_THAT(drawn(linear[1]), IsEmpty());
}

TEST(Plot, takes_the_whole_range_of_numbers) {
  for (const auto& [low, high] : {std::pair(-kMax, kMax), std::pair(0., 5e-324),
                                  std::pair(1e-300, 1e300), std::pair(1., std::nextafter(1., 2))}) {
    const auto lines = plot({{0, low}, {1, high}}, {.width = 80});
    EXPECT_THAT(drawn(lines[0]), Not(IsEmpty())) << low;
    EXPECT_THAT(drawn(lines[11]), Not(IsEmpty())) << low;
    for (const std::string& line : lines) EXPECT_LE(text_width(line), 80U) << line;
  }
}

TEST(Plot, takes_the_whole_range_of_steps) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  const auto lines = small_plot({{0, -1.2345678901234567e-300}, {kLast, -1.2345678901234565e-300}});
  for (const std::string& line : lines) EXPECT_LE(text_width(line), 40U) << line;
  EXPECT_THAT(lines.back(), HasSubstr("0 "));
  EXPECT_THAT(lines.back(), HasSubstr(" 9223372036854775807"));
}

TEST(Plot, fills_the_width_it_is_given) {
  for (const std::size_t width : {40U, 80U, 200U}) {
    std::size_t widest = 0;
    for (const std::string& line : plot({{0, 0}, {100, 1}}, {.width = width}))
      widest = std::max(widest, text_width(line));
    EXPECT_EQ(widest, width);
  }
}

TEST(ScaleLabels, have_as_many_digits_as_tell_them_apart) {
  EXPECT_THAT(scale_labels({0.123456, 2}), ElementsAre("0.1235", "2"));
  EXPECT_THAT(scale_labels({1.000001, 1.000002}), ElementsAre("1.000001", "1.000002"));
  EXPECT_THAT(scale_labels({1, 1}), ElementsAre("1", "1"));
}

}  // namespace
}  // namespace cupel
