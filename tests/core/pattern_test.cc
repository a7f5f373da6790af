#include "cupel/core/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/log_capture.h"
#include "cupel/core/error.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Backtracks exponentially in the number of letters.
constexpr const char* kRunaway = "^(?:a|aa)+$";
const std::string runaway_name = std::string(80, 'a') + "!";

TEST(Pattern, is_searched_anywhere_in_the_name) {
  EXPECT_TRUE(Pattern("relu*").search("net/rel_7"));
  EXPECT_FALSE(Pattern("relu*").search("net/Relu"));
  EXPECT_FALSE(Pattern("^relu").search("net/relu"));
  EXPECT_TRUE(Pattern("").search(""));
  EXPECT_TRUE(Pattern("").search({}));
}

TEST(Pattern, looks_ahead_and_behind) {
  EXPECT_TRUE(Pattern("^(?!gradient).*weight").search("fc1.weight"));
  EXPECT_FALSE(Pattern("^(?!gradient).*weight").search("gradient/fc1.weight"));
  EXPECT_FALSE(Pattern("(?<!(auc|map))$").search("train-auc"));
  EXPECT_TRUE(Pattern("(?<!(auc|map))$").search("train-rmse"));
}

TEST(Pattern, letters_beyond_ascii_are_letters) {
  EXPECT_TRUE(Pattern("^\\w+$").search("größe"));
  EXPECT_TRUE(Pattern("^.$").search("ß"));
}

TEST(Pattern, a_name_that_is_not_utf8_is_searched_all_the_same) {
  EXPECT_TRUE(Pattern("weight").search("\xff\xfeweight\x80"));
  EXPECT_FALSE(Pattern("bias").search("\xff\xfeweight\x80"));
}

TEST(Pattern, a_name_may_hold_a_nul) {
  EXPECT_TRUE(Pattern("b$").search(std::string_view("a\0b", 3)));
}

TEST(Pattern, what_does_not_compile_is_named_with_place_and_reason) {
  EXPECT_THAT([] { Pattern("relu(out"); },
              ThrowsMessage<UsageError>(
                  AllOf(HasSubstr("'relu(out'"), HasSubstr("offset 8"), HasSubstr("parenthesis"))));
  EXPECT_THROW(Pattern("*"), UsageError);
  EXPECT_THROW(Pattern("\xff"), UsageError);
  EXPECT_THROW(Pattern("a\\Cb"), UsageError);
}

TEST(Pattern, a_runaway_search_ends_and_is_logged_once) {
  const testing::LogCapture capture;
  const Pattern pattern(kRunaway);
  const std::vector<Pattern> copies(2, pattern);
  EXPECT_FALSE(pattern.search(runaway_name));
  for (const Pattern& copy : copies) EXPECT_FALSE(copy.search(runaway_name));
  EXPECT_TRUE(pattern.search("aaa"));
  ASSERT_EQ(capture.lines().size(), 1U);
  EXPECT_EQ(capture.lines()[0].first, LogLevel::Warning);
  EXPECT_THAT(capture.lines()[0].second, HasSubstr(kRunaway));
}

TEST(Pattern, the_interpreter_is_limited_too) {
  const testing::LogCapture capture;
  EXPECT_FALSE(Pattern("(*NO_JIT)" + std::string(kRunaway)).search(runaway_name));
  EXPECT_EQ(capture.lines().size(), 1U);
}

TEST(Pattern, deep_recursion_ends) {
  const testing::LogCapture capture;
  const std::string name(1'000'000, '(');
  EXPECT_FALSE(Pattern("^(\\((?1)*\\))+$").search(name));
  EXPECT_FALSE(Pattern("(*NO_JIT)^(\\((?1)*\\))+$").search(name));
}

TEST(Pattern, a_long_name_is_no_runaway) {
  const testing::LogCapture capture;
  const std::string name = std::string(60'000, 'x') + ".weight";
  EXPECT_TRUE(Pattern("^(?!gradient)(?!.*[./_]grad$).*weight").search(name));
  EXPECT_TRUE(capture.lines().empty());
}

TEST(Pattern, threads_search_with_one_pattern) {
  const Pattern pattern("w(ei)ght$");
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&pattern, i] {
      for (int k = 0; k < 1000; ++k) {
        const std::string name = "fc" + std::to_string(i * k);
        EXPECT_TRUE(pattern.search(name + ".weight"));
        EXPECT_FALSE(pattern.search(name + ".bias"));
      }
    });
}

TEST(PatternList, matches_if_any_does) {
  const PatternList patterns = {"relu", "tanh"};
  EXPECT_TRUE(patterns.matches("tanh_0"));
  EXPECT_FALSE(patterns.matches("gelu_0"));
  EXPECT_FALSE(PatternList().matches(""));
}

TEST(PatternList, a_pattern_that_does_not_compile_leaves_the_list_as_it_was) {
  PatternList patterns = "relu";
  EXPECT_THROW(patterns.add({"tanh", "("}), UsageError);
  EXPECT_EQ(patterns.texts(), std::vector<std::string>{"relu"});
}

TEST(PatternList, may_be_added_to_itself) {
  PatternList patterns = {"a", "b"};
  patterns.add(patterns);
  EXPECT_EQ(patterns.texts(), (std::vector<std::string>{"a", "b", "a", "b"}));
}

}  // namespace
}  // namespace cupel
