#include "cupel/writer/hook_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "configuration_fixture.h"
#include "core/log_capture.h"
#include "cupel/store/memory_store.h"
#include "cupel/writer/hook.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(HookConfiguration, of_an_empty_object_is_the_base_in_the_platforms_directory) {
  const auto read = parse("{}", {.profile = Profile::PyTorch, .worker = "worker_3"});
  EXPECT_EQ(read.options.out_dir, "/opt/ml/output/tensors");
  EXPECT_EQ(read.options.profile, Profile::PyTorch);
  EXPECT_EQ(read.options.worker, "worker_3");
  EXPECT_EQ(read.options.reduction_config, std::nullopt);
  EXPECT_THAT(read.options.include_collections, IsEmpty());
  EXPECT_THAT(read.collections, IsEmpty());
}

TEST(HookConfiguration, takes_the_directory_from_the_file_then_from_the_base) {
  EXPECT_EQ(parse(R"({"LocalPath": "runs/a"})").options.out_dir, "runs/a");
  EXPECT_EQ(parse(R"({"LocalPath": "runs/a"})", {.out_dir = "b"}).options.out_dir, "runs/a");
  EXPECT_EQ(parse(R"({"LocalPath": null})", {.out_dir = "b"}).options.out_dir, "b");
}

TEST(HookConfiguration, may_be_wrapped) {
  const auto read = parse(
      R"({"TrainingJobName": "x", "LocalPath": "outside", "DebugHookConfig": {"LocalPath": "inside",
          "HookParameters": {"save_interval": 3}}})");
  EXPECT_EQ(read.options.out_dir, "inside");
  EXPECT_EQ(read.options.save_config.mode(Mode::Train).save_interval, 3);
  EXPECT_THAT(refusal(R"({"DebugHookConfig": {"HookParameters": {"save_interval": 0}}})"),
              HasSubstr("  DebugHookConfig.HookParameters.save_interval: must be"));
  EXPECT_THAT(refusal(R"({"DebugHookConfig": null})"),
              HasSubstr("DebugHookConfig: must be an object"));
}

TEST(HookConfiguration, ignores_unknown_keys_at_the_top_silently) {
  const testing::LogCapture log;
  parse(R"({"S3OutputPath": "s3://bucket", "S3Path": {"a": [1]}, "LocalPath": "x"})");
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(HookConfiguration, names_misspelt_keys_at_the_top_and_in_the_wrapper) {
  const testing::LogCapture log;
  parse(R"({"DebugHookConfg": {}, "HookParameter": {}, "DebugRuleConfigurations": []})");
  ASSERT_EQ(log.lines().size(), 2U);
  EXPECT_EQ(
      log.lines()[0].second,
      "hook.json: the key \"DebugHookConfg\" is unknown and ignored; the nearest known one is "
      "\"DebugHookConfig\"");
  EXPECT_THAT(log.lines()[1].second, HasSubstr("\"HookParameters\""));
  const testing::LogCapture inside;
  parse(R"({"DebugHookConfig": {"ColectionConfigurations": []}})");
  ASSERT_EQ(inside.lines().size(), 1U);
  EXPECT_THAT(inside.lines()[0].second, StartsWith("hook.json: DebugHookConfig: the key"));
  EXPECT_THAT(inside.lines()[0].second, HasSubstr("\"CollectionConfigurations\""));
}

TEST(HookConfiguration, tells_of_a_start_that_is_not_before_the_end) {
  const testing::LogCapture log;
  parse(hook_and_collection(R"("start_step": 10, "end_step": 5)", R"("train.start_step": 3)"));
  ASSERT_EQ(log.lines().size(), 2U);
  EXPECT_EQ(log.lines()[0].second,
            "hook.json: HookParameters: start_step 10 is not before end_step 5: the interval saves "
            "nothing");
  EXPECT_EQ(log.lines()[1].second,
            "hook.json: CollectionConfigurations[0].CollectionParameters: start_step 10 is not "
            "before end_step 5: the interval saves nothing (EVAL, PREDICT, GLOBAL)");
}

TEST(HookConfiguration, an_end_of_0_and_a_start_before_the_end_are_no_mistakes) {
  const testing::LogCapture log;
  parse(hook_and_collection(R"("start_step": 10, "end_step": 0)", R"("end_step": 11)"));
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(HookConfiguration, has_the_collections_in_the_files_order_and_includes_them) {
  const auto read = parse(
      R"({"CollectionConfigurations": [{"CollectionName": "relu"},
          {"CollectionName": "biases", "CollectionParameters": null},
          {"CollectionName": "attention", "CollectionParameters": {}}]})",
      {.include_collections = {"weights", "biases"}});
  ASSERT_EQ(read.collections.size(), 3U);
  EXPECT_EQ(read.collections[0].name(), "relu");
  EXPECT_EQ(read.collections[2].name(), "attention");
  EXPECT_THAT(read.options.include_collections,
              ElementsAre("weights", "biases", "relu", "attention"));
  EXPECT_THAT(parse(R"({"CollectionConfigurations": null})").collections, IsEmpty());
}

