// A file of the run by which whoever runs training asks rules to end.

#include <gmock/gmock.h>

#include <chrono>
#include <span>
#include <string>

#include "../../rules/src/stop_signal.h"
#include "core/log_capture.h"
#include "cupel/trial/run_follower.h"
#include "rules/runner_results.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using namespace rules_detail;
using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* kFile = "stop_signal";

class StopSignalTest : public ::testing::Test {
 protected:
  StopSignalTest() {
    environment_.set("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE", kFile);
    environment_.unset("rule_stop_grace_time_secs");
  }
  void write(const std::string& text) const { write_to(kFile, text); }
  void write_to(const std::string& key, const std::string& text) const {
    run_.store->put(key, std::as_bytes(std::span(text)), Durability::Cached);
  }
  // So many seconds after 1970.
  bool expired_at(int second) const {
    return StopSignal().expired(RunFollower(trial_),
                                std::chrono::system_clock::time_point(1s * second));
  }
  static std::string now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(since).count());
  }
  // Judges the run, which does not end.
  Lines judged() {
    RuleRunner runner(trial_, {.idle_timeout = 200ms, .tick_interval = 1ms});
    runner.add(never(trial_));
    Lines lines;
    runner.run([&](const VerdictLine& line) { lines.push_back(line.message); });
    return lines;
  }

  EnvironmentGuard environment_;
  LogCapture log_;
  LossRun run_{{0, 1}};
  Trial trial_ = run_.open();
};

TEST_F(StopSignalTest, that_is_not_there_has_not_expired) { EXPECT_FALSE(expired_at(1'000'000)); }

TEST_F(StopSignalTest, expires_a_minute_after_the_second_that_it_holds) {
  write(" 1000\n");
  EXPECT_FALSE(expired_at(0));
  EXPECT_FALSE(expired_at(1060));
  EXPECT_TRUE(expired_at(1061));
}

TEST_F(StopSignalTest, expires_after_the_time_that_the_environment_gives) {
  environment_.set("rule_stop_grace_time_secs", "5");
  write("1000.5");
  EXPECT_FALSE(expired_at(1005));
  EXPECT_TRUE(expired_at(1006));
}

TEST_F(StopSignalTest, without_a_second_in_it_has_expired) {
  for (const char* text : {"", "\n", "soon", "1000 2000", "0x10", "nan", "inf", "1e999"}) {
    write(text);
    EXPECT_TRUE(expired_at(0)) << text;
  }
}

TEST_F(StopSignalTest, a_time_that_is_none_is_warned_of_and_is_a_minute) {
  for (const char* text : {"", "-1", "long", "nan", "1e300"}) {
    environment_.set("rule_stop_grace_time_secs", text);
    write("1000");
    EXPECT_FALSE(expired_at(1060)) << text;
    EXPECT_TRUE(expired_at(1061)) << text;
    EXPECT_THAT(log_.lines(), Contains(Pair(LogLevel::Warning, HasSubstr("grace_time"))));
  }
}

TEST_F(StopSignalTest, that_nobody_names_is_not_looked_at) {
  for (const bool empty : {true, false}) {
    empty ? environment_.set("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE", "")
          : environment_.unset("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE");
    write("0");
    EXPECT_FALSE(expired_at(1'000'000));
  }
}

TEST_F(StopSignalTest, ends_a_runner_whose_rules_are_then_stopped) {
  write("0");
  EXPECT_THAT(judged(), ElementsAre("stopped before the run ended"));
}

TEST_F(StopSignalTest, within_its_grace_and_in_the_future_lets_a_runner_go_on) {
  for (const std::string& text : {now(), std::string("1e12")}) {
    write(text);
    EXPECT_THAT(judged(), ElementsAre("no new step for 200 ms")) << text;
  }
}

TEST_F(StopSignalTest, that_comes_while_a_runner_waits_ends_it) {
  RuleRunner runner(trial_, {.tick_interval = 1ms});
  runner.add(at(trial_, 1));
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (!line.final_line) write("0");
  });
  EXPECT_THAT(result.lines, ElementsAre("1 At IssuesFound", "end At IssuesFound"));
  EXPECT_EQ(result.summary.rules[0].message, "stopped before the run ended");
}

TEST_F(StopSignalTest, whose_name_no_file_of_a_run_can_have_is_not_there) {
  for (const char* name : {"../stop_signal", "/stop_signal", "a//b", "."}) {
    environment_.set("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE", name);
    EXPECT_FALSE(expired_at(1'000'000)) << name;
    EXPECT_THAT(judged(), ElementsAre("no new step for 200 ms")) << name;
  }
}

}  // namespace
}  // namespace cupel::testing
