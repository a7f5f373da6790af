#include "axis_ticks.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace cupel::command_detail {
namespace {

using ::testing::ElementsAre;

constexpr double kGreatestDouble = std::numeric_limits<double>::max();
constexpr std::int64_t kGreatestStep = std::numeric_limits<std::int64_t>::max();

std::vector<std::string> tick_labels(double low, double high, std::size_t most, bool log = false) {
  std::vector<std::string> all;
  for (const Tick& tick : round_ticks(low, high, most, log)) all.push_back(tick.label);
  return all;
}

TEST(RoundTicks, are_one_two_or_five_times_a_power_of_ten_apart) {
  EXPECT_THAT(tick_labels(0.013, 1.55, 4), ElementsAre("0.5", "1", "1.5"));
  EXPECT_THAT(tick_labels(-3.1, 4.2, 4), ElementsAre("-2", "0", "2", "4"));
  EXPECT_THAT(tick_labels(1234.4, 1235.6, 4), ElementsAre("1234.5", "1235", "1235.5"));
  EXPECT_THAT(tick_labels(0, 40000, 5), ElementsAre("0", "1e+04", "2e+04", "3e+04", "4e+04"));
}

TEST(RoundTicks, of_a_logarithmic_scale_are_powers_of_ten) {
  EXPECT_THAT(tick_labels(3e-9, 20, 5, true), ElementsAre("1e-08", "1e-06", "0.0001", "0.01", "1"));
  EXPECT_THAT(tick_labels(2e-7, 9e-7, 4, true), ElementsAre("2e-07", "4e-07", "6e-07", "8e-07"));
}

TEST(RoundTicks, are_the_ends_where_no_round_number_is_between) {
  EXPECT_THAT(tick_labels(1, std::nextafter(1., 2), 4), ElementsAre("1", "1.0000000000000002"));
  EXPECT_THAT(tick_labels(0, 5e-324, 4), ElementsAre("0", "4.941e-324"));
}

TEST(RoundTicks, take_the_whole_range_of_numbers) {
  EXPECT_THAT(tick_labels(-kGreatestDouble, kGreatestDouble, 4),
              ElementsAre("-1e+308", "0", "1e+308"));
  EXPECT_EQ(round_ticks(5e-324, kGreatestDouble, 4, true).size(), 4U);
}

TEST(RoundSteps, are_round_and_few_enough) {
  EXPECT_THAT(round_steps(0, 599, 7), ElementsAre(0, 100, 200, 300, 400, 500));
  EXPECT_THAT(round_steps(3, 40, 5), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(round_steps(0, 2, 9), ElementsAre(0, 1, 2));
  for (std::int64_t last = 1; last < 3000; ++last)
    for (std::size_t most = 2; most < 8; ++most)
      ASSERT_LE(round_steps(7, 7 + last, most).size(), most) << last << ' ' << most;
}

TEST(RoundSteps, are_the_ends_where_fewer_than_two_are_between) {
  EXPECT_THAT(round_steps(101, 109, 3), ElementsAre(101, 109));
  EXPECT_THAT(round_steps(7, 7, 5), ElementsAre(7));
}

TEST(RoundSteps, take_the_whole_range_of_steps) {
  EXPECT_THAT(round_steps(0, kGreatestStep, 3), ElementsAre(0, 5'000'000'000'000'000'000));
  EXPECT_THAT(round_steps(kGreatestStep - 1, kGreatestStep, 3),
              ElementsAre(kGreatestStep - 1, kGreatestStep));
}

TEST(ScaleLabels, have_as_many_digits_as_tell_them_apart) {
  EXPECT_THAT(scale_labels({0.123456, 2}), ElementsAre("0.1235", "2"));
  EXPECT_THAT(scale_labels({1.000001, 1.000002}), ElementsAre("1.000001", "1.000002"));
  EXPECT_THAT(scale_labels({1, 1}), ElementsAre("1", "1"));
}

}  // namespace
}  // namespace cupel::command_detail
