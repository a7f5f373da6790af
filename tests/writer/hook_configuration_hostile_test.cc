// Files that nobody means well with, and files that are none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "configuration_fixture.h"
#include "core/log_capture.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

struct Hostile {
  const char* name;
  std::string (*text)();  // made when it is wanted: some are long
};

void PrintTo(const Hostile& row, std::ostream* out) { *out << row.name; }

using namespace std::string_literals;

constexpr std::size_t kMillion = 1'000'000;
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

constexpr Hostile kHostile[] = {
    {"nothing", [] { return std::string(""); }},
    {"blanks", [] { return std::string(" \n\t "); }},
    {"null", [] { return std::string("null"); }},
    {"a_number", [] { return std::string("1"); }},
    {"text", [] { return std::string("\"x\""); }},
    {"an_open_object", [] { return std::string("{"); }},
    {"an_open_text", [] { return std::string("{\"LocalPath\": \"x"); }},
    {"two_objects", [] { return std::string("{}{}"); }},
    {"a_comment", [] { return std::string("{} // x"); }},
    {"single_quotes", [] { return std::string("{'LocalPath': 'x'}"); }},
    {"not_a_number", [] { return std::string(hook_with("\"save_interval\": NaN")); }},
    {"a_nul_byte", [] { return std::string("{\"LocalPath\": \"x\"\0}"s); }},
    {"a_nul_byte_within_text", [] { return std::string("{\"LocalPath\": \"x\0y\"}"s); }},
    {"an_escaped_nul_in_a_path", [] { return std::string(R"({"LocalPath": "x\u0000y"})"); }},
    {"an_escaped_nul_in_a_key",
     [] { return std::string(hook_with(R"("save\u0000": 0, "save_all": 7)")); }},
    {"bytes_that_are_not_utf8", [] { return std::string("{\"LocalPath\": \"\xff\xfe\"}"); }},
    {"a_key_that_is_not_utf8", [] { return std::string("{\"\xc3\x28\": 1}"); }},
    {"an_utf16_file", [] { return std::string("\xff\xfe{\0}\0"s); }},
    {"half_a_surrogate", [] { return std::string(R"({"LocalPath": "\ud800"})"); }},
    {"a_mark_and_nothing", [] { return std::string("\xef\xbb\xbf"); }},
    {"a_control_character", [] { return std::string("{\"LocalPath\": \"a\x07\"}"); }},
    {"a_number_beyond_doubles", [] { return std::string(hook_with("\"save_interval\": 1e999")); }},
    {"a_number_of_a_million_digits",
     [] { return std::string(hook_with("\"save_interval\": " + repeated("9", kMillion))); }},
    {"a_text_of_a_million_digits",
     [] {
       return std::string(hook_with("\"save_interval\": \"" + repeated("9", kMillion) + "\""));
     }},
    {"minus_nothing", [] { return std::string(hook_with("\"save_interval\": -")); }},
    {"deep_arrays", [] { return std::string(repeated("[", kMillion)); }},
    {"deep_closed_arrays",
     [] { return std::string(repeated("[", kMillion) + repeated("]", kMillion)); }},
    {"deep_objects", [] { return std::string(repeated("{\"a\":", kMillion)); }},
    {"deep_parameters",
     [] {
       return std::string(hook_with("\"save_steps\": " + repeated("[", 65) + repeated("]", 65)));
     }},
    {"too_long", [] { return std::string(std::string(kMostBytes, ' ') + "{}"); }},
    {"a_bad_word_of_16_MiB",
     [] { return std::string("{" + std::string(kMostBytes - 2, 'x') + "}"); }},
    {"many_steps",
     [] {
       return std::string(hook_with("\"save_steps\": \"" + repeated("1,", kMillion) + "1\""));
     }},
    {"many_patterns",
     [] {
       return std::string(hook_with("\"include_regex\": \"" + repeated("a,", kMillion) + "a\""));
     }},
    {"a_pattern_of_a_million_letters",
     [] {
       return std::string(hook_with("\"include_regex\": \"" + repeated("(a", kMillion) + "\""));
     }},
    {"a_pattern_that_grows",
     [] { return std::string(hook_with("\"include_regex\": \"((((a{999}){999}){999}){999})\"")); }},
    {"many_reductions",
     [] {
       return std::string(hook_with("\"reductions\": \"" + repeated("mean,", kMillion) + "x\""));
     }},
    {"many_nameless_entries",
     [] {
       return std::string("{\"CollectionConfigurations\": [" + repeated("{},", 900) + "{}" + "]}");
     }},
    {"many_entries",
     [] {
       return std::string("{\"CollectionConfigurations\": [" + repeated("{},", kMillion) + "{}]}");
     }},
    {"many_members",
     [] { return std::string("{\"HookParameters\": [" + repeated("[],", kMillion) + "[]]}"); }},
};

