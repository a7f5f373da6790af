#include "cupel/core/collection_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<CollectionConfiguration> read(std::string_view json) {
  const ConfigurationDocument document(json, "test");
  ConfigurationReport report("test");
  auto entries = read_collection_configurations(document.root(report));
  report.finish();
  return entries;
}

/// The entry "c" with these parameters.
CollectionConfiguration entry(const std::string& parameters) {
  return read(R"([{"CollectionName": "c", "CollectionParameters": {)" + parameters + "}}]").at(0);
}

/// What two entries ask for together, over a hook that saves every 500 steps.
CollectionConfiguration merged(const std::string& a, const std::string& b,
                               const SaveConfig& hook = {}) {
  CollectionConfiguration both = entry(a);
  both.merge(entry(b), hook);
  return both;
}
SaveConfigMode when(const CollectionConfiguration& entry, Mode mode, const SaveConfig& hook = {}) {
  return entry.parameters.times.over(hook).mode(mode);
}

TEST(CollectionConfiguration, is_written_as_it_is_read) {
  for (
      const char* text :
      {R"({"CollectionName":"c"})",
       R"({"CollectionName":"c","CollectionParameters":{"include_regex":"a,b","save_interval":"7","start_step":"1","end_step":"9","save_steps":"2,3","train.save_interval":"5","reductions":"min,abs_max","save_raw_tensor":"true","save_shape":"false","save_histogram":"false"}})",
       R"({"CollectionName":"c","CollectionParameters":{"include_regex":["a,b"]}})"}) {
    EXPECT_EQ(read("[" + std::string(text) + "]").at(0).to_json(), text);
  }
}

TEST(CollectionConfiguration, merges_patterns_each_once) {
  EXPECT_THAT(merged(R"("include_regex": "a,b")", R"("include_regex": "b,c")")
                  .parameters.include_regex->texts(),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(merged("", R"("include_regex": "x")").parameters.include_regex->texts(),
              ElementsAre("x"));
}

TEST(CollectionConfiguration, merges_steps_by_mode) {
  const auto both = merged(R"("save_interval": 10, "train.save_interval": 4, "save_steps": "1,2")",
                           R"("save_interval": 6, "save_steps": "2,3")");
  EXPECT_EQ(when(both, Mode::Train).save_interval, 4);
  EXPECT_EQ(when(both, Mode::Eval).save_interval, 6);
  EXPECT_THAT(when(both, Mode::Train).save_steps, ElementsAre(1, 2, 3));
}

TEST(CollectionConfiguration, merges_to_the_smallest_start_and_the_largest_end) {
  auto both = merged(R"("start_step": 5, "end_step": 10)", R"("start_step": 3, "end_step": 8)");
  EXPECT_EQ(when(both, Mode::Train).start_step, 3);
  EXPECT_EQ(when(both, Mode::Train).end_step, 10);
  both = merged(R"("end_step": 10)", R"("save_interval": 5)");
  EXPECT_FALSE(when(both, Mode::Train).end_step);
}

TEST(CollectionConfiguration, that_says_nothing_of_steps_merges_as_the_hook) {
  const SaveConfig hook = SaveConfig::of({.save_interval = 20});
  EXPECT_EQ(when(merged("", R"("save_interval": 50)", hook), Mode::Train, hook).save_interval, 20);
  EXPECT_EQ(when(merged("", R"("save_interval": 5)", hook), Mode::Train, hook).save_interval, 5);
}

TEST(CollectionConfiguration, whose_interval_saves_nothing_has_no_say_about_it) {
  const auto both =
      merged(R"("save_steps": "7", "end_step": 0, "save_interval": 1)", R"("save_interval": 30)");
  EXPECT_EQ(when(both, Mode::Train).save_interval, 30);
  EXPECT_FALSE(when(both, Mode::Train).end_step);
  EXPECT_THAT(when(both, Mode::Train).save_steps, ElementsAre(7));
}

TEST(CollectionConfiguration, merges_reductions_and_keeps_raw_values_of_either) {
  const auto both = merged(R"("reductions": "mean,min")", R"("reductions": "min,abs_max")");
  const ReductionConfig config = *both.parameters.reduction_config();
  EXPECT_THAT(config.reductions, SizeIs(2));
  EXPECT_THAT(config.abs_reductions, ElementsAre("max"));
  EXPECT_FALSE(config.save_raw_tensor);
  EXPECT_TRUE(merged(R"("reductions": "mean")", R"("save_raw_tensor": true)")
                  .parameters.reduction_config()
                  ->save_raw_tensor);
  // One that says nothing has raw values.
  EXPECT_TRUE(merged(R"("reductions": "mean")", "").parameters.reduction_config()->save_raw_tensor);
}

TEST(SaveTimes, say_the_least_that_leads_to_a_save_config) {
  SaveConfig hook = SaveConfig().resolved({});
  hook.mode_save_configs[Mode::Train].end_step = 10;
  SaveConfig wanted = hook;
  wanted.mode_save_configs[Mode::Train].end_step.reset();
  wanted.mode_save_configs[Mode::Eval].save_interval = 3;
  const SaveTimes times = SaveTimes::between(wanted, hook);
  EXPECT_FALSE(times.every_mode.any());
  EXPECT_EQ(times.of_mode.at(Mode::Eval).save_interval, 3);
  const SaveConfig reached = times.over(hook);
  EXPECT_EQ(reached.mode(Mode::Eval), wanted.mode(Mode::Eval));
  EXPECT_TRUE(reached.mode(Mode::Train).should_save(1'000'000'000'000'000));
}

}  // namespace
}  // namespace cupel
