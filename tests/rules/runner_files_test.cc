// What a runner keeps in files, and how another goes on from it.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;
using Json = nlohmann::json;

struct KilledBesideFiles : std::runtime_error {
  KilledBesideFiles() : runtime_error("killed") {}
};

// Fires at every third step, and remembers how many it has judged.
class Counting : public Rule {
 public:
  using Rule::Rule;
  std::string rule_name() const override { return "Counting"; }
  Verdict invoke_at_step(std::int64_t step) override {
    ++judged_;
    return step % 3 == 0 ? fired("loss", static_cast<double>(judged_)) : Verdict();
  }

 private:
  int judged_ = 0;
};

// One that need not see again what it has judged; `once` is called once between steps, when the
// runner has looked at the run.
class Waiting : public Rule {
 public:
  Waiting(Trial& trial, std::function<void()> once) : Rule(trial), once_(std::move(once)) {}
  std::string rule_name() const override { return "Waiting"; }
  bool looks_back_by_itself() const override { return true; }
  Verdict invoke_at_step(std::int64_t /*step*/) override { return {}; }
  Verdict on_tick(std::chrono::steady_clock::time_point /*now*/) override {
    if (once_) std::exchange(once_, nullptr)();
    return {};
  }

 private:
  std::function<void()> once_;
};

class RunnerFiles : public ::testing::Test {
 protected:
  std::string out() const { return (scratch_ / "lines.jsonl").string(); }

  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void write(const std::string& suffix, const std::string& text) const {
    std::ofstream(out() + suffix) << text;
  }
  // The lines without their times.
  Lines lines() const {
    Lines lines;
    std::istringstream text(read(out()));
    for (std::string line; std::getline(text, line);) {
      Json json = Json::parse(line);
      json.erase("time");
      lines.push_back(json.dump());
    }
    return lines;
  }
  // How many lines tell a rule of a restart.
  std::int64_t rewound(const std::string& name) const {
    const Lines all = lines();
    return std::ranges::count_if(all, [&](const std::string& text) {
      const Json line = Json::parse(text);
      return line["name"] == name && line["status"] == "Rewound";
    });
  }
  Json status() const { return Json::parse(read(out() + ".status.json")); }

  // Judges the run by the same rules; the process dies at the nth line.
  RunSummary judge(const MemoryRun& run, int die_at = -1, const RunnerOptions& more = {}) {
    Trial trial = run.open();
    RunnerOptions options = more;
    options.out = out();
    RuleRunner runner(trial, options);
    runner.add("LossNotDecreasing", {{"num_steps", "1"}, {"tensor_regex", "loss"}});
    runner.add(std::make_unique<Counting>(trial));
    runner.add(never(trial));
    return runner.run([&](const VerdictLine&) {
      if (die_at-- == 0) throw KilledBesideFiles();
    });
  }

  ScratchDirectory scratch_;
  LogCapture log_;
};

TEST_F(RunnerFiles, hold_the_lines_that_are_said) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.out = out()});
  runner.add(always(trial));
  std::string said;
  runner.run([&](const VerdictLine& line) { said += to_json(line) + "\n"; });
  EXPECT_EQ(read(out()), said);
}

TEST_F(RunnerFiles, are_for_their_owner_alone_whatever_the_umask_is) {
  namespace fs = std::filesystem;
  LossRun run({0, 1});
  run.writer.finish();
  for (const mode_t mask : {0, 077}) {
    for (const char* const suffix : {"", ".state", ".status.json"}) fs::remove(out() + suffix);
    const mode_t before = ::umask(mask);
    judge(run);
    ::umask(before);
    for (const char* const suffix : {"", ".state", ".status.json"})
      EXPECT_EQ(static_cast<unsigned>(fs::status(out() + suffix).permissions()), 0600U) << suffix;
  }
}

TEST_F(RunnerFiles, a_planted_link_is_replaced_and_not_written_through) {
  namespace fs = std::filesystem;
  LossRun run({0, 1});
  run.writer.finish();
  write(".victim", "untouched");
  fs::create_symlink(out() + ".victim", out() + ".status.json");
  judge(run);
  EXPECT_EQ(read(out() + ".victim"), "untouched");
  EXPECT_FALSE(fs::is_symlink(out() + ".status.json"));
}

TEST_F(RunnerFiles, a_runner_killed_at_any_line_is_gone_on_from_without_a_difference) {
  LossRun run(100);
  run.writer.finish();
  judge(run);
  const Lines undisturbed = lines();
  ASSERT_EQ(undisturbed.size(), 99 + 34 + 3);
  for (int at = 0; at < static_cast<int>(undisturbed.size()); at += 5) {
    for (const char* suffix : {"", ".state", ".status.json"})
      std::filesystem::remove(out() + suffix);
    EXPECT_THROW(judge(run, at), KilledBesideFiles);
    const RunSummary summary = judge(run);
    EXPECT_EQ(lines(), undisturbed) << "killed at line " << at;
    EXPECT_EQ(summary.rules[1].steps_evaluated, 100);
    EXPECT_EQ(summary.rules[1].steps_fired, 34);
  }
}

