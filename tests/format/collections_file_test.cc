#include "cupel/format/collections_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using testing::HasSubstr;

CollectionsFile sample() {
  CollectionsFile file{4, "cafe", "worker_2", 3, {}};
  Collection relu("relu_out");
  relu.include({"relu.*output", "\"quoted\"\\d"});
  relu.add_tensor_name("caf\xc3\xa9");
  relu.set_reduction_config(
      {.reductions = {"min"}, .abs_reductions = {"mean"}, .norms = {"l2"}, .save_shape = true});
  relu.set_save_config(
      {.save_interval = 7,
       .mode_save_configs = {{Mode::Eval, {.end_step = 3, .save_steps = {1, 2}}}}});
  relu.set_save_histogram(false);
  file.collections.emplace("relu_out", relu);
  file.collections.emplace("losses", Collection("losses"));
  return file;
}

std::string text_of(const CollectionsFile& file) {
  const auto bytes = encode_collections_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

CollectionsFile decode(const std::string& text) {
  return decode_collections_file("c.json", std::as_bytes(std::span(text)));
}

TEST(CollectionsFile, reads_back_as_written) {
  const CollectionsFile read = decode(text_of(sample()));
  EXPECT_EQ(read.num_workers, 4);
  EXPECT_EQ(read.run, "cafe");
  EXPECT_EQ(read.worker, "worker_2");
  EXPECT_EQ(read.attempt, 3);
  ASSERT_TRUE(read.collections.contains("relu_out") && read.collections.contains("losses"));
  const Collection& relu = read.collections.at("relu_out");
  const CollectionsFile original = sample();
  const Collection& expected = original.collections.at("relu_out");
  EXPECT_EQ(relu.include_regex().texts(), expected.include_regex().texts());
  EXPECT_EQ(relu.tensor_names(), expected.tensor_names());
  EXPECT_EQ(relu.reduction_config(), expected.reduction_config());
  EXPECT_FALSE(relu.save_histogram());
  for (const Mode mode : kAllModes)
    EXPECT_EQ(relu.save_config()->mode(mode), expected.save_config()->mode(mode));
  EXPECT_FALSE(read.collections.at("losses").save_config());
}

TEST(CollectionsFile, writing_what_was_read_gives_the_same_text) {
  const std::string text = text_of(sample());
  EXPECT_EQ(text_of(decode(text)), text);
}

TEST(CollectionsFile, reads_what_the_ported_sdk_writes) {
  const CollectionsFile file = decode(
      R"({"collections": {"gradients": {"name": "gradients", "include_regex": ["^gradient"], "tensor_names": ["gradient/w"],)"
      R"( "reduction_config": {"save_raw_tensor": false, "reductions": "min,l2_norm,abs_mean", "save_shape": false},)"
      R"( "save_config": {"TRAIN": {"save_interval": 3, "save_steps": [], "start_step": 0, "end_step": null}, "EVAL": null,)"
      R"( "PREDICT": null, "GLOBAL": null}, "save_histogram": true}}, "_meta": {"num_workers": 1}})");
  EXPECT_EQ(file.attempt, 0);
  const Collection& gradients = file.collections.at("gradients");
  EXPECT_EQ(gradients.save_config()->mode(Mode::Train).save_interval, 3);
  EXPECT_EQ(gradients.reduction_config()->set().size(), 3);
}

TEST(CollectionsFile, anything_else_is_an_error_that_names_the_file) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"_meta": {"num_workers": 1}})", R"({"collections": {}})",
        R"({"collections": {}, "_meta": {"num_workers": 0}})",
        R"({"collections": {}, "_meta": {"num_workers": "two"}})",
        R"({"collections": {}, "_meta": {"num_workers": 1}, "more": 1})",
        R"({"collections": {"a": {}}, "_meta": {"num_workers": 1}})"}) {
    EXPECT_THROW(decode(text), FormatError) << text;
  }
}

TEST(CollectionsFile, deep_nesting_is_refused) {
  EXPECT_THROW(decode(std::string(100000, '[')), FormatError);
}

TEST(CollectionsFile, a_newer_major_version_is_refused_and_a_newer_minor_is_read) {
  const auto with_version = [](const std::string& version) {
    return R"({"collections": {}, "_meta": {"num_workers": 1, "format": ")" + version + R"("}})";
  };
  EXPECT_NO_THROW(decode(with_version("1.7")));
  try {
    decode(with_version("2.0"));
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr("newer cupel"));
    EXPECT_EQ(error.file, "c.json");
  }
}

}  // namespace
}  // namespace cupel
