#include "cupel/core/save_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/save_config_rows.h"
#include "cupel/core/error.h"

namespace cupel {
namespace {

using Steps = std::vector<std::int64_t>;

Steps saved(const SaveConfigMode& config, std::int64_t until) {
  Steps steps;
  for (std::int64_t step = 0; step <= until; ++step)
    if (config.should_save(step)) steps.push_back(step);
  return steps;
}

class SaveConfigTable : public ::testing::TestWithParam<SaveConfigRow> {};

TEST_P(SaveConfigTable, saves_the_steps_of_its_row) {
  EXPECT_EQ(saved(GetParam().config, GetParam().until), GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(Rows, SaveConfigTable, ::testing::ValuesIn(save_config_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(SaveConfig, mode_less_values_hold_for_every_mode) {
  const SaveConfig config = {.save_interval = 3};
  for (const Mode mode : kAllModes) {
    EXPECT_TRUE(config.should_save(mode, 3));
    EXPECT_FALSE(config.should_save(mode, 4));
  }
}

TEST(SaveConfig, one_of_a_mode_stands_for_all_modes) {
  const SaveConfigMode each = {
      .save_interval = 3, .start_step = 1, .end_step = 9, .save_steps = {2}};
  const SaveConfig config = SaveConfig::of(each);
  EXPECT_EQ(config.mode_less(), each);
  for (const Mode mode : kAllModes) EXPECT_EQ(config.mode(mode), each) << to_string(mode);
}

TEST(SaveConfig, a_map_alone_leaves_the_other_modes_at_the_defaults) {
  const SaveConfig config = {.mode_save_configs = {{Mode::Eval, {.save_interval = 2}}}};
  EXPECT_EQ(config.mode(Mode::Eval), SaveConfigMode{.save_interval = 2});
  for (const Mode mode : {Mode::Train, Mode::Predict, Mode::Global})
    EXPECT_EQ(config.mode(mode), SaveConfigMode{}) << to_string(mode);
}

TEST(SaveConfig, a_mode_in_the_map_is_taken_entire) {
  const SaveConfig config = {.save_interval = 3,
                             .mode_save_configs = {{Mode::Eval, {.start_step = 1}}}};
  EXPECT_EQ(config.mode(Mode::Eval), SaveConfigMode{.start_step = 1});
  EXPECT_FALSE(config.should_save(Mode::Eval, 3));
  EXPECT_TRUE(config.should_save(Mode::Eval, 500));
  EXPECT_EQ(config.mode(Mode::Train), SaveConfigMode{.save_interval = 3});
}

TEST(SaveConfig, a_collection_without_values_of_its_own_takes_the_hooks) {
  const SaveConfig hook = {.save_interval = 7,
                           .mode_save_configs = {{Mode::Eval, {.save_interval = 2}}}};
  const SaveConfig resolved = SaveConfig{}.resolved(hook);
  EXPECT_EQ(resolved.mode_save_configs.size(), kAllModes.size());
  EXPECT_EQ(resolved.mode(Mode::Train).save_interval, 7);
  EXPECT_EQ(resolved.mode(Mode::Eval).save_interval, 2);
}

TEST(SaveConfig, a_collections_map_joins_the_hooks_modes) {
  const SaveConfig hook = {.save_interval = 7};
  const SaveConfig config = {.mode_save_configs = {{Mode::Train, {.save_interval = 1}}}};
  EXPECT_EQ(config.resolved(hook).mode(Mode::Train).save_interval, 1);
  EXPECT_EQ(config.resolved(hook).mode(Mode::Predict).save_interval, 7);
}

TEST(SaveConfig, a_collections_own_mode_less_values_hide_the_hooks) {
  const SaveConfig hook = {.save_interval = 7,
                           .mode_save_configs = {{Mode::Eval, {.save_interval = 2}}}};
  const SaveConfig resolved = SaveConfig{.save_interval = 5}.resolved(hook);
  for (const Mode mode : kAllModes) EXPECT_EQ(resolved.mode(mode).save_interval, 5);
}

TEST(SaveConfig, an_end_of_zero_stops_every_mode_but_not_listed_steps) {
  SaveConfig config = {.save_interval = 1,
                       .save_steps = {4},
                       .mode_save_configs = {{Mode::Eval, {.save_interval = 1}}}};
  config.set_end_step(0);
  EXPECT_FALSE(config.should_save(Mode::Train, 0));
  EXPECT_TRUE(config.should_save(Mode::Train, 4));
  EXPECT_FALSE(config.should_save(Mode::Eval, 0));
  EXPECT_THROW(config.set_end_step(-1), UsageError);
}

TEST(SaveConfig, illegal_values_are_refused_by_name) {
  const auto refusal = [](const SaveConfig& config) {
    try {
      config.validate();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_THAT(refusal({.save_interval = 0}), AllOf(HasSubstr("save_interval"), HasSubstr(": 0")));
  EXPECT_THAT(refusal({.start_step = -1}), HasSubstr("start_step"));
  EXPECT_THAT(refusal({.end_step = -2}), AllOf(HasSubstr("end_step"), HasSubstr("-2")));
  EXPECT_THAT(refusal({.save_steps = {1, -3}}), AllOf(HasSubstr("save_steps"), HasSubstr("-3")));
  EXPECT_THAT(refusal({.mode_save_configs = {{Mode::Eval, {.save_interval = -5}}}}),
              AllOf(HasSubstr("EVAL"), HasSubstr("-5")));
  EXPECT_THAT(refusal({.mode_save_configs = {{static_cast<Mode>(9), {}}}}), HasSubstr("no mode"));
}

TEST(SaveConfig, an_illegal_interval_saves_nothing_rather_than_dividing_by_it) {
  EXPECT_FALSE((SaveConfigMode{.save_interval = 0}).should_save(0));
}

}  // namespace
}  // namespace cupel
