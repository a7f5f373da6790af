// At which steps a hook saves: the table of save configurations in every mode, what a mode and a
// collection inherit, and what is refused.

#include <gmock/gmock.h>

#include <numeric>

#include "core/save_config_rows.h"
#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using Steps = std::vector<std::int64_t>;

class SavedSteps : public HookTest {
 protected:
  // Runs steps 0 to `until` of a mode, saving one tensor at each; tells which steps the run has.
  Steps saved(Mode mode, std::int64_t until) {
    store = std::make_shared<MemoryStore>();
    auto hook = make_hook();
    if (collection) hook->get_collection("weights").set_save_config(*collection);
    hook->set_mode(mode);
    for (std::int64_t step = 0; step <= until; ++step) {
      hook->next_step();
      hook->save_tensor("fc.weight", view({1}));
    }
    EXPECT_THAT(hook->close().problems, IsEmpty());
    return open_trial()->steps(mode);
  }

  std::optional<SaveConfig> collection;
};

using ConfigInMode = std::tuple<SaveConfigRow, Mode>;
class SaveConfigOfAHook : public SavedSteps, public ::testing::WithParamInterface<ConfigInMode> {};

TEST_P(SaveConfigOfAHook, saves_the_steps_of_its_row) {
  const auto& [row, mode] = GetParam();
  options.save_config = SaveConfig::of(row.config);
  EXPECT_EQ(saved(mode, row.until), row.steps);
}

TEST_P(SaveConfigOfAHook, saves_the_same_steps_as_the_config_of_a_collection) {
  const auto& [row, mode] = GetParam();
  options.save_config = {};
  collection = SaveConfig::of(row.config);
  EXPECT_EQ(saved(mode, row.until), row.steps);
}

TEST_P(SaveConfigOfAHook, saves_the_same_steps_from_the_map_of_modes) {
  const auto& [row, mode] = GetParam();
  options.save_config.mode_save_configs = {{mode, row.config}};
  EXPECT_EQ(saved(mode, row.until), row.steps);
}

INSTANTIATE_TEST_SUITE_P(Rows, SaveConfigOfAHook,
                         ::testing::Combine(::testing::ValuesIn(save_config_rows()),
                                            ::testing::ValuesIn(kAllModes)),
                         [](const auto& row) {
                           return std::get<0>(row.param).name + std::string("_in_") +
                                  std::string(to_string(std::get<1>(row.param)));
                         });

// What each mode takes: the steps that are saved of 0 to 10.
struct Inheritance {
  const char* name;
  SaveConfig hook;
  std::optional<SaveConfig> collection;
  std::map<Mode, Steps> steps;
};

class ModesAndCollections : public SavedSteps, public ::testing::WithParamInterface<Inheritance> {};

TEST_P(ModesAndCollections, take_the_steps_of_their_row) {
  options.save_config = GetParam().hook;
  collection = GetParam().collection;
  for (const auto& [mode, steps] : GetParam().steps)
    EXPECT_EQ(saved(mode, 10), steps) << to_string(mode);
}

Steps every(std::int64_t interval) {
  Steps steps;
  for (std::int64_t step = 0; step <= 10; step += interval) steps.push_back(step);
  return steps;
}

std::map<Mode, Steps> every(std::int64_t train, std::int64_t eval, std::int64_t predict,
                            std::int64_t global) {
  return {{Mode::Train, every(train)},
          {Mode::Eval, every(eval)},
          {Mode::Predict, every(predict)},
          {Mode::Global, every(global)}};
}

constexpr Mode kTrain = Mode::Train;
constexpr Mode kEval = Mode::Eval;
const SaveConfig three_but_five_in_eval = {.save_interval = 3,
                                           .mode_save_configs = {{kEval, {.save_interval = 5}}}};

