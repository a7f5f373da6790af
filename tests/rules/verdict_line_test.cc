#include "cupel/rules/verdict_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/hostile_text.h"

namespace cupel {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

VerdictLine sample_line() {
  VerdictLine line;
  line.time = "2026-01-02T03:04:05.678Z";
  line.trial = "mnist";
  line.rule = "VanishingGradient";
  line.name = "vg";
  line.step = 120;
  line.mode = Mode::Train;
  line.mode_step = 60;
  line.tensors = {{"gradient/fc1", "worker_0", 3.1e-9, 1e-7, "abs_mean 3.1e-09 < 1e-07"}};
  line.message = "gradient/fc1: abs_mean 3.1e-09 < 1e-07";
  return line;
}

VerdictLine closing_line() {
  VerdictLine line = sample_line();
  line.tensors.clear();
  line.message.clear();
  line.final_line = true;
  line.first_step = 120;
  line.steps_evaluated = 13;
  line.steps_skipped = 2;
  return line;
}

TEST(VerdictLineJson, a_firing_has_the_documented_keys_in_order) {
  EXPECT_EQ(to_json(sample_line()),
            R"({"time":"2026-01-02T03:04:05.678Z","trial":"mnist","rule":"VanishingGradient",)"
            R"("name":"vg","step":120,"mode":"TRAIN","mode_step":60,"status":"IssuesFound",)"
            R"("tensors":[{"name":"gradient/fc1","worker":"worker_0","value":3.1e-09,)"
            R"("threshold":1e-07}],"message":"gradient/fc1: abs_mean 3.1e-09 < 1e-07"})");
}

TEST(VerdictLineJson, a_closing_line_counts_steps) {
  EXPECT_EQ(to_json(closing_line()),
            R"({"time":"2026-01-02T03:04:05.678Z","trial":"mnist","rule":"VanishingGradient",)"
            R"("name":"vg","step":120,"mode":"TRAIN","mode_step":60,"status":"IssuesFound",)"
            R"("tensors":[],"message":"","final":true,"first_step":120,"steps_evaluated":13,)"
            R"("steps_skipped":2})");
}

VerdictLine action_line(ActionOutcome outcome, std::string message) {
  VerdictLine line = sample_line();
  line.status = RuleStatus::Action;
  line.action = std::move(outcome);
  line.message = std::move(message);
  return line;
}

TEST(VerdictLineJson, what_became_of_an_action_has_the_documented_keys_in_order) {
  EXPECT_EQ(to_json(action_line({"exec:notify", ActionResult::Failed, 3}, "status 1")),
            R"({"time":"2026-01-02T03:04:05.678Z","trial":"mnist","rule":"VanishingGradient",)"
            R"("name":"vg","step":120,"mode":"TRAIN","mode_step":60,"status":"Action",)"
            R"("action":"exec:notify","outcome":"failed","attempts":3,"message":"status 1"})");
}

TEST(VerdictLineJson, a_rule_that_saw_no_step_closes_with_nulls) {
  VerdictLine line = closing_line();
  line.step.reset();
  line.first_step.reset();
  line.status = RuleStatus::NoIssuesFound;
  line.steps_evaluated = 0;
  line.steps_skipped = 0;
  EXPECT_EQ(to_json(line),
            R"({"time":"2026-01-02T03:04:05.678Z","trial":"mnist","rule":"VanishingGradient",)"
            R"("name":"vg","step":null,"mode":null,"mode_step":null,"status":"NoIssuesFound",)"
            R"("tensors":[],"message":"","final":true,"first_step":null,"steps_evaluated":0,)"
            R"("steps_skipped":0})");
}

TEST(VerdictLineJson, missing_workers_are_named_only_if_there_are_any) {
  VerdictLine line = sample_line();
  line.tensors.clear();
  line.message = "m";
  line.missing_workers = {"worker_1", "worker_2"};
  EXPECT_TRUE(to_json(line).ends_with(
      R"("tensors":[],"message":"m","missing_workers":["worker_1","worker_2"]})"))
      << to_json(line);
}

TEST(VerdictLineJson, that_nan_was_seen_is_said_only_if_it_was) {
  VerdictLine line = sample_line();
  EXPECT_EQ(to_json(line).find("nan_seen"), std::string::npos);
  line.tensors.clear();
  line.message = "m";
  line.nan_seen = true;
  line.missing_workers = {"worker_1"};
  EXPECT_TRUE(to_json(line).ends_with(
      R"("tensors":[],"message":"m","nan_seen":true,"missing_workers":["worker_1"]})"))
      << to_json(line);
}

TEST(VerdictLineText, an_explanation_says_that_nan_was_met) {
  VerdictLine line = sample_line();
  line.tensors.clear();
  line.status = RuleStatus::Explained;
  line.observations = {{"g", "worker_0", "abs_mean (saved)", "NaN < 1e-07", false}};
  line.nan_seen = true;
  EXPECT_TRUE(to_text(line).ends_with("fine\nstep 120 TRAIN  vg  NaN was met")) << to_text(line);
}

TEST(VerdictLineJson, numbers_that_json_lacks_are_strings) {
  VerdictLine line = sample_line();
  line.tensors = {{"a", "w", kNaN, kInfinity, ""}, {"b", "w", -kInfinity, 0, ""}};
  EXPECT_NE(to_json(line).find(R"({"name":"a","worker":"w","value":"NaN","threshold":"Infinity"},)"
                               R"({"name":"b","worker":"w","value":"-Infinity","threshold":0.0})"),
            std::string::npos)
      << to_json(line);
}

TEST(VerdictLineJson, is_written_as_a_library_writes_it) {
  VerdictLine line = closing_line();
  line.trial = "tab\tand \x01";
  line.missing_workers = {"\"quoted\"", "plain"};
  for (const double number :
       {0.0, -0.0, 1.0, -3.0, 0.1, 1e15, 1e16, 1e-5, 123456.75, 5e-324, 1.7e308})
    line.tensors.push_back({"back\\slash \xc3\xa9", "worker_0", number, -number, ""});
  const std::string text = to_json(line);
  EXPECT_EQ(nlohmann::ordered_json::parse(text).dump(), text);
}

TEST(VerdictLineJson, hostile_text_is_escaped_and_parses_as_itself) {
  VerdictLine line = sample_line();
  const std::string hostile = testing::hostile_text();
  line.trial = line.name = line.message = hostile;
  line.tensors = {{hostile, hostile, 1, 2, hostile}};
  line.missing_workers = {hostile};
  line.skips = {{hostile, hostile, hostile}};
  line.status = RuleStatus::Explained;
  EXPECT_THAT(testing::raw_in(to_json(line)), ::testing::IsEmpty());
  EXPECT_THAT(testing::raw_in(to_text(line)), ::testing::IsEmpty());
  const auto json = nlohmann::ordered_json::parse(to_json(line));
  EXPECT_EQ(json["name"], hostile);
  EXPECT_EQ(json["missing_workers"][0], hostile);
}

TEST(VerdictLineJson, any_name_is_escaped_and_bytes_that_are_not_utf8_are_replaced) {
  VerdictLine line = sample_line();
  line.tensors = {{"a\"\\\n\x01\xff\xc3\xa9", "w", 1, 2, ""}};
  const std::string json = to_json(line);
  EXPECT_NE(json.find("\"name\":\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\""), std::string::npos)
      << json;
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

TEST(VerdictLineJson, an_explanation_lists_what_was_read_and_what_was_skipped_by_tensor) {
  VerdictLine line = sample_line();
  line.status = RuleStatus::Explained;
  line.tensors.clear();
  line.message.clear();
  line.observations = {{"a", "worker_0", "abs_mean (saved)", "1 < 2", true},
                       {"c", "worker_0", "abs_mean (from raw)", "3 < 2", false}};
  line.skips = {{"b", "worker_0", "nothing saved"}};
  const std::string_view explained =
      R"j("status":"Explained","tensors":[],"message":"","explain":[)j"
      R"j({"tensor":"a","worker":"worker_0","read":"abs_mean (saved)","compared":"1 < 2",)j"
      R"j("fired":true},)j"
      R"j({"tensor":"b","worker":"worker_0","skipped":"nothing saved"},)j"
      R"j({"tensor":"c","worker":"worker_0","read":"abs_mean (from raw)","compared":"3 < 2",)j"
      R"j("fired":false}]})j";
  EXPECT_TRUE(to_json(line).ends_with(explained)) << to_json(line);
}

TEST(VerdictLineText, a_firing_is_a_line_per_finding) {
  VerdictLine line = sample_line();
  EXPECT_EQ(to_text(line), "step 120 TRAIN  vg  gradient/fc1  abs_mean 3.1e-09 < 1e-07");
  line.tensors.push_back({"gradient/fc2", "worker_0", 0, 1e-7, "abs_mean 0 < 1e-07"});
  EXPECT_EQ(to_text(line),
            "step 120 TRAIN  vg  gradient/fc1  abs_mean 3.1e-09 < 1e-07\n"
            "step 120 TRAIN  vg  gradient/fc2  abs_mean 0 < 1e-07");
}

TEST(VerdictLineText, workers_are_named_where_there_are_several) {
  VerdictLine line = sample_line();
  line.num_workers = 2;
  EXPECT_EQ(to_text(line), "step 120 TRAIN  vg  gradient/fc1 (worker_0)  abs_mean 3.1e-09 < 1e-07");
}

TEST(VerdictLineText, findings_that_are_not_listed_are_counted) {
  VerdictLine line = sample_line();
  line.findings_beyond = 7;
  EXPECT_TRUE(to_text(line).ends_with("\nstep 120 TRAIN  vg  and 7 more")) << to_text(line);
}

TEST(VerdictLineText, workers_that_were_missing_are_named) {
  VerdictLine line = sample_line();
  line.missing_workers = {"worker_1", "worker_3"};
  EXPECT_TRUE(to_text(line).ends_with("\nstep 120 TRAIN  vg  judged without worker_1, worker_3"))
      << to_text(line);
}

TEST(VerdictLineText, control_characters_in_a_name_are_shown_and_not_obeyed) {
  VerdictLine line = sample_line();
  line.tensors[0].tensor = "a\x1b[2J\nb\xc2\x9b";
  EXPECT_EQ(to_text(line), "step 120 TRAIN  vg  a\\x1b[2J\\x0ab\\x9b  abs_mean 3.1e-09 < 1e-07");
}

TEST(VerdictLineText, an_explanation_is_a_line_per_tensor) {
  VerdictLine line = sample_line();
  line.status = RuleStatus::Explained;
  line.tensors.clear();
  line.observations = {{"b", "worker_0", "abs_mean (saved)", "1 < 2", true}};
  line.skips = {{"a", "worker_0", "nothing saved"}};
  EXPECT_EQ(to_text(line),
            "step 120 TRAIN  vg  a  skipped: nothing saved\n"
            "step 120 TRAIN  vg  b  read abs_mean (saved): 1 < 2, fired");
  line.observations.clear();
  line.skips.clear();
  line.message = "not applicable: no gradients";
  EXPECT_EQ(to_text(line), "step 120 TRAIN  vg  Explained: not applicable: no gradients");
}

TEST(VerdictLineText, what_became_of_an_action_is_one_line) {
  EXPECT_EQ(to_text(action_line({"stop", ActionResult::Done, 1}, "stop_training was written")),
            "step 120 TRAIN  vg  stop: stop_training was written");
  EXPECT_EQ(to_text(action_line({"exec:a\x1b[2J\nb", ActionResult::Failed, 3}, "status\t1")),
            "step 120 TRAIN  vg  exec:a\\x1b[2J\\x0ab failed after 3 attempts: status\\x091");
  EXPECT_EQ(to_text(action_line({"log", ActionResult::Planned, 0}, "a warning would be logged")),
            "step 120 TRAIN  vg  log planned: a warning would be logged");
}

TEST(VerdictLineText, a_closing_line_says_the_status_and_counts) {
  EXPECT_EQ(to_text(closing_line()),
            "vg  IssuesFound, first at step 120, 13 steps evaluated, 2 with skips");
}

}  // namespace
}  // namespace cupel
