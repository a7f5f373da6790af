#include "cupel/format/collection_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view json) {
  try {
    static_cast<void>(collection_from_json(json));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(CollectionJson, a_collection_comes_back_as_it_was) {
  Collection collection("head");
  collection.include("^fc\\.").add_tensor_name("b").add_tensor_name("a");
  collection.set_save_config(
      {.save_interval = 7, .mode_save_configs = {{Mode::Eval, {.end_step = 3}}}});
  collection.set_reduction_config({.reductions = {"mean", "abs_l2"}, .save_shape = true});
  collection.set_save_histogram(false);
  const std::string json = to_json(collection);
  EXPECT_THAT(json, HasSubstr(R"("tensor_names":["a","b"])"));
  EXPECT_EQ(to_json(collection_from_json(json)), json);
}

TEST(CollectionJson, missing_keys_have_their_defaults) {
  EXPECT_EQ(to_json(collection_from_json(R"({"name":"c"})")), to_json(Collection("c")));
  const SaveConfig config = save_config_from_json(R"({"TRAIN":{"save_interval":3},"EVAL":null})");
  EXPECT_EQ(config.mode(Mode::Train).save_interval, 3);
  EXPECT_EQ(config.mode(Mode::Train).start_step, 0);
  EXPECT_EQ(config.mode(Mode::Eval), SaveConfigMode());
  EXPECT_EQ(reduction_config_from_json(R"({"reductions":"min"})"),
            (ReductionConfig{.reductions = {"min"}}));
  EXPECT_EQ(save_config_mode_from_json(R"({"end_step":4})"), (SaveConfigMode{.end_step = 4}));
}

TEST(CollectionJson, a_mistake_is_named) {
  EXPECT_EQ(error_of("{"), "the collection is no JSON");
  EXPECT_EQ(error_of("[]"), "the collection is no JSON object");
  EXPECT_EQ(error_of(std::string(100'000, '[')), "the collection is nested too deeply");
  EXPECT_EQ(error_of("{}"), "the collection has no name");
  EXPECT_THAT(error_of(R"({"name":"c","include_regex":["("]})"), HasSubstr("("));
  EXPECT_THAT(error_of(R"({"name":"c","save_config":{"TRAIN":{"save_interval":0}}})"),
              HasSubstr("save_interval must be at least 1"));
  EXPECT_THAT(error_of(R"({"name":"c","reduction_config":{"reductions":"mode"}})"),
              HasSubstr("mode"));
}

}  // namespace
}  // namespace cupel
