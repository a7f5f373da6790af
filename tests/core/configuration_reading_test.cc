#include "cupel/core/configuration_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/log_capture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr std::string_view kKeys[] = {"save_interval", "start_step", "name"};

std::string in_words(const ConfigurationMistake& mistake) {
  return std::to_string(mistake.line) + " " + mistake.path + " [" + mistake.source_line + "]";
}

// Refuses every text that is "bad", wherever it is, and every member "bad" as an unknown key.
void refuse_bad(const ConfigurationValue& value) {
  if (value.is_text() && value.text() == "bad") value.refuse("good");
  if (value.is_array()) value.for_each_item(refuse_bad);
  if (!value.is_object()) return;
  value.for_each_member([&](const std::string& key, const ConfigurationValue& member) {
    if (key == "bad") value.report().unknown_key(value.path(), key, kKeys);
    refuse_bad(member);
  });
}

// "LINE PATH [SOURCE LINE]" of each.
std::vector<std::string> bad_in(std::string_view text) {
  const ConfigurationDocument document(text, "test");
  ConfigurationReport report("test");
  refuse_bad(document.root(report));
  std::vector<std::string> found;
  for (const ConfigurationMistake& mistake : report.errors()) found.push_back(in_words(mistake));
  for (const ConfigurationMistake& mistake : report.warnings())
    found.push_back("warning " + in_words(mistake));
  return found;
}

TEST(ConfigurationLines, five_mistakes_have_their_lines_in_one_go) {
  constexpr std::string_view kText = R"([
  {
    "save_interval": "often",
    "start_step": -1, "end_step": "x"
  },

  {"save_steps":
     "1,2,-3"},
  {"intervall": 3}
])";
  const ConfigurationDocument document(kText, "hook.json");
  ConfigurationReport report("hook.json");
  document.root(report).for_each_item([](const ConfigurationValue& entry) {
    read_whole_number(entry.member("save_interval"), 1);
    read_whole_number(entry.member("start_step"), 0);
    read_whole_number(entry.member("end_step"), 0);
    read_steps(entry.member("save_steps"));
    if (entry.has_member("intervall")) entry.report().unknown_key(entry.path(), "intervall", kKeys);
  });
  std::vector<std::string> errors;
  for (const ConfigurationMistake& mistake : report.errors()) errors.push_back(in_words(mistake));
  EXPECT_THAT(errors, ElementsAre("3 [0].save_interval [\"save_interval\": \"often\",]",
                                  "4 [0].start_step [\"start_step\": -1, \"end_step\": \"x\"]",
                                  "4 [0].end_step [\"start_step\": -1, \"end_step\": \"x\"]",
                                  "8 [1].save_steps [\"1,2,-3\"},]"));
  ASSERT_EQ(report.warnings().size(), 1U);
  EXPECT_EQ(in_words(report.warnings()[0]), "9 [2] [{\"intervall\": 3}]");
  EXPECT_EQ(report.warnings()[0].message, "the key \"intervall\" is unknown and ignored");
  EXPECT_EQ(report.warnings()[0].hint, "the nearest known one is \"save_interval\"");
}

TEST(ConfigurationLines, finish_throws_all_errors_without_lines) {
  const ConfigurationDocument document("{\n\"a\": \"bad\",\n\"b\": [\"bad\"], \"bad\": 1}", "test");
  ConfigurationReport report("hook.json");
  refuse_bad(document.root(report));
  const testing::LogCapture log;
  try {
    report.finish();
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "hook.json: 2 mistakes\n  a: must be good, not \"bad\"\n  b[0]: must be good, not "
                 "\"bad\"");
  }
  EXPECT_THAT(
      log.lines(),
      ElementsAre(Pair(LogLevel::Warning,
                       "hook.json: the key \"bad\" is unknown and ignored; the nearest known "
                       "one is \"name\"")));
}

TEST(ConfigurationLines, a_value_behind_a_number_keeps_its_line) {
  EXPECT_THAT(bad_in("[1\n,2\n\n,\"bad\",3.5\n]"), ElementsAre("4 [2] [,\"bad\",3.5]"));
  EXPECT_THAT(bad_in("[1,\n\"bad\"]"), ElementsAre("2 [1] [\"bad\"]]"));
  EXPECT_THAT(bad_in("{\"a\":-1e5\n,\"bad\":7\n,\"c\":8}"), ElementsAre("warning 2  [,\"bad\":7]"));
}

TEST(ConfigurationLines, a_number_has_the_line_in_which_it_is) {
  for (const char* text : {"[1,\n2\n\n]", "[1,\n2]", "[1,\n2 ,3]"}) {
    const ConfigurationDocument document(text, "test");
    ConfigurationReport report("test");
    document.root(report).item(1).refuse("text");
    EXPECT_EQ(report.errors().at(0).line, 2) << text;
  }
  const ConfigurationDocument document("\n7", "test");
  ConfigurationReport report("test");
  document.root(report).refuse("text");
  EXPECT_EQ(report.errors().at(0).line, 2);
}

TEST(ConfigurationLines, other_ends_of_lines_tabs_and_a_mark_are_no_part_of_a_line) {
  EXPECT_THAT(bad_in("{\r\n\t\"a\":\t\"bad\"\r\n}\r\n"), ElementsAre("2 a [\"a\":\t\"bad\"]"));
  EXPECT_THAT(bad_in("\xef\xbb\xbf\"bad\""), ElementsAre("1  [\"bad\"]"));
  EXPECT_THAT(bad_in("\xef\xbb\xbf[\n\"bad\"]"), ElementsAre("2 [0] [\"bad\"]]"));
}

