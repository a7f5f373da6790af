#include "cupel/core/nearest_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kRules = {"AllZero", "DeadRelu", "ExplodingTensor",
                                         "VanishingGradient"};

TEST(NearestNames, a_slip_of_the_finger_is_near) {
  EXPECT_THAT(nearest_names("VanishingGradeint", kRules), ElementsAre("VanishingGradient"));
  EXPECT_THAT(nearest_names("DeadRelus", kRules), ElementsAre("DeadRelu"));
}

TEST(NearestNames, case_and_underscores_count_little) {
  EXPECT_THAT(nearest_names("exploding_tensors", kRules), ElementsAre("ExplodingTensor"));
  EXPECT_THAT(nearest_names("ALLZERO", kRules), ElementsAre("AllZero"));
}

TEST(NearestNames, a_part_of_a_name_is_near) {
  EXPECT_THAT(nearest_names("Vanishing", kRules), ElementsAre("VanishingGradient"));
}

TEST(NearestNames, the_nearest_comes_first_and_three_are_enough) {
  const std::vector<std::string> names = {"steps_abc", "step", "steps", "stepss"};
  EXPECT_THAT(nearest_names("steps", names), ElementsAre("steps", "step", "stepss"));
}

TEST(NearestNames, what_is_far_from_all_has_none) {
  EXPECT_THAT(nearest_names("Confusion", kRules), IsEmpty());
  EXPECT_THAT(nearest_names("", kRules), IsEmpty());
}

TEST(NearestNames, a_very_long_text_is_no_burden) {
  EXPECT_THAT(nearest_names(std::string(1'000'000, 'x'), kRules), IsEmpty());
}

TEST(DidYouMean, asks_about_one_or_several_names) {
  const std::vector<std::string> names = {"info", "show", "steps"};
  EXPECT_EQ(did_you_mean("inof", names), "; did you mean info?");
  EXPECT_EQ(did_you_mean("zzzzzz", names), "");
  const std::vector<std::string> similar = {"step", "steps", "stepz"};
  EXPECT_EQ(did_you_mean("stepp", similar), "; did you mean step, steps or stepz?");
}

TEST(NearestNames, the_nearest_of_all_is_one_of_them_however_far) {
  constexpr std::string_view kKeys[] = {"save_interval", "start_step", "end_step"};
  EXPECT_EQ(nearest_name("save_intervall", kKeys), "save_interval");
  EXPECT_EQ(nearest_name("EndStep", kKeys), "end_step");
  EXPECT_EQ(nearest_name("zzzzzzzzzzzzzzzz", kKeys), "save_interval");
}

}  // namespace
}  // namespace cupel
