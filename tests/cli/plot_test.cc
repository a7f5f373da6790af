#include "plot.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "text_width.h"

namespace cupel::command_detail {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();

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
  const auto lines = small_plot({{0, 1}, {5, kEndless}, {10, 3}});
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "  3 ┤" + blanks(34) + "⠈");
  EXPECT_EQ(lines[1], "  2 ┤");
  EXPECT_EQ(lines[2], "  1 ┤⡀");
  // The middle of 70 columns of dots.
  EXPECT_EQ(lines[3], "inf │" + blanks(17) + "×");
  EXPECT_THAT(lines[4], StartsWith("    └┬─────"));
  EXPECT_THAT(lines[4], EndsWith("─┬"));
  EXPECT_THAT(lines[5], StartsWith(blanks(5) + "0  "));
  EXPECT_THAT(lines[5], EndsWith(" 10"));
}

TEST(Plot, has_round_numbers_at_both_axes) {
  std::vector<PlotPoint> points;
  for (std::int64_t step = 3; step < 600; ++step)
    points.push_back({step, 0.013 + 0.0023 * static_cast<double>(step)});
  const auto lines = plot(points, {.width = 60});
  EXPECT_THAT(lines, Contains(StartsWith("  1 ┤")));
  EXPECT_THAT(lines, Contains(StartsWith("0.5 ┤")));
  EXPECT_THAT(lines.back(), HasSubstr(" 100 "));
  EXPECT_THAT(lines.back(), HasSubstr(" 500"));
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
  const auto lines = small_plot({{0, 1}, {1, kGap}, {2, -kEndless}, {3, 1}});
  EXPECT_EQ(lines[1], "   1 ┤⠄" + blanks(32) + "⠠");
  EXPECT_EQ(lines[3], " NaN │" + blanks(11) + "×");
  EXPECT_EQ(lines[4], "-inf │" + blanks(22) + "×");
}

TEST(Plot, of_nothing_finite_has_the_marks_only) {
  EXPECT_THAT(small_plot({{3, kGap}}), ElementsAre("NaN │×", StartsWith("    └┬─"), "     3"));
}

TEST(Plot, a_logarithmic_scale_has_equal_steps_for_equal_ratios) {
  // 1e-6 is in the middle of 1e-12 and 1: dot 5.5 of 11, which is rounded up to 6 from above.
  const auto lines = small_plot({{0, 1e-12}, {1, kGap}, {2, 1e-6}, {3, kGap}, {4, 1}}, true);
  EXPECT_THAT(drawn(lines[1]), HasSubstr("⠠"));
  const auto linear = small_plot({{0, 1e-12}, {1, kGap}, {2, 1e-6}, {3, kGap}, {4, 1}});
  EXPECT_THAT(drawn(linear[1]), IsEmpty());
}

TEST(Plot, a_logarithmic_scale_marks_what_is_not_above_0) {
  const auto lines = small_plot({{0, 1}, {2, 0}, {4, -3}, {6, 100}, {8, kGap}, {10, 1}}, true);
  ASSERT_EQ(lines.size(), 8U);
  EXPECT_THAT(lines[0], StartsWith("100 ┤"));
  EXPECT_EQ(lines[2], "  1 ┤⡀" + blanks(33) + "⢀");
  EXPECT_EQ(lines[3], "  0 │" + blanks(7) + "×");
  EXPECT_EQ(lines[4], "< 0 │" + blanks(14) + "×");
  EXPECT_THAT(lines[5], StartsWith("NaN │"));
  EXPECT_THAT(
      small_plot({{0, 0}, {1, -1}}, true),
      ElementsAre("  0 │×", StartsWith("< 0 │"), StartsWith("    └┬"), StartsWith("     0")));
}

// 1 to 2, but for one number.
std::vector<PlotPoint> with_spike(double spike) {
  std::vector<PlotPoint> points;
  for (std::int64_t step = 0; step < 40; ++step)
    points.push_back({step, step == 20 ? spike : 1 + static_cast<double>(step % 5) / 4});
  return points;
}

TEST(Plot, a_spike_does_not_squeeze_the_others_and_is_marked) {
  const auto above = small_plot(with_spike(1e6));
  EXPECT_THAT(above[0], StartsWith("1e+06 ┊"));
  EXPECT_THAT(above[0], EndsWith(" ▲"));
  EXPECT_THAT(above[1], StartsWith("    2 ┤"));
  EXPECT_THAT(above[3], StartsWith("    1 ┤"));
  const auto below = small_plot(with_spike(-1e6));
  EXPECT_THAT(below[0], StartsWith("     2 ┤"));
  EXPECT_THAT(below[3], StartsWith("-1e+06 ┊"));
  EXPECT_THAT(below[3], EndsWith(" ▼"));
}

TEST(Plot, a_spike_that_leaves_the_others_their_room_has_its_place) {
  for (const double spike : {3., 8., -5.})
    for (const std::string& line : small_plot(with_spike(spike)))
      EXPECT_THAT(line, Not(HasSubstr("┊"))) << spike;
}

TEST(Plot, numbers_that_grow_by_powers_have_their_place) {
  std::vector<PlotPoint> points;
  for (std::int64_t step = 0; step < 40; ++step)
    points.push_back({step, std::pow(10, static_cast<double>(step))});
  for (const std::string& line : small_plot(points)) EXPECT_THAT(line, Not(HasSubstr("┊")));
}

TEST(Plot, takes_the_whole_range_of_numbers) {
  for (const auto& [low, high] : {std::pair(-kLargest, kLargest), std::pair(0., 5e-324),
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
  const auto with_room = small_plot({{0, 1}, {kLast, 2}});
  EXPECT_THAT(with_room.back(), HasSubstr(" 0 "));
  EXPECT_THAT(with_room.back(), HasSubstr(" 9223372036854775807"));
}

TEST(Plot, fills_the_width_it_is_given) {
  for (const std::size_t width : {40U, 80U, 200U}) {
    std::size_t widest = 0;
    for (const std::string& line : plot({{0, 0}, {100, 1}}, {.width = width}))
      widest = std::max(widest, text_width(line));
    EXPECT_EQ(widest, width);
  }
}

}  // namespace
}  // namespace cupel::command_detail
