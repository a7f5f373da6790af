#include "cupel/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Error, a_missing_step_names_step_and_mode) {
  const StepUnavailable error(120, Mode::Eval);
  EXPECT_EQ(error.step, 120);
  EXPECT_EQ(error.mode, Mode::Eval);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("step 120"), HasSubstr("EVAL")));
}

TEST(Error, no_more_data_tells_the_last_step) {
  const NoMoreData error(7, Mode::Train, 5);
  EXPECT_EQ(error.last_step, 5);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("step 7"), HasSubstr("last step 5")));
}

TEST(Error, a_missing_shape_is_caught_as_a_missing_tensor) {
  try {
    throw ShapeUnavailableForStep("fc1", 3, Mode::Train, true);
  } catch (const TensorUnavailableForStep& error) {
    EXPECT_EQ(error.name, "fc1");
    EXPECT_TRUE(error.has_reductions);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("fc1"), HasSubstr("reductions were saved"),
                                    HasSubstr("neither shape nor value")));
  }
}

TEST(Error, damage_names_file_and_offset) {
  const FormatError error("index/a.arrow", 4711, "checksum differs");
  EXPECT_EQ(error.file, "index/a.arrow");
  EXPECT_EQ(error.offset, 4711U);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("index/a.arrow"), HasSubstr("4711"), HasSubstr("checksum differs")));
}

TEST(Error, a_store_error_keeps_key_and_whether_to_retry) {
  const StoreError error("events/a", true, "disk full");
  EXPECT_EQ(error.key, "events/a");
  EXPECT_TRUE(error.retryable);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("events/a"), HasSubstr("disk full")));
}

TEST(Error, a_store_error_names_the_store_where_it_is_known) {
  const StoreError error("events/a", true, "disk full", "/runs/mlp");
  EXPECT_EQ(error.location, "/runs/mlp");
  EXPECT_STREQ(error.what(), "The store failed: /runs/mlp, key events/a: disk full");
  EXPECT_STREQ(StoreError("", false, "disk full", "/runs/mlp").what(),
               "The store failed: /runs/mlp: disk full");
  EXPECT_EQ(StoreFull("events/a", "disk full").location, "");
}

TEST(Error, a_rule_that_fired_tells_rule_and_step) {
  const RuleEvaluationConditionMet error("VanishingGradient", 12, true);
  EXPECT_EQ(error.rule, "VanishingGradient");
  EXPECT_TRUE(error.end_of_rule);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("VanishingGradient"), HasSubstr("step 12")));
}

template <class T>
class EveryError : public ::testing::Test {};
using Leaves =
    ::testing::Types<UsageError, InvalidCollectionConfiguration, StepNotYetAvailable,
                     StepUnavailable, NoMoreData, TensorUnavailable, TensorUnavailableForStep,
                     MissingCollectionFiles, InvalidWorker, IndexReaderException, FormatError,
                     StoreError, RuleEvaluationConditionMet,
                     InsufficientInformationForRuleInvocation>;
TYPED_TEST_SUITE(EveryError, Leaves);

TYPED_TEST(EveryError, is_caught_by_the_root) {
  EXPECT_TRUE((std::is_base_of_v<Error, TypeParam>));
  EXPECT_TRUE((std::is_base_of_v<std::runtime_error, TypeParam>));
}

TEST(Error, the_names_a_caller_has_to_look_for_are_in_the_message) {
  EXPECT_THAT(TensorUnavailable("fc9").what(), HasSubstr("fc9"));
  EXPECT_THAT(InvalidWorker("worker_3").what(), HasSubstr("worker_3"));
  EXPECT_THAT(InvalidCollectionConfiguration("mine").what(), HasSubstr("mine"));
  EXPECT_THAT(MissingCollectionFiles("runs/a", "1 of 2").what(),
              AllOf(HasSubstr("runs/a"), HasSubstr("1 of 2")));
  EXPECT_THAT(InsufficientInformationForRuleInvocation("Overfit", "no tensors").what(),
              AllOf(HasSubstr("Overfit"), HasSubstr("no tensors")));
}

}  // namespace
}  // namespace cupel
