#include "cupel/core/mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"

namespace cupel {
namespace {

TEST(Mode, each_is_read_back_from_its_name_in_any_case) {
  for (const Mode mode : kAllModes) EXPECT_EQ(parse_mode(to_string(mode)), mode);
  EXPECT_EQ(parse_mode("eval"), Mode::Eval);
  EXPECT_EQ(parse_mode("Predict"), Mode::Predict);
}

TEST(Mode, names_and_numbers_are_the_vocabulary_of_the_files) {
  EXPECT_EQ(to_string(Mode::Train), "TRAIN");
  EXPECT_EQ(to_string(Mode::Global), "GLOBAL");
  EXPECT_EQ(static_cast<int>(Mode::Train), 1);
  EXPECT_EQ(static_cast<int>(Mode::Global), 4);
}

TEST(Mode, other_text_is_refused_with_the_four_names) {
  EXPECT_THAT([] { parse_mode("training"); },
              ::testing::ThrowsMessage<UsageError>(
                  ::testing::AllOf(::testing::HasSubstr("TRAIN, EVAL, PREDICT, GLOBAL"),
                                   ::testing::HasSubstr("'training'"))));
  EXPECT_THROW(parse_mode(""), UsageError);
  EXPECT_THROW(parse_mode("TRAI"), UsageError);
}

TEST(Mode, a_cast_integer_may_be_none) {
  EXPECT_TRUE(is_valid(Mode::Train));
  EXPECT_FALSE(is_valid(static_cast<Mode>(0)));
  EXPECT_FALSE(is_valid(static_cast<Mode>(5)));
  EXPECT_EQ(to_string(static_cast<Mode>(9)), "(no mode)");
}

}  // namespace
}  // namespace cupel
