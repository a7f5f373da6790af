#include "cupel/format/collections_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(CollectionsFile, says_its_checksum_last) {
  EXPECT_THAT(text_of(sample()), ::testing::ContainsRegex("\"crc32c\":\"[0-9a-f]{8}\"\\}\\}\n$"));
}

TEST(CollectionsFile, each_flipped_bit_is_an_error_or_takes_the_checksum_away) {
  const std::string text = text_of(sample());
  const std::size_t checksum = text.rfind("crc32c");
  std::size_t harmless = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << bit));
      try {
        decode(flipped);
        EXPECT_TRUE(at >= checksum && at < checksum + 6) << flipped;
        ++harmless;
      } catch (const FormatError& error) {
        EXPECT_EQ(error.file, "c.json");
      }
    }
  }
  EXPECT_LE(harmless, 6U * 8U);
}

TEST(CollectionsFile, counters_at_close_read_back_as_written) {
  CollectionsFile file = sample();
  file.steps = {{Mode::Global, 9}, {Mode::Train, 7}, {Mode::Eval, 0}};
  EXPECT_THAT(text_of(file),
              HasSubstr(R"("attempt":3,"steps":{"TRAIN":7,"EVAL":0,"GLOBAL":9},"crc32c")"));
  EXPECT_EQ(decode(text_of(file)).steps, file.steps);
}

TEST(CollectionsFile, without_counters_the_key_is_absent) {
  EXPECT_THAT(text_of(sample()), Not(HasSubstr("steps\":{")));
  EXPECT_TRUE(decode(text_of(sample())).steps.empty());
}

std::string with_meta(const std::string& more) {
  return R"({"collections": {}, "_meta": {"num_workers": 1)" + more + "}}";
}

TEST(CollectionsFile, a_number_that_is_no_integer_in_range_is_an_error) {
  for (const char* attempt : {"1e300", "1.5", "1.0", "-1", "2147483647", "18446744073709551615",
                              "true", "null", R"("1")"}) {
    EXPECT_THROW(decode(with_meta(std::string(R"(, "attempt": )") + attempt)), FormatError)
        << attempt;
  }
  EXPECT_EQ(decode(with_meta(R"(, "attempt": 2147483646)")).attempt, 2147483646);
  for (const char* workers : {"1e300", "1.5", "0", "-3", "9223372036854775808", "true"}) {
    const std::string text =
        std::string(R"({"collections": {}, "_meta": {"num_workers": )") + workers + "}}";
    EXPECT_THROW(decode(text), FormatError) << workers;
  }
}

TEST(CollectionsFile, a_save_config_with_a_fraction_is_an_error) {
  const std::string text = text_of(sample());
  for (const char* number : {R"("save_interval":7)", R"("save_steps":[1)", R"("end_step":3)"}) {
    const std::size_t at = text.find(number);
    ASSERT_NE(at, std::string::npos) << number;
    std::string broken = text;
    EXPECT_THROW(decode(broken.insert(at + std::string(number).size(), ".5")), FormatError)
        << number;
  }
}

TEST(CollectionsFile, counters_that_cannot_be_are_an_error) {
  for (const char* steps :
       {"[1]", "7", R"({"TRAIN": -1})", R"({"TRAIN": 1.5})", R"({"TRAIN": 9223372036854775807})",
        R"({"train": 1})", R"({"TEST": 1})"}) {
    EXPECT_THROW(decode(with_meta(std::string(R"(, "steps": )") + steps)), FormatError) << steps;
  }
}

TEST(CollectionsFile, what_a_newer_minor_version_has_added_is_ignored) {
  const std::string meta = R"("_meta": {"num_workers": 1, "steps": {"TEST": 1, "TRAIN": 2}, )";
  const auto with_version = [&](const std::string& version) {
    return R"({"collections": {}, "more": 1, )" + meta + R"("format": ")" + version + R"("}})";
  };
  EXPECT_EQ(decode(with_version("1.2")).steps, (std::map<Mode, std::int64_t>{{Mode::Train, 2}}));
  EXPECT_THROW(decode(with_version("1.0")), FormatError);
}

TEST(CollectionsFile, a_newer_major_version_is_named_before_anything_else_is_complained_of) {
  try {
    decode(R"({"more": 1, "_meta": {"format": "2.0", "num_workers": "many"}})");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr("newer cupel"));
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