TEST_F(RunnerFiles, many_kills_in_a_growing_run_make_no_difference) {
  LossRun finished(60);
  finished.writer.finish();
  judge(finished);
  Lines undisturbed = lines();
  for (const char* suffix : {"", ".state", ".status.json"}) std::filesystem::remove(out() + suffix);
  LossRun run;
  for (std::int64_t step = 0; step < 60; ++step) {
    run.writer.save_steps({step});
    if (step % 7 == 3) {
      EXPECT_THROW(judge(run, static_cast<int>(step) % 4, {.jobs = 2}), KilledBesideFiles);
    }
    if (step % 7 == 5) judge(run, -1, {.wait = false});
  }
  run.writer.finish();
  judge(run);
  EXPECT_EQ(lines(), undisturbed);
}

TEST_F(RunnerFiles, one_that_was_stopped_goes_on) {
  LossRun run({0, 1, 2});
  {
    Trial trial = run.open();
    RuleRunner runner(trial, {.out = out()});
    runner.add(always(trial));
    runner.run([&](const VerdictLine& line) {
      if (line.step == 1) runner.stop();
    });
  }
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("\"step\":0"), HasSubstr("\"step\":1"),
                                   HasSubstr("stopped before the run ended")));
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.out = out()});
  runner.add(always(trial));
  runner.run([](const VerdictLine&) {});
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("\"step\":0"), HasSubstr("\"step\":1"),
                                   HasSubstr("\"step\":2"), Not(HasSubstr("stopped"))));
}

TEST_F(RunnerFiles, one_over_an_ended_run_says_its_closing_lines_again) {
  LossRun run(7);
  run.writer.finish();
  const RunSummary first = judge(run);
  const Lines before = lines();
  const RunSummary second = judge(run);
  EXPECT_EQ(lines(), before);
  EXPECT_EQ(first.rules[0].steps_fired, second.rules[0].steps_fired);
}

TEST_F(RunnerFiles, a_rule_that_has_ended_stays_ended) {
  LossRun run({0, 1, 2});
  const auto judge_first = [&] {
    Trial trial = run.open();
    RuleRunner runner(trial, {.stop_at_first = true, .wait = false, .out = out()});
    runner.add(always(trial));
    runner.add(never(trial));
    return runner.run([](const VerdictLine&) {});
  };
  judge_first();
  run.writer.save_steps({3}).finish();
  EXPECT_EQ(judge_first().rules[0].steps_fired, 1);
  EXPECT_EQ(lines().size(), 3);
}

TEST_F(RunnerFiles, a_restart_of_training_between_two_runners_is_said) {
  LossRun run({0, 1, 2, 3});
  judge(run, -1, {.wait = false});
  run.worker({"worker_0", 1, 1}).save_steps({2, 3, 4}).finish();
  judge(run);
  const std::string all = read(out());
  EXPECT_THAT(all,
              HasSubstr("\"step\":2,\"mode\":\"TRAIN\",\"mode_step\":2,\"status\":\"Rewound\""));
  EXPECT_EQ(judge(run).rules[1].steps_evaluated, 5);
}

TEST_F(RunnerFiles, a_restart_of_training_is_said_that_the_next_runner_waited_for) {
  LossRun run({0, 1, 2, 3});
  const auto wait_for = [&](bool wait, const std::function<void()>& restart) {
    Trial trial = run.open();
    RuleRunner runner(trial, {.wait = wait, .out = out()});
    runner.add(std::make_unique<Waiting>(trial, restart));
    runner.run([](const VerdictLine&) {});
  };
  wait_for(false, {});
  auto second = run.worker({"worker_0", 1, 1});
  wait_for(true, [&] { second.save_steps({0, 1, 2, 3, 4}).finish(); });
  EXPECT_EQ(rewound("Waiting"), 1);
}

TEST_F(RunnerFiles, a_restart_of_training_is_said_though_a_rule_ended_long_before) {
  LossRun run({0, 1, 2, 3});
  const auto judge_two = [&] {
    Trial trial = run.open();
    RuleRunner runner(trial, {.wait = false, .out = out()});
    runner.add(always(trial), {.stop_at_first = true});
    runner.add(never(trial));
    runner.run([](const VerdictLine&) {});
  };
  judge_two();
  run.worker({"worker_0", 1, 1}).save_steps({2, 3}).finish();
  judge_two();
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("\"step\":0"),
                                   AllOf(HasSubstr("\"name\":\"Never\""), HasSubstr("Rewound")),
                                   HasSubstr("final"), HasSubstr("final")));
}