INSTANTIATE_TEST_SUITE_P(
    Rows, ModesAndCollections,
    ::testing::Values(
        Inheritance{
            "mode_less_values_are_every_modes", {.save_interval = 4}, {}, every(4, 4, 4, 4)},
        Inheritance{"a_mode_in_the_map_has_its_own", three_but_five_in_eval, {}, every(3, 5, 3, 3)},
        Inheritance{"what_the_map_does_not_give_is_the_librarys_default",
                    {.save_interval = 4, .mode_save_configs = {{kEval, {.save_steps = {7}}}}},
                    {},
                    {{kTrain, every(4)}, {kEval, {0, 7}}}},
        Inheritance{"a_map_alone_leaves_the_others_at_the_librarys_defaults",
                    {.mode_save_configs = {{kTrain, {.save_interval = 2}}}},
                    {},
                    every(2, 500, 500, 500)},
        Inheritance{"a_collection_with_all_defaults_takes_the_hooks_of_each_mode",
                    three_but_five_in_eval, SaveConfig{}, every(3, 5, 3, 3)},
        Inheritance{"a_collections_map_is_filled_up_with_the_hooks_modes", three_but_five_in_eval,
                    SaveConfig{.mode_save_configs = {{kTrain, {.save_interval = 2}}}},
                    every(2, 5, 3, 3)},
        Inheritance{"a_collections_mode_in_the_map_hides_the_hooks", three_but_five_in_eval,
                    SaveConfig{.mode_save_configs = {{kEval, {.save_interval = 2}}}},
                    every(3, 2, 3, 3)},
        Inheritance{"a_collections_mode_with_all_defaults_is_the_librarys", three_but_five_in_eval,
                    SaveConfig{.mode_save_configs = {{kEval, {}}}}, every(3, 500, 3, 3)},
        Inheritance{"a_collections_mode_less_values_hide_the_hooks_modes", three_but_five_in_eval,
                    SaveConfig{.save_interval = 4}, every(4, 4, 4, 4)},
        Inheritance{
            "a_collections_mode_less_values_fill_up_its_own_map", three_but_five_in_eval,
            SaveConfig{.save_interval = 4, .mode_save_configs = {{kTrain, {.save_interval = 2}}}},
            every(2, 4, 4, 4)},
        Inheritance{"one_mode_less_value_makes_all_of_them_the_collections",
                    {.save_interval = 3},
                    SaveConfig{.save_steps = {4}},
                    {{kTrain, {0, 4}}, {kEval, {0, 4}}}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(SavedSteps, an_end_of_zero_set_on_a_collection_holds_in_every_mode) {
  for (const Mode mode : kAllModes) {
    store = std::make_shared<MemoryStore>();
    auto hook = make_hook();
    hook->get_collection("weights").mutable_save_config().set_end_step(0);
    hook->set_mode(mode);
    hook->next_step();
    hook->save_tensor("fc.weight", view({1}));
    hook->close();
    EXPECT_THAT(open_trial()->steps(), IsEmpty()) << to_string(mode);
  }
}

TEST_F(SavedSteps, listed_steps_may_be_unsorted_and_repeated) {
  options.save_config = {.save_interval = 4, .end_step = 5, .save_steps = {9, 2, 4, 9, 7, 2}};
  EXPECT_THAT(saved(Mode::Train, 12), ElementsAre(0, 2, 4, 7, 9));
}

TEST_F(SavedSteps, a_long_list_of_steps_is_looked_up_as_a_short_one) {
  Steps odd(100'000);
  std::iota(odd.rbegin(), odd.rend(), 0);
  for (std::int64_t& step : odd) step = 2 * step + 1;
  options.save_config = {.end_step = 0, .save_steps = odd};
  const Steps steps = saved(Mode::Eval, 2000);
  EXPECT_EQ(steps.size(), 1000);
  EXPECT_TRUE(std::ranges::all_of(steps, [](std::int64_t step) { return step % 2 == 1; }));
}

// Illegal values, and what the refusal must name.
struct Illegal {
  const char* name;
  SaveConfig config;
  std::vector<const char*> named;
};

class IllegalSaveConfig : public HookTest, public ::testing::WithParamInterface<Illegal> {
 protected:
  void expect_named_in(const std::string& message) const {
    for (const char* word : GetParam().named) EXPECT_THAT(message, HasSubstr(word));
  }
};

TEST_P(IllegalSaveConfig, is_refused_by_the_hook) {
  options.save_config = GetParam().config;
  try {
    make_hook();
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    expect_named_in(error.what());
  }
}

TEST_P(IllegalSaveConfig, is_refused_by_a_collection_which_keeps_the_old_one) {
  Collection mine("mine");
  mine.set_save_config({.save_interval = 3});
  EXPECT_THROW(mine.set_save_config(GetParam().config), UsageError);
  EXPECT_EQ(mine.save_config(), SaveConfig{.save_interval = 3});
}

TEST_P(IllegalSaveConfig, set_in_place_is_reported_with_the_collection_at_the_first_step) {
  for (const char* name : {"weights", "biases"}) {  // saved, and not saved
    store = std::make_shared<MemoryStore>();
    auto hook = make_hook();
    hook->get_collection(name).mutable_save_config() = GetParam().config;
    hook->next_step();
    const HookReport report = hook->close();
    EXPECT_TRUE(report.disabled);
    ASSERT_FALSE(report.problems.empty());
    EXPECT_THAT(report.problems.front(), HasSubstr(name));
    expect_named_in(report.problems.front());
  }
}

TEST_P(IllegalSaveConfig, set_in_place_is_thrown_when_errors_are_let_out) {
  options.on_error = OnError::Throw;
  auto hook = make_hook();
  hook->get_collection("biases").mutable_save_config() = GetParam().config;
  EXPECT_THAT([&] { hook->next_step(); }, ThrowsMessage<UsageError>(HasSubstr("biases")));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, IllegalSaveConfig,
    ::testing::Values(
        Illegal{"interval_0", {.save_interval = 0}, {"save_interval", "0"}},
        Illegal{"interval_negative", {.save_interval = -10}, {"save_interval", "-10"}},
        Illegal{"start_negative", {.start_step = -1}, {"start_step", "-1"}},
        Illegal{"end_negative", {.end_step = -2}, {"end_step", "-2"}},
        Illegal{"listed_step_negative", {.save_steps = {1, -3}}, {"save_steps", "-3"}},
        Illegal{"interval_0_in_a_mode",
                {.mode_save_configs = {{kEval, {.save_interval = 0}}}},
                {"save_interval", "EVAL"}},
        Illegal{"start_negative_in_a_mode",
                {.mode_save_configs = {{kTrain, {.start_step = -4}}}},
                {"start_step", "TRAIN", "-4"}},
        Illegal{"end_negative_in_a_mode",
                {.mode_save_configs = {{Mode::Predict, {.end_step = -5}}}},
                {"end_step", "PREDICT", "-5"}},
        Illegal{"listed_step_negative_in_a_mode",
                {.mode_save_configs = {{Mode::Global, {.save_steps = {-6}}}}},
                {"save_steps", "GLOBAL", "-6"}},
        Illegal{"no_such_mode",
                {.mode_save_configs = {{static_cast<Mode>(9), {}}}},
                {"mode_save_configs", "9"}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace cupel