TEST(HookConfiguration, keeps_the_patterns_of_a_built_in_collection_and_adds_the_files) {
  const auto read = parse(
      R"({"CollectionConfigurations": [{"CollectionName": "losses",
          "CollectionParameters": {"include_regex": "nll,ce$"}}]})",
      {.profile = Profile::MXNet});
  EXPECT_THAT(read.collections.at(0).include_regex().texts(),
              ElementsAre(".*loss._(?!input).*output", "nll", "ce$"));
}

TEST(HookConfiguration, keeps_the_patterns_that_the_hook_gives_to_default_and_all) {
  const auto read = parse(
      R"({"HookParameters": {"include_regex": "relu", "save_all": true},
          "CollectionConfigurations": [{"CollectionName": "default"},
                                       {"CollectionName": "all"}]})");
  EXPECT_THAT(read.collections.at(0).include_regex().texts(), ElementsAre("relu"));
  EXPECT_THAT(read.collections.at(1).include_regex().texts(), ElementsAre(".*"));
}

TEST(HookConfiguration, a_collection_has_reductions_and_histograms_of_its_own) {
  const auto read = parse(hook_and_collection(
      R"("reductions": "max")",
      R"("reductions": "mean,abs_l2", "save_raw_tensor": 1, "save_histogram": "False")"));
  EXPECT_EQ(
      read.collections.at(0).reduction_config(),
      (ReductionConfig{.reductions = {"mean"}, .abs_norms = {"l2"}, .save_raw_tensor = true}));
  EXPECT_FALSE(read.collections.at(0).save_histogram());
  const auto raw = parse(hook_and_collection(R"("reductions": "max")", R"("save_raw_tensor": 1)"));
  EXPECT_EQ(raw.collections.at(0).reduction_config(), ReductionConfig{.save_raw_tensor = true});
  const auto none = parse(hook_and_collection(R"("reductions": "max")", R"("save_shape": false)"));
  EXPECT_EQ(none.collections.at(0).reduction_config(), std::nullopt);
  EXPECT_TRUE(none.collections.at(0).save_histogram());
}

TEST(HookConfiguration, raw_values_of_the_file_win_over_reductions_of_the_base) {
  const HookOptions base = {.reduction_config = ReductionConfig{.reductions = {"mean"}}};
  EXPECT_EQ(parse("{}", base).options.reduction_config, base.reduction_config);
  EXPECT_EQ(parse(hook_with(R"("save_raw_tensor": true)"), base).options.reduction_config,
            std::nullopt);
}

TEST(HookConfiguration, tells_all_mistakes_of_a_file_at_once) {
  EXPECT_EQ(refusal(R"({
    "LocalPath": 7,
    "HookParameters": {"save_interval": "0", "save_all": "maybe", "eval.save_steps": "1;2"},
    "CollectionConfigurations": [
      {"CollectionName": "a", "CollectionParameters": {"include_regex": "("}},
      {"CollectionParameters": {"save_interval": "often"}},
      {"CollectionName": "a", "CollectionParameters": 3},
      {"CollectionName": ""}, "b"]})"),
            R"(hook.json: 11 mistakes
  LocalPath: must be the path of a directory as text, not 7
  HookParameters.eval.save_steps: must be a comma list or an array of whole numbers from 0, at least one, not "1;2"
  HookParameters.save_all: must be one of True, true, 1, False, false, 0, not "maybe"
  HookParameters.save_interval: must be a whole number from 1 to 9223372036854775807, not "0"
  CollectionConfigurations[0].CollectionParameters.include_regex: must be a regular expression, not "(" (offset 1: missing closing parenthesis)
  CollectionConfigurations[1].CollectionName: must be a name, not missing
  CollectionConfigurations[1].CollectionParameters.save_interval: must be a whole number from 1 to 9223372036854775807, not "often"
  CollectionConfigurations[2].CollectionName: must be a name that no other entry has, not "a"
  CollectionConfigurations[2].CollectionParameters: must be an object or null, not 3
  CollectionConfigurations[3].CollectionName: must be a name, not ""
  CollectionConfigurations[4]: must be an object, not "b")");
}