TEST_F(RunnerFiles, a_restart_that_one_rule_was_told_of_is_said_of_the_others_only) {
  LossRun run({0, 1, 2, 3});
  judge(run, -1, {.wait = false});
  run.worker({"worker_0", 1, 1}).save_steps({2, 3}).finish();
  judge(run, -1, {.wait = false});
  // As one leaves it that is killed between the lines of a step.
  Json state = Json::parse(read(out() + ".state"));
  state["rules"][2]["rewinds"] = 0;
  write(".state", state.dump());
  judge(run);
  for (const char* name : {"LossNotDecreasing", "Counting"}) EXPECT_EQ(rewound(name), 1) << name;
  EXPECT_EQ(rewound("Never"), 2);
}

TEST_F(RunnerFiles, are_refused_to_a_second_runner_at_the_same_time) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.out = out()});
  runner.add(always(trial));
  runner.run([&](const VerdictLine&) {
    EXPECT_THAT([&] { judge(run); },
                ThrowsMessage<UsageError>(HasSubstr("another runner is writing")));
  });
}

TEST_F(RunnerFiles, of_other_rules_are_refused_and_left_as_they_are) {
  LossRun run({0});
  judge(run, -1, {.wait = false});
  const Lines before = lines();
  Trial trial = run.open();
  const auto with = [&](const char* num_steps) {
    RuleRunner runner(trial, {.wait = false, .out = out()});
    runner.add("LossNotDecreasing", {{"num_steps", num_steps}, {"tensor_regex", "loss"}});
    runner.add(std::make_unique<Counting>(trial));
    runner.add(never(trial));
    runner.run([](const VerdictLine&) {});
  };
  EXPECT_THAT([&] { with("2"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("LossNotDecreasing before: num_steps=1, "
                                                        "now: num_steps=2; remove "),
                                              HasSubstr(out()))));
  EXPECT_EQ(lines(), before);
  EXPECT_NO_THROW(with("1"));
}

TEST_F(RunnerFiles, of_other_rules_are_refused_with_what_differs) {
  struct Given {
    std::string name;
    RuleParameters parameters = {};
    std::string rule = "R";
    std::string fingerprint = {};
  };
  LossRun run({0});
  const auto judge = [&](const std::vector<Given>& rules) -> std::string {
    Trial trial = run.open();
    RuleRunner runner(trial, {.wait = false, .out = out()});
    for (const Given& given : rules) {
      const RuleDefinition definition = {.name = given.rule, .fingerprint = given.fingerprint};
      runner.add(written(
                     trial, [](Trial&, std::int64_t) { return Verdict(); }, given.rule),
                 {.definition = std::make_shared<const RuleDefinition>(definition),
                  .name = given.name,
                  .parameters = given.parameters});
    }
    try {
      runner.run([](const VerdictLine&) {});
    } catch (const UsageError& error) {
      const std::string text = error.what();
      const std::string_view begin = "kept for other rules or parameters: ";
      const std::size_t at = text.find(begin) + begin.size();
      return text.substr(at, text.find("; remove ") - at);
    }
    return "";
  };
  const auto difference = [&](const std::vector<Given>& kept, const std::vector<Given>& given) {
    for (const char* suffix : {"", ".state", ".status.json"})
      std::filesystem::remove(out() + suffix);
    EXPECT_EQ(judge(kept), "");
    return judge(given);
  };
  const RuleParameters x1 = {{"x", "1"}};
  EXPECT_EQ(difference({{"a", x1}, {"b"}}, {{"a", x1}, {"b"}}), "");
  EXPECT_EQ(difference({{"a"}, {"b"}}, {{"b"}, {"c"}}), "a is not given now; c is new");
  EXPECT_EQ(difference({{"a"}, {"b"}}, {{"b"}, {"a"}}), "their order was a, b and is b, a");
  EXPECT_EQ(difference({{"a", {}, "R"}}, {{"a", {}, "S"}}), "a was R and is S");
  EXPECT_EQ(
      difference({{"a", {{"x", "1"}, {"y", "2"}}}}, {{"a", {{"y", "3"}, {"z", "4"}}}}),
      "a before: x=1, now: not given; a before: y=2, now: y=3; a before: not given, now: z=4");
  EXPECT_EQ(difference({{"a", {}, "R", "12"}}, {{"a", {}, "R", "34"}}),
            "the file of a was changed");
  // Version 0.1 kept actions behind the parameters.
  EXPECT_EQ(difference({{"a", x1}}, {{"a", x1}}), "");
  std::string state = read(out() + ".state");
  const std::string parameters = R"(x=1\n)";
  ASSERT_NE(state.find(parameters), std::string::npos) << state;
  state.insert(state.find(parameters) + parameters.size(), R"(stop\nexec:mail me\n)");
  write(".state", state);
  EXPECT_EQ(judge({{"a", x1}}), "");
}

