// Which of a file's values for saving steps holds: those of a collection with a mode, those
// without, the hook's with a mode, those without, the base's.

#include <gtest/gtest.h>

#include "configuration_fixture.h"

namespace cupel {
namespace {

constexpr const char* kThree =
    R"("save_interval": "1", "train.save_interval": "2", "eval.save_interval": "3")";

struct Row {
  std::string name;
  const char* hook;
  const char* collection;
  Mode mode;
  SaveConfigMode expected;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::vector<Row> rows() {
  struct OfModes {
    const char* name;
    const char* hook;
    const char* collection;
    std::array<SaveConfigMode, 4> expected;  // TRAIN, EVAL, PREDICT, GLOBAL
  };
  const SaveConfigMode never = {.end_step = 0};
  const SaveConfigMode first_50 = {.end_step = 50};
  const std::vector<OfModes> table = {
      {"the_hooks_own", kThree, "", {{{2}, {3}, {1}, {1}}}},
      {"a_mode_of_the_collection",
       kThree,
       R"("eval.save_interval": 4, "global.save_interval": "5")",
       {{{2}, {4}, {1}, {5}}}},
      {"plain_of_the_collection", kThree, R"("save_interval": 10)", {{{10}, {10}, {10}, {10}}}},
      {"modes_without_the_hook",
       "",
       R"("train.save_interval": "100", "eval.save_interval": "10")",
       {{{100}, {10}, {500}, {500}}}},
      {"an_end_of_the_hook", R"("end_step": "0")", "", {{never, never, never, never}}},
      {"an_end_of_both",
       R"("end_step": "0")",
       R"("end_step": "50")",
       {{first_50, first_50, first_50, first_50}}},
      {"fields_fall_back_one_by_one",
       R"("save_interval": 7, "start_step": 3, "eval.start_step": 5, "save_steps": "1,2")",
       R"("eval.save_interval": 9, "train.save_steps": [4], "predict.end_step": 90)",
       {{{7, 3, {}, {4}}, {9, 5, {}, {1, 2}}, {7, 3, 90, {1, 2}}, {7, 3, {}, {1, 2}}}}},
      {"plain_of_the_collection_beats_modes_of_the_hook_in_its_field_only",
       R"("train.save_interval": 7, "train.start_step": 3)",
       R"("save_interval": 9)",
       {{{9, 3}, {9}, {9}, {9}}}},
      {"null_says_nothing",
       R"("save_interval": 7, "eval.save_interval": null)",
       R"("save_interval": null)",
       {{{7}, {7}, {7}, {7}}}}};
  std::vector<Row> result;
  for (const OfModes& row : table) {
    for (std::size_t i = 0; i < kAllModes.size(); ++i) {
      result.push_back({std::string(row.name) + "_" + std::string(to_string(kAllModes.at(i))),
                        row.hook, row.collection, kAllModes.at(i), row.expected.at(i)});
    }
  }
  return result;
}

class SavePrecedence : public ::testing::TestWithParam<Row> {};

TEST_P(SavePrecedence, the_collection_saves_as_its_row_says) {
  const Row& row = GetParam();
  const HookConfiguration read = parse(hook_and_collection(row.hook, row.collection));
  const SaveConfig& hook = read.options.save_config;
  const auto& own = read.collections.at(0).save_config();
  const SaveConfig config = own ? own->resolved(hook) : hook;
  EXPECT_EQ(config.mode(row.mode), row.expected);
  for (std::int64_t step = 0; step <= 1500; ++step)
    ASSERT_EQ(config.should_save(row.mode, step), row.expected.should_save(step)) << step;
}

INSTANTIATE_TEST_SUITE_P(Rows, SavePrecedence, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

TEST(SavePrecedence, a_collection_with_a_save_key_has_all_modes_of_its_own) {
  const auto read = parse(hook_and_collection(kThree, R"("Predict.end_step": 4)"));
  const auto& own = read.collections.at(0).save_config();
  ASSERT_TRUE(own);
  EXPECT_EQ(own->mode_save_configs.size(), kAllModes.size());
  EXPECT_EQ(own->mode(Mode::Train), SaveConfigMode{.save_interval = 2});
  EXPECT_EQ(own->mode(Mode::Predict), (SaveConfigMode{.save_interval = 1, .end_step = 4}));
}

TEST(SavePrecedence, a_collection_without_save_keys_leaves_it_to_the_hook) {
  EXPECT_FALSE(parse(hook_and_collection(kThree, "")).collections.at(0).save_config());
  EXPECT_FALSE(parse(hook_and_collection(kThree, R"("save_steps": null, "save_histogram": false)"))
                   .collections.at(0)
                   .save_config());
}

TEST(SavePrecedence, the_hook_has_all_modes_whatever_the_file_says) {
  for (const char* hook : {"", kThree, R"("global.end_step": 3)"}) {
    const SaveConfig config = parse(hook_with(hook)).options.save_config;
    EXPECT_EQ(config.mode_save_configs.size(), kAllModes.size()) << hook;
  }
}

TEST(SavePrecedence, what_the_base_says_of_a_mode_is_below_everything_in_the_file) {
  const HookOptions base = {
      .save_config = {.save_interval = 20,
                      .mode_save_configs = {{Mode::Eval, {.save_interval = 30, .start_step = 4}}}}};
  const auto untouched = parse("{}", base).options.save_config;
  EXPECT_EQ(untouched.mode(Mode::Train).save_interval, 20);
  EXPECT_EQ(untouched.mode(Mode::Eval), (SaveConfigMode{.save_interval = 30, .start_step = 4}));
  const auto read = parse(hook_and_collection(R"("save_interval": 8)", R"("end_step": 6)"), base);
  EXPECT_EQ(read.options.save_config.mode(Mode::Eval),
            (SaveConfigMode{.save_interval = 8, .start_step = 4}));
  EXPECT_EQ(read.collections.at(0).save_config()->mode(Mode::Eval),
            (SaveConfigMode{.save_interval = 8, .start_step = 4, .end_step = 6}));
}

TEST(SavePrecedence, xgboost_saves_every_tenth_step_by_default_collections_too) {
  const HookOptions base = {.profile = Profile::XGBoost};
  const auto read =
      parse(hook_and_collection(R"("eval.save_interval": 3)", R"("start_step": 5)"), base);
  EXPECT_EQ(read.options.save_config.mode(Mode::Train).save_interval, 10);
  EXPECT_EQ(read.options.save_config.mode(Mode::Eval).save_interval, 3);
  EXPECT_EQ(read.collections.at(0).save_config()->mode(Mode::Global),
            (SaveConfigMode{.save_interval = 10, .start_step = 5}));
  EXPECT_EQ(parse("{}", base).options.save_config.mode(Mode::Predict).save_interval, 10);
  EXPECT_EQ(parse("{}", {.save_config = {.save_interval = 40}, .profile = Profile::XGBoost})
                .options.save_config.mode(Mode::Train)
                .save_interval,
            40);
}

}  // namespace
}  // namespace cupel
