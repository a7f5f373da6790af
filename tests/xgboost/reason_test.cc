// The reason that a report takes from a message of XGBoost.

#include <gtest/gtest.h>

#include "../../xgboost/src/library_calls.h"

namespace cupel {
namespace {

using xgboost_detail::reason_in;

TEST(ReasonOfXGBoost, stands_behind_the_place_in_the_first_line) {
  EXPECT_EQ(reason_in("[10:09:01] ./src/learner.cc:1050: Check failed: a == b (1 vs. 2) : no\n"
                      "Stack trace:\n  [bt] (0) /usr/lib/x.so"),
            "Check failed: a == b (1 vs. 2) : no");
  EXPECT_EQ(reason_in("[10:09:01] /workspace/src/gbm/gbtree.h:12: unknown"), "unknown");
}

TEST(ReasonOfXGBoost, keeps_colons_behind_the_place) {
  EXPECT_EQ(reason_in("[10:09:01] a.cc:1: value:12: is large"), "value:12: is large");
}

TEST(ReasonOfXGBoost, is_the_first_line_with_a_text) {
  EXPECT_EQ(reason_in("[10:09:01] a.cc:1:\nReason\nmore"), "Reason");
  EXPECT_EQ(reason_in("\n\nReason\nmore"), "Reason");
}

TEST(ReasonOfXGBoost, has_no_clock_where_no_place_is_given) {
  EXPECT_EQ(reason_in("[10:09:01] out of memory"), "out of memory");
  EXPECT_EQ(reason_in("std::bad_alloc"), "std::bad_alloc");
}

TEST(ReasonOfXGBoost, is_named_as_missing_where_there_is_none) {
  EXPECT_EQ(reason_in(""), "XGBoost gives no reason");
  EXPECT_EQ(reason_in(" \n\t\n"), "XGBoost gives no reason");
}

}  // namespace
}  // namespace cupel