class HostileConfiguration : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileConfiguration, is_refused_by_name_in_few_printable_words) {
  const testing::LogCapture log;
  const std::string message = refusal(GetParam().text());
  EXPECT_THAT(message, StartsWith("hook.json: "));
  EXPECT_LT(message.size(), 40'000U);
  EXPECT_TRUE(std::ranges::all_of(message, [](char c) {
    return c == '\n' || (c >= ' ' && c < '\x7f');
  })) << message;
}

INSTANTIATE_TEST_SUITE_P(Rows, HostileConfiguration, ::testing::ValuesIn(kHostile),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(HostileConfiguration, a_number_beyond_doubles_is_told_with_its_place) {
  EXPECT_THAT(refusal("{\n\"save_steps\": 1e999}"), HasSubstr("line 2, column "));
}

TEST(HostileConfiguration, many_unknown_keys_are_many_neither_in_the_log_nor_in_time) {
  const testing::LogCapture log;
  std::string keys;
  for (int i = 0; i < 50'000; ++i) keys += "\"key_" + std::to_string(i) + "\": null,";
  parse(hook_with(keys + '"' + repeated("k", 1'000'000) + "\": 1"));
  EXPECT_EQ(log.lines().size(), 21U);
  EXPECT_THAT(log.lines().back().second, HasSubstr("49981 more"));
}

TEST(HostileConfiguration, more_mistakes_than_anybody_reads_are_counted) {
  EXPECT_THAT(refusal("{\"CollectionConfigurations\": [" + repeated("{},", 299) + "{}]}"),
              AllOf(StartsWith("hook.json: 300 mistakes\n"), HasSubstr("\n  and 100 more")));
}

TEST(HostileConfiguration, repeated_keys_and_odd_names_are_read_like_any_other) {
  EXPECT_EQ(parse(R"({"LocalPath": "a", "LocalPath": "b"})").options.out_dir, "b");
  EXPECT_EQ(parse("\xef\xbb\xbf{}").options.out_dir, "/opt/ml/output/tensors");
  EXPECT_EQ(parse(R"({"CollectionConfigurations": [{"CollectionName": "\u0000\n"}]})")
                .collections.at(0)
                .name(),
            "\0\n"s);
}

std::string collections(std::size_t count) {
  std::string entries;
  for (std::size_t i = 0; i < count; ++i)
    entries += (i == 0 ? "" : ",") + (R"({"CollectionName": ")" + std::to_string(i) + "\"}");
  return "{\"CollectionConfigurations\": [" + entries + "]}";
}

TEST(HostileConfiguration, what_is_at_a_limit_is_read_and_one_more_is_refused) {
  const auto spaced = [](std::size_t bytes) { return std::string(bytes - 2, ' ') + "{}"; };
  const auto deep = [](std::size_t arrays) {
    return "{\"S3Path\": " + repeated("[", arrays) + repeated("]", arrays) + "}";
  };
  const auto steps = [](std::size_t count) {
    return hook_with("\"save_steps\": \"" + repeated("1,", count - 1) + "1\"");
  };
  const auto patterns = [](std::size_t count) {
    return hook_with("\"include_regex\": \"" + repeated("a,", count - 1) + "a\"");
  };
  EXPECT_EQ(refusal(spaced(kMostBytes)), "");
  EXPECT_THAT(refusal(spaced(kMostBytes + 1)), HasSubstr("at most 16 MiB"));
  EXPECT_EQ(refusal(deep(63)), "");
  EXPECT_THAT(refusal(deep(64)), HasSubstr("at most 64 deep"));
  EXPECT_EQ(refusal(steps(10'000)), "");
  EXPECT_THAT(refusal(steps(10'001)), HasSubstr("at most 10000 steps"));
  EXPECT_EQ(refusal(patterns(10'000)), "");
  EXPECT_THAT(refusal(patterns(10'001)), HasSubstr("at most 10000 patterns"));
  EXPECT_EQ(refusal(collections(1000)), "");
  EXPECT_THAT(refusal(collections(1001)), HasSubstr("at most 1000 collections"));
}

class ConfigurationFile : public ::testing::Test {
 protected:
  ConfigurationFile() {
    std::string pattern = (fs::temp_directory_path() / "cupel-configuration-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~ConfigurationFile() override { fs::remove_all(directory_); }

  std::string write(const char* name, std::string_view text) const {
    const std::string path = directory_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string failure(const std::string& path) {
    try {
      read_hook_configuration(path);
      return {};
    } catch (const UsageError& error) {
      return error.what();
    }
  }

  fs::path directory_;
  // Whatever the machine has, a test says.
  const Environment no_path_{"SMDEBUG_CONFIG_FILE_PATH", nullptr};
};

TEST_F(ConfigurationFile, is_the_one_given_else_that_of_the_environment) {
  const std::string given = write("given.json", R"({"LocalPath": "given"})");
  const std::string named = write("named.json", R"({"LocalPath": "named"})");
  EXPECT_EQ(read_hook_configuration(given).options.out_dir, "given");
  const Environment environment("SMDEBUG_CONFIG_FILE_PATH", named.c_str());
  EXPECT_EQ(read_hook_configuration(given).options.out_dir, "given");
  EXPECT_EQ(read_hook_configuration().options.out_dir, "named");
}

TEST_F(ConfigurationFile, is_the_platforms_when_nobody_says_where_it_is) {
  const std::string place = "/opt/ml/input/config/debughookconfig.json";
  EXPECT_EQ(failure(""), failure(place));
  const Environment empty("SMDEBUG_CONFIG_FILE_PATH", "");
  EXPECT_EQ(failure(""), failure(place));
  // A platform of that kind may have the file.
  if (!fs::exists(place)) {
    EXPECT_THAT(failure(""), StartsWith(place + ": "));
  }
}

TEST_F(ConfigurationFile, that_is_missing_is_named_with_the_ways_to_name_another) {
  const std::string path = directory_ / "none.json";
  EXPECT_THAT(failure(path), AllOf(StartsWith(path + ": "), HasSubstr("No such file"),
                                   HasSubstr("SMDEBUG_CONFIG_FILE_PATH"),
                                   HasSubstr("/opt/ml/input/config/debughookconfig.json")));
  EXPECT_THAT(failure("a\nb\0c"s), StartsWith("a\\x0ab\\x00c: "));
}

TEST_F(ConfigurationFile, with_mistakes_is_named_in_front_of_them) {
  const std::string path = write("bad.json", hook_with("\"save_interval\": 0"));
  EXPECT_THAT(failure(path), StartsWith(path + ": 1 mistake\n"));
}

TEST_F(ConfigurationFile, that_is_a_directory_or_a_pipe_is_refused_at_once) {
  EXPECT_THAT(failure(directory_), HasSubstr("not a regular file"));
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(failure(pipe), AllOf(StartsWith(pipe), HasSubstr("not a regular file")));
  EXPECT_THAT(failure("/dev/zero"), HasSubstr("not a regular file"));
}

TEST_F(ConfigurationFile, that_is_endless_is_not_read_to_its_end) {
  const std::string path = write("sparse.json", "");
  fs::resize_file(path, std::uintmax_t{1} << 40U);
  EXPECT_THAT(failure(path), HasSubstr("at most 16 MiB"));
}

}  // namespace
}  // namespace cupel
