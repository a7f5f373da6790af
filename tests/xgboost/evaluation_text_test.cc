// Reading the text of XGBoosterEvalOneIter.

#include "../../xgboost/src/evaluation_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : xgboost_detail::read_evaluation(text).metrics)
    lines.push_back(name + " = " + std::to_string(value));
  return lines;
}

TEST(EvaluationText, has_a_metric_between_tabs) {
  EXPECT_THAT(lines("[12]\ttrain-rmse:0.5\tvalidation-rmse:-2"),
              ElementsAre("train-rmse = 0.500000", "validation-rmse = -2.000000"));
}

TEST(EvaluationText, has_the_value_of_a_metric_behind_its_last_colon) {
  EXPECT_THAT(
      lines("[0]\ta:b-rmse:1\tc\td-rmse:2\te:3\tf:x:4"),
      ElementsAre("a:b-rmse = 1.000000", "c\td-rmse = 2.000000", "e = 3.000000", "f:x = 4.000000"));
}

TEST(EvaluationText, is_unreadable_from_the_first_part_without_a_value) {
  const auto read = xgboost_detail::read_evaluation("[0]\ta:1\t:2\tb:\tc");
  EXPECT_EQ(read.metrics.size(), 1U);
  EXPECT_EQ(read.unreadable, ":2\tb:\tc");
}

TEST(EvaluationText, of_nothing_but_tabs_takes_no_longer_than_another) {
  const std::string text = std::string(300000, '\t') + "a";
  const auto begin = std::chrono::steady_clock::now();
  const auto read = xgboost_detail::read_evaluation(text);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_THAT(read.metrics, IsEmpty());
  EXPECT_EQ(read.unreadable, text);
}

}  // namespace
}  // namespace cupel
