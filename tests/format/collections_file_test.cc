#include "cupel/format/collections_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/format/format_limits.h"

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

TEST(CollectionsFile, each_flipped_bit_is_an_error) {
  const std::string text = text_of(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << bit));
      try {
        decode(flipped);
        ADD_FAILURE() << flipped;
      } catch (const FormatError& error) {
        EXPECT_EQ(error.file, "c.json");
      }
    }
  }
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

std::string entry_text(const std::string& name, const std::string& patterns = "",
                       const std::string& tensors = "") {
  return '"' + name + R"(":{"name":")" + name + R"(","include_regex":[)" + patterns +
         R"(],"tensor_names":[)" + tensors +
         R"(],"reduction_config":null,"save_config":null,"save_histogram":true})";
}

std::string collections_text(const std::vector<std::string>& entries) {
  std::string all;
  for (const std::string& entry : entries) all += (all.empty() ? "" : ",") + entry;
  return R"({"collections":{)" + all + R"(},"_meta":{"num_workers":1}})";
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

// The text with the checksum that it needs in place of its zeros.
std::string with_checksum(std::string text) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", crc);
  return text.replace(text.rfind("00000000"), 8, digits.data());
}

TEST(CollectionsFile, what_a_newer_minor_version_has_added_is_ignored) {
  const std::string meta = R"("_meta": {"num_workers": 1, "steps": {"TEST": 1, "TRAIN": 2}, )";
  const auto with_version = [&](const std::string& version) {
    return with_checksum(R"({"collections": {}, "more": 1, )" + meta + R"("format": ")" + version +
                         R"(", "crc32c": "00000000"}})");
  };
  EXPECT_EQ(decode(with_version("1.2")).steps, (std::map<Mode, std::int64_t>{{Mode::Train, 2}}));
  for (const char* version : {"1.0", "1.1"})
    EXPECT_THROW(decode(with_version(version)), FormatError) << version;
}

TEST(CollectionsFile, without_its_checksum_is_refused_of_a_version_that_writes_it) {
  const auto with_version = [](const std::string& version) {
    return with_meta(R"(, "format": ")" + version + '"');
  };
  EXPECT_NO_THROW(decode(with_version("1.0")));
  for (const char* version : {"1.1", "1.2"}) {
    try {
      decode(with_version(version));
      ADD_FAILURE() << version;
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), HasSubstr("its checksum is missing"));
    }
  }
  EXPECT_THAT(text_of(sample()), HasSubstr(R"("format":"1.1")"));
}

TEST(CollectionsFile, a_key_that_is_there_twice_is_an_error) {
  const std::string text = text_of(sample());
  for (const char* key : {R"("name":"losses",)", R"("tensor_names":[],)", R"("num_workers":4,)",
                          R"("run":"cafe",)", R"("save_interval":7,)", R"("save_shape":true)"}) {
    const std::size_t at = text.find(key);
    ASSERT_NE(at, std::string::npos) << key;
    std::string twice = text;
    const std::string more = std::string(key).ends_with(',') ? key : key + std::string(",");
    EXPECT_THROW(decode(twice.insert(at, more)), FormatError) << key;
  }
  try {
    decode(collections_text({entry_text("a"), entry_text("b"), entry_text("a")}));
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the collection \"a\" is there twice"));
  }
}

std::string refusal(const std::string& text) {
  try {
    decode(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return {};
}

TEST(CollectionsFile, has_as_many_collections_as_a_run_may_have) {
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < kMostCollections; ++i)
    entries.push_back(entry_text("c" + std::to_string(i)));
  EXPECT_EQ(decode(collections_text(entries)).collections.size(), kMostCollections);
  entries.push_back(entry_text("one_more"));
  EXPECT_THAT(refusal(collections_text(entries)), HasSubstr("at most 250000 collections"));
}

TEST(CollectionsFile, has_as_many_patterns_as_a_run_may_have) {
  std::string patterns;
  for (std::size_t i = 0; i < kMostPatterns; ++i)
    patterns += (i == 0 ? "\"" : ",\"") + std::string(60, 'a') + '"';
  const CollectionsFile read = decode(collections_text({entry_text("a", patterns)}));
  EXPECT_EQ(read.collections.at("a").include_regex().patterns().size(), kMostPatterns);
  EXPECT_THAT(refusal(collections_text({entry_text("a", patterns + R"(,"a")")})),
              HasSubstr("at most 250000 patterns"));
}

TEST(CollectionsFile, takes_no_more_memory_than_its_size_allows) {
  std::string names;
  for (int i = 0; i < 1'500'000; ++i) {  // each takes 80 bytes of memory and 5 of the file
    std::string name(3, ' ');
    for (int rest = i; char& letter : name) {
      letter = static_cast<char>('A' + rest % 26);
      rest /= 26;
    }
    names += (i == 0 ? "\"" : ",\"") + name + '"';
  }
  EXPECT_THAT(refusal(collections_text({entry_text("a", "", names)})),
              HasSubstr("more memory than 7 times their file"));
}

TEST(CollectionsFile, of_an_earlier_version_with_very_many_names_is_read) {
  std::string names;
  for (int i = 0; i < 700'000; ++i) {
    std::string number = std::to_string(i);
    names += (i == 0 ? "\"" : ",\"") + std::string(100 - number.size(), 'n') + number + '"';
  }
  const std::string text = collections_text({entry_text("a", "", names)});
  ASSERT_GT(text.size(), std::size_t{64} << 20U);
  EXPECT_EQ(decode(text).collections.at("a").tensor_names().size(), 700'000U);
}

TEST(CollectionsFile, above_its_bytes_is_refused) {
  const std::string text(format_limits().collections_file + 1, ' ');
  EXPECT_THAT(refusal(text), HasSubstr("more than 268435456 bytes"));
}

TEST(CollectionsFile, is_not_written_where_it_would_not_be_read) {
  CollectionsFile file = sample();
  for (std::size_t i = file.collections.size(); i < kMostCollections; ++i) {
    const std::string name = "c" + std::to_string(i);
    file.collections.emplace(name, Collection(name));
  }
  EXPECT_EQ(decode(text_of(file)).collections.size(), kMostCollections);
  file.collections.emplace("one_more", Collection("one_more"));
  EXPECT_THROW(encode_collections_file(file), UsageError);
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
    return with_checksum(R"({"collections": {}, "_meta": {"num_workers": 1, "format": ")" +
                         version + R"(", "crc32c": "00000000"}})");
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