TEST_F(RunnerFiles, of_the_first_version_are_gone_on_from) {
  LossRun run({0});
  judge(run, -1, {.wait = false});
  const std::string lines = read(out());
  Json state = Json::parse(read(out() + ".state"));
  state["version"] = 1;
  for (Json& rule : state["rules"]) {
    for (const char* key :
         {"has_judged", "incidents", "open_incidents", "steps_damaged", "first_damage"})
      ASSERT_EQ(rule.erase(key), 1U) << key;
    rule["firing"] = true;
  }
  write(".state", state.dump());
  judge(run, -1, {.wait = false});
  EXPECT_EQ(Json::parse(read(out() + ".state"))["version"], 2);
  EXPECT_THAT(read(out()), StartsWith(lines.substr(0, lines.find('\n'))));
}

TEST_F(RunnerFiles, of_another_run_are_refused) {
  LossRun run({0});
  judge(run, -1, {.wait = false});
  Json state = Json::parse(read(out() + ".state"));
  state["runs"] = {"another"};
  write(".state", state.dump());
  EXPECT_THAT([&] { judge(run); }, ThrowsMessage<UsageError>(HasSubstr("kept for another run")));
}

TEST_F(RunnerFiles, a_file_of_somebody_else_is_refused_and_left_as_it_is) {
  LossRun run({0});
  write("", "my notes\n");
  EXPECT_THAT([&] { judge(run); }, ThrowsMessage<UsageError>(HasSubstr("not this runner's")));
  EXPECT_EQ(read(out()), "my notes\n");
}

TEST_F(RunnerFiles, a_damaged_state_is_refused_wherever_it_is_damaged) {
  LossRun run({0, 1, 2});
  judge(run, -1, {.wait = false});
  const std::string lines_before = read(out());
  const std::string state = read(out() + ".state");
  for (std::size_t cut = 0; cut + 2 < state.size(); cut += 13) {
    write(".state", state.substr(0, cut));
    EXPECT_THROW(judge(run), FormatError) << cut;
  }
  for (const char* text :
       {"[]", "{}", "null", "{\"version\":2}", "{\"version\":1,\"runs\":7}",
        "{\"version\":1,\"runs\":[],\"bytes\":-1,\"rules\":[],\"pending\":[]}"}) {
    write(".state", text);
    EXPECT_THROW(judge(run), FormatError) << text;
  }
  EXPECT_EQ(read(out()), lines_before);
}

TEST_F(RunnerFiles, lines_that_somebody_removed_are_missed_aloud_and_no_other) {
  LossRun run({0, 1, 2, 3});
  judge(run, -1, {.wait = false});
  std::filesystem::resize_file(out(), 0);
  run.writer.save_steps({4, 5, 6}).finish();
  judge(run);
  EXPECT_THAT(log_.lines(), Contains(Pair(LogLevel::Warning, HasSubstr("has lost lines"))));
  EXPECT_THAT(lines().front(), HasSubstr("\"step\":4"));
}

TEST_F(RunnerFiles, the_status_says_how_the_rules_stand) {
  LossRun run({0, 1});
  Trial trial = run.open();
  RuleRunner runner(trial, {.out = out()});
  runner.add(at(trial, 1));
  runner.add(never(trial));
  Json while_it_ran;
  runner.run([](const VerdictLine&) {},
             [&] {
               if (std::filesystem::exists(out() + ".status.json")) while_it_ran = status();
               if (while_it_ran[0]["StatusDetails"] != "") run.writer.finish();
             });
  EXPECT_EQ(while_it_ran[0]["RuleEvaluationStatus"], "InProgress");
  EXPECT_EQ(while_it_ran[0]["StatusDetails"],
            "RuleEvaluationConditionMet: loss: value 1, threshold 0");
  const Json ended = status();
  ASSERT_EQ(ended.size(), 2);
  EXPECT_EQ(ended[0]["RuleConfigurationName"], "At");
  EXPECT_EQ(ended[0]["RuleEvaluationStatus"], "IssuesFound");
  EXPECT_EQ(ended[1]["RuleEvaluationStatus"], "NoIssuesFound");
  EXPECT_EQ(ended[1]["LastModifiedTime"].get<std::string>().size(), 24);
}

TEST_F(RunnerFiles, what_cannot_be_opened_is_said_before_any_line) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial, {.out = (scratch_ / "no" / "such").string()});
  runner.add(always(trial));
  bool said = false;
  EXPECT_THROW(runner.run([&](const VerdictLine&) { said = true; }), StoreError);
  EXPECT_FALSE(said);
}

}  // namespace
}  // namespace cupel::testing
