#include "cupel/core/text_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using Outcome = TextPattern::Outcome;

const std::string many_letters(100'000, 'a');

TEST(TextPattern, tells_where_it_and_its_groups_are) {
  std::vector<TextPattern::Range> groups;
  ASSERT_EQ(TextPattern("(x)?b(?<tail>.)").search("abc", TextPattern::Search(), groups),
            Outcome::Found);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].begin, 1U);
  EXPECT_EQ(groups[0].end, 3U);
  EXPECT_EQ(groups[1].begin, TextPattern::kNowhere);
  EXPECT_EQ(groups[2].begin, 2U);
  EXPECT_EQ(TextPattern("(?<tail>.)").group_named("tail"), 1U);
  EXPECT_FALSE(TextPattern("(?<tail>.)").group_named("head"));
}

TEST(TextPattern, begins_where_it_is_told_and_sees_what_is_before) {
  std::vector<TextPattern::Range> groups;
  EXPECT_EQ(TextPattern("(?<=a)b").search("ab", {.from = 1}, groups), Outcome::Found);
  EXPECT_EQ(TextPattern("a").search("ab", {.from = 1}, groups), Outcome::NotFound);
  EXPECT_EQ(TextPattern("").search("ab", {.from = 3}, groups), Outcome::NotFound);
}

TEST(TextPattern, finds_nothing_at_all_only_where_it_may) {
  std::vector<TextPattern::Range> groups;
  ASSERT_EQ(TextPattern("b*").search("ab", {.empty_at_start = false}, groups), Outcome::Found);
  EXPECT_EQ(groups[0].begin, 1U);
}

TEST(TextPattern, can_be_interrupted_whatever_it_does) {
  for (const char* pattern : {"^(?:a|aa)+$", ".*.*.*.*b", "a*b", "(a*)\\1b", "(?=(a+))\\1+b",
                              "(*NO_JIT)(a+)+b", "(?:a?){50}b", "(a|(?R))*b"}) {
    int steps = 0;
    std::vector<TextPattern::Range> groups;
    const Outcome outcome = TextPattern(pattern).search(
        many_letters + "!b!", {.is_known_utf8 = true, .go_on = [&] { return ++steps < 1000; }},
        groups);
    EXPECT_NE(outcome, Outcome::LimitReached) << pattern;
    if (outcome == Outcome::Interrupted) {
      EXPECT_EQ(steps, 1000) << pattern;
    }
    EXPECT_LE(steps, 1000) << pattern;
  }
}

TEST(TextPattern, an_own_limit_is_no_answer) {
  std::vector<TextPattern::Range> groups;
  EXPECT_EQ(TextPattern("(*LIMIT_MATCH=100)(a+)+b").search(std::string(50, 'a') + "!b", {}, groups),
            Outcome::LimitReached);
  EXPECT_EQ(TextPattern("^(a|b)*c").search(many_letters + "c", {}, groups), Outcome::LimitReached);
}

TEST(TextPattern, knows_how_many_bytes_it_takes) {
  const std::string long_one(1000, 'a');
  EXPECT_GT(TextPattern("a").bytes(), 1U);
  EXPECT_GE(TextPattern(long_one).bytes(), TextPattern("a").bytes() + 999);
  EXPECT_GE(TextPattern("(?:" + std::string(100, 'a') + "){20}").bytes(), 2'000U);
}

TEST(TextPattern, what_is_too_long_or_broken_does_not_compile) {
  EXPECT_NO_THROW(TextPattern(std::string(TextPattern::kLongest, 'a')));
  EXPECT_THROW(TextPattern(std::string(TextPattern::kLongest + 1, 'a')), UsageError);
  EXPECT_THROW(TextPattern("("), UsageError);
}

}  // namespace
}  // namespace cupel
