#include "../../s3/src/range_plan.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

namespace cupel::s3_detail {
namespace {

using Range = Store::Range;

constexpr std::uint64_t kGap = 10;
constexpr std::uint64_t kMost = 100;

std::array<std::byte, 4096> memory;

Range range(std::uint64_t offset, std::size_t size) {
  return {offset, std::span(memory).first(size), 0};
}

/// The plan as text: "0+20 30+5" for two GETs.
std::string plan(const std::vector<Range>& ranges) {
  std::string text;
  for (const Fetch& fetch : plan_fetches(ranges, kGap, kMost)) {
    std::uint64_t sum = 0;
    for (const Piece& piece : fetch.pieces) sum += piece.size;
    EXPECT_EQ(sum, fetch.size);
    text +=
        (text.empty() ? "" : " ") + std::to_string(fetch.offset) + "+" + std::to_string(fetch.size);
  }
  return text;
}

TEST(RangePlan, neighbours_are_read_by_one_request) {
  EXPECT_EQ(plan({range(0, 20), range(20, 5)}), "0+25");
  EXPECT_EQ(plan({range(30, 5), range(0, 20)}), "0+35");
  EXPECT_EQ(plan({range(0, 20), range(31, 5)}), "0+20 31+5");
}

TEST(RangePlan, what_is_large_is_cut) {
  EXPECT_EQ(plan({range(7, 250)}), "7+100 107+100 207+50");
  EXPECT_EQ(plan({range(0, 90), range(90, 20)}), "0+100 100+10");
}

TEST(RangePlan, empty_ranges_need_no_request) { EXPECT_EQ(plan({range(5, 0)}), ""); }

TEST(RangePlan, ranges_that_overlap_are_read_apart) {
  EXPECT_EQ(plan({range(0, 20), range(10, 20)}), "0+20 10+20");
}

TEST(RangePlan, a_short_answer_is_the_end_of_the_object) {
  std::vector<Range> ranges = {range(0, 50), range(55, 20), range(300, 10)};
  auto fetches = plan_fetches(ranges, kGap, kMost);
  ASSERT_EQ(fetches.size(), 2U);
  fetches[0].got = 60;
  fetches[1].got = 0;
  spread_results(fetches, ranges);
  EXPECT_EQ(ranges[0].got, 50U);
  EXPECT_EQ(ranges[1].got, 5U);
  EXPECT_EQ(ranges[2].got, 0U);
}

}  // namespace
}  // namespace cupel::s3_detail