TEST(ConfigurationLines, of_a_key_that_is_given_twice_the_last_one_counts) {
  EXPECT_THAT(bad_in("{\"a\": \"bad\",\n\"a\": \"bad\"}"), ElementsAre("2 a [\"a\": \"bad\"}]"));
  EXPECT_THAT(bad_in("{\"a\": {\"x\": \"bad\"},\n\"a\": 5}"), IsEmpty());
  EXPECT_THAT(bad_in("{\"a\": 5,\n\"a\": {\"x\":\n\"bad\"}}"), ElementsAre("3 a.x [\"bad\"}}]"));
  EXPECT_THAT(bad_in("{\"a\": [1, [2], {\"x\": 3}],\n\"a\": [[\"bad\"]]}"),
              ElementsAre("2 a[0][0] [\"a\": [[\"bad\"]]}]"));
  EXPECT_THAT(bad_in("{\"a\": {\"x\": [\"bad\"]},\n\"a\": {\"x\":\n[\"bad\"]}}"),
              ElementsAre("3 a.x[0] [[\"bad\"]}}]"));
}

TEST(ConfigurationLines, nested_arrays_and_objects_are_counted_through) {
  EXPECT_THAT(
      bad_in("[[], {}, [[\n[\"bad\"]],\n{\"a\": [\n{}, {\"b\": \"bad\"}]}]]"),
      ElementsAre("2 [2][0][0][0] [[\"bad\"]],]", "4 [2][1].a[1].b [{}, {\"b\": \"bad\"}]}]]]"));
}

TEST(ConfigurationLines, keys_with_points_and_brackets_are_distinguished) {
  EXPECT_THAT(bad_in("{\"a\": {\"b\":\n\"bad\"},\n\"a.b\":\n\"bad\"}"),
              ElementsAre("2 a.b [\"bad\"},]", "4 a.b [\"bad\"}]"));
  EXPECT_THAT(bad_in("{\"train.x\": {\n\"y[0]\": {\n\"bad\": 1}}}"),
              ElementsAre("warning 3 train.x.y[0] [\"bad\": 1}}}]"));
  EXPECT_THAT(bad_in("{\"\\u0061\\n\":\n\"bad\"}"), ElementsAre("2 a\n [\"bad\"}]"));
}

TEST(ConfigurationLines, a_member_that_is_missing_has_the_line_of_its_object) {
  const ConfigurationDocument document("[\n1,\n{\"a\":\n1}]", "test");
  ConfigurationReport report("test");
  const ConfigurationValue root = document.root(report);
  root.item(1).member("name").refuse("a name", "missing");
  root.item(1).member("b").member("c").refuse("a name", "missing");
  report.error("[1].name", "is missing");
  report.error({}, "is no object");
  std::vector<std::int64_t> lines;
  for (const ConfigurationMistake& mistake : report.errors()) lines.push_back(mistake.line);
  EXPECT_THAT(lines, ElementsAre(3, 3, 3, 1));
}

TEST(ConfigurationLines, a_report_without_a_document_has_no_lines) {
  ConfigurationReport report("test");
  report.error("a", "is wrong");
  EXPECT_EQ(report.errors().at(0).line, 0);
  EXPECT_EQ(report.errors().at(0).to_text(), "a: is wrong");
}

TEST(ConfigurationLines, text_that_is_no_json_is_a_mistake_with_its_line) {
  try {
    const ConfigurationDocument document("{\n  \"a\": 1,,\n}", "hook.json");
    FAIL();
  } catch (const ConfigurationSyntaxError& error) {
    EXPECT_THAT(error.what(), StartsWith("hook.json: this is no JSON: line 2, column 10: "));
    EXPECT_EQ(error.mistake().line, 2);
    EXPECT_EQ(error.mistake().source_line, "\"a\": 1,,");
    EXPECT_THAT(error.mistake().message, StartsWith("this is no JSON: column 10: "));
  }
  const std::string deep = "[\"[[\\\"\",\n" + std::string(64, '[');
  try {
    const ConfigurationDocument document(deep, "hook.json");
    FAIL();
  } catch (const ConfigurationSyntaxError& error) {
    EXPECT_STREQ(error.what(), "hook.json: a configuration nests at most 64 deep");
    EXPECT_EQ(error.mistake().line, 2);
  }
}

TEST(ConfigurationLines, the_mistakes_that_are_kept_are_bounded) {
  std::string text = "[\"bad\"";
  for (int i = 1; i < 300; ++i) text += ",\n\"bad\"";
  text += "]";
  const ConfigurationDocument document(text, "test");
  ConfigurationReport report("test");
  refuse_bad(document.root(report));
  EXPECT_EQ(report.errors().size(), 200U);
  EXPECT_EQ(report.errors().back().line, 200);
  EXPECT_EQ(report.error_count(), 300U);
  EXPECT_EQ(report.warning_count(), 0U);
}

TEST(ConfigurationLines, a_long_line_is_cut_and_a_large_text_is_searched) {
  const std::string text = "[" + std::string(2'000'000, ' ') + "\n\"bad\"," +
                           std::string(300, ' ') + "1" + std::string(300, ' ') + ", \"x\"]";
  const std::vector<std::string> found = bad_in(text);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], StartsWith("2 [0] [\"bad\",   "));
  EXPECT_THAT(found[0], HasSubstr("   ...]"));
  EXPECT_LT(found[0].size(), 250U);
  // Keys of points only are looked for in vain, and not for ever.
  ConfigurationReport report("test");
  const ConfigurationDocument hostile("{\".\": 1}", "test");
  static_cast<void>(hostile.root(report));
  report.error(std::string(100'000, '.'), "is wrong");
  EXPECT_EQ(report.errors().at(0).line, 1);
}

}  // namespace
}  // namespace cupel