TEST(HookConfiguration, refuses_what_is_not_the_object_that_belongs_there) {
  EXPECT_THAT(refusal("[1]"), StartsWith("hook.json: 1 mistake\n  a configuration must be an obj"));
  EXPECT_THAT(refusal(R"({"HookParameters": []})"), HasSubstr("HookParameters: must be an object"));
  EXPECT_THAT(refusal(R"({"CollectionConfigurations": {}})"),
              HasSubstr("CollectionConfigurations: must be an array or null"));
}

TEST(HookConfiguration, warns_of_an_unknown_key_beside_a_collections_name) {
  const testing::LogCapture log;
  parse(R"({"CollectionConfigurations": [{"CollectionName": "a", "CollectionParameter": {}}]})");
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_THAT(log.lines()[0].second,
              AllOf(HasSubstr("CollectionConfigurations[0]: "),
                    HasSubstr("nearest known one is \"CollectionParameters\"")));
}

TEST(HookConfiguration, text_that_is_no_json_is_told_with_line_and_column) {
  // The trailing comma of a well-known sample.
  EXPECT_THAT(refusal("{\n  \"LocalPath\": \"x\",\n}"),
              StartsWith("hook.json: this is no JSON: line 3, column 1: syntax error"));
  EXPECT_THAT(refusal("{\"LocalPath\" 7}"), HasSubstr("line 1, column 14: "));
  EXPECT_THAT(refusal(""), HasSubstr("line 1, column 1: "));
}

TEST(HookConfiguration, an_illegal_base_is_refused_before_the_file) {
  EXPECT_THAT(refusal("{", {.save_config = {.save_interval = 0}}), HasSubstr("save_interval"));
  EXPECT_THAT(refusal("{", {.include_regex = {"("}}), StartsWith("The pattern does not compile"));
}

TEST(HookConfiguration, makes_a_hook_that_saves_as_the_file_says) {
  const auto read = parse(
      R"({"HookParameters": {"save_interval": 100},
          "CollectionConfigurations": [{"CollectionName": "relu",
            "CollectionParameters": {"include_regex": "relu", "save_interval": 2}}]})");
  Hook hook(read.options, std::make_shared<MemoryStore>());
  for (const Collection& collection : read.collections) hook.add_collection(collection);
  const std::vector<float> values(4, 1.0F);
  for (int step = 0; step < 5; ++step) {
    hook.next_step();
    hook.save_tensor("relu_1", TensorView(values.data(), {values.size()}));
    hook.save_tensor("fc.weight", TensorView(values.data(), {values.size()}));
  }
  EXPECT_EQ(hook.close().tensors_saved, 3);
}

TEST(HookConfiguration, the_example_of_the_document_does_what_the_document_says) {
  std::ifstream in(CUPEL_CONFIGURATION_DOCUMENT);
  std::string example;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```"))
      inside = line == "```json" && example.empty();
    else if (inside)
      example += line + "\n";
  }
  ASSERT_FALSE(example.empty());
  const testing::LogCapture log;
  const auto read = parse(example);
  EXPECT_THAT(log.lines(), IsEmpty());
  EXPECT_EQ(read.options.out_dir, "runs/mnist");
  EXPECT_EQ(read.options.reduction_config,
            (ReductionConfig{.reductions = {"mean"}, .abs_reductions = {"max"}}));
  EXPECT_THAT(read.options.include_collections, ElementsAre("losses", "gradients", "activations"));
  const auto interval = [&](std::size_t i, Mode mode) {
    return read.collections.at(i).save_config()->mode(mode).save_interval;
  };
  EXPECT_EQ(interval(0, Mode::Train), 1);
  EXPECT_EQ(interval(0, Mode::Eval), 1);
  EXPECT_FALSE(read.collections.at(1).save_config());
  EXPECT_EQ(interval(2, Mode::Train), 100);
  EXPECT_EQ(interval(2, Mode::Eval), 10);
  EXPECT_EQ(interval(2, Mode::Predict), 50);
}

}  // namespace
}  // namespace cupel
