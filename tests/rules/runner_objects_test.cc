// What a runner keeps in a store where every write puts a whole object, and how another goes on
// from it.

#include <gmock/gmock.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "rules/runner_results.h"
#include "store/request_store.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Json = nlohmann::json;

struct KilledBesideObjects : std::runtime_error {
  KilledBesideObjects() : runtime_error("killed") {}
};

constexpr const char* kLines = "results/lines.jsonl";

class RunnerObjects : public ::testing::Test {
 protected:
  RunnerObjects() { environment_.set("XDG_STATE_HOME", scratch_.path()); }

  RunnerOptions options(milliseconds interval = milliseconds(0)) const {
    return {.out = kLines, .out_interval = interval, .out_store = store};
  }
  /// "" if there is no such object.
  std::string object(const std::string& suffix = "") const {
    const auto bytes = store->inner().get(kLines + suffix).value_or(std::vector<std::byte>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void put(const std::string& suffix, std::string_view text) const {
    store->inner().put(kLines + suffix, std::as_bytes(std::span(text)));
  }
  void remove_all() const {
    for (const char* suffix : {"", ".state", ".status.json"})
      store->inner().remove(kLines + std::string(suffix));
  }
  // The lines without their times.
  Lines lines() const {
    Lines lines;
    std::istringstream text(object());
    for (std::string line; std::getline(text, line);) {
      Json json = Json::parse(line);
      json.erase("time");
      lines.push_back(json.dump());
    }
    return lines;
  }
  // What the state tells of must be there: whole lines, and perhaps more behind them.
  void expect_agreement() const {
    const std::string state = object(".state");
    if (state.empty()) return;
    const auto told = Json::parse(state)["bytes"].get<std::size_t>();
    const std::string text = object();
    ASSERT_LE(told, text.size());
    EXPECT_TRUE(told == 0 || text[told - 1] == '\n');
  }

  // Judges the run by the same rules; the process dies at the nth line.
  RunSummary judge(const MemoryRun& run, milliseconds interval, int die_at = -1) {
    Trial trial = run.open();
    RuleRunner runner(trial, options(interval));
    runner.add(always(trial));
    runner.add(at(trial, 30));
    runner.add(never(trial));
    return runner.run([&](const VerdictLine&) {
      if (die_at-- == 0) throw KilledBesideObjects();
    });
  }

  std::shared_ptr<RequestStore> store = std::make_shared<RequestStore>();
  ScratchDirectory scratch_;
  EnvironmentGuard environment_;
  LogCapture log_;
};

TEST_F(RunnerObjects, hold_the_lines_that_are_said_and_how_the_rules_stand) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, options());
  runner.add(always(trial));
  std::string said;
  runner.run([&](const VerdictLine& line) { said += to_json(line) + "\n"; });
  EXPECT_EQ(object(), said);
  EXPECT_EQ(Json::parse(object(".status.json"))[0]["RuleEvaluationStatus"], "IssuesFound");
}

TEST_F(RunnerObjects, a_runner_killed_at_any_line_is_gone_on_from_without_a_difference) {
  LossRun run(60);
  run.writer.finish();
  judge(run, milliseconds(0));
  const Lines undisturbed = lines();
  ASSERT_EQ(undisturbed.size(), 60 + 1 + 3);
  for (const milliseconds interval : {milliseconds(0), milliseconds(hours(1))}) {
    for (int at = 0; at < static_cast<int>(undisturbed.size()); at += 3) {
      remove_all();
      EXPECT_THROW(judge(run, interval, at), KilledBesideObjects);
      expect_agreement();
      const RunSummary summary = judge(run, interval);
      EXPECT_EQ(lines(), undisturbed) << "killed at line " << at;
      EXPECT_EQ(summary.rules[0].steps_fired, 60);
    }
  }
}

TEST_F(RunnerObjects, agree_at_whatever_request_the_runner_dies) {
  LossRun run(60);
  run.writer.finish();
  judge(run, milliseconds(0));
  const Lines undisturbed = lines();
  for (int at = 0;; ++at) {
    remove_all();
    int puts = 0;
    store->before_request = [&](std::string_view kind, std::string_view key) {
      expect_agreement();
      if (kind == "PUT" && puts++ == at) throw StoreError(std::string(key), false, "killed");
    };
    bool died = false;
    try {
      judge(run, milliseconds(0));
    } catch (const StoreError&) {
      died = true;
    }
    store->before_request = [](std::string_view, std::string_view) {};
    if (!died) break;
    judge(run, milliseconds(0));
    EXPECT_EQ(lines(), undisturbed) << "died at put " << at;
  }
}

TEST_F(RunnerObjects, are_put_seldom_however_many_lines_there_are) {
  LossRun run(500);
  run.writer.finish();
  judge(run, hours(1));
  // State and status at the beginning; at the end lines and state, then the last lines and status.
  EXPECT_LE(store->requests().put, 8);
  EXPECT_EQ(lines().size(), 500 + 1 + 3);
}

TEST_F(RunnerObjects, are_put_when_it_is_time_though_nothing_follows) {
  LossRun run({0, 1, 2});
  std::mutex mutex;
  std::condition_variable changed;
  int puts_of_lines = 0;
  store->before_request = [&](std::string_view kind, std::string_view key) {
    const std::lock_guard lock(mutex);
    if (kind == "PUT" && key == kLines + std::string(".state")) ++puts_of_lines;
    changed.notify_all();
  };
  Trial trial = run.open();
  RuleRunner runner(trial, options(milliseconds(20)));
  runner.add(always(trial));
  std::jthread watching([&] { runner.run([](const VerdictLine&) {}); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return puts_of_lines >= 2; });
  }
  EXPECT_EQ(lines().size(), 3);
  runner.stop();
}

TEST_F(RunnerObjects, tell_of_an_action_before_it_is_begun) {
  LossRun run({0, 1, 2});
  const std::string note = (scratch_ / "note").string();
  bool was_early = false, was_told = false;
  store->before_request = [&](std::string_view kind, std::string_view) {
    if (kind != "PUT" || object(".state").empty()) return;
    const bool told = !Json::parse(object(".state"))["pending"].empty();
    was_early |= std::filesystem::exists(note) && !told && !was_told;
    was_told |= told;
  };
  Trial trial = run.open();
  RunnerOptions more = options(hours(1));
  more.actions = {{.kind = Action::Kind::Exec, .target = "echo done > " + note}};
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (line.action) run.writer.finish();
  });
  EXPECT_TRUE(std::filesystem::exists(note));
  EXPECT_TRUE(was_told);
  EXPECT_FALSE(was_early);
}

TEST_F(RunnerObjects, let_actions_be_carried_out_by_a_runner_of_another_machine) {
  LossRun run({0, 1, 2});
  const std::string note = (scratch_ / "note").string();
  const auto judge_at_three = [&] {
    Trial trial = run.open();
    RunnerOptions more = options();
    more.wait = false;
    more.actions = {{.kind = Action::Kind::Exec, .target = "echo done >> " + note}};
    RuleRunner runner(trial, more);
    runner.add(at(trial, 3));
    runner.run([](const VerdictLine&) {});
  };
  judge_at_three();
  EXPECT_FALSE(std::filesystem::exists(note));
  const ScratchDirectory there;
  environment_.set("XDG_STATE_HOME", there.path());
  run.writer.save_steps({3}).finish();
  judge_at_three();
  EXPECT_TRUE(std::filesystem::exists(note));
}

TEST_F(RunnerObjects, that_cannot_be_written_for_a_moment_are_written_later) {
  LossRun run({0, 1});
  int failures = 0;
  store->before_request = [&](std::string_view kind, std::string_view key) {
    if (kind != "PUT" || key != kLines || failures == 3) return;
    if (++failures == 3) run.writer.save_steps({2}).finish();
    throw StoreError(std::string(key), true, "503 Slow Down");
  };
  EXPECT_NO_THROW(judge(run, milliseconds(1)));
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(lines().size(), 3 + 3);
}

TEST_F(RunnerObjects, say_how_the_rules_stand_though_that_failed_once) {
  LossRun run({0, 1});
  int puts = 0;
  store->before_request = [&](std::string_view kind, std::string_view key) {
    if (kind != "PUT" || key != kLines + std::string(".status.json")) return;
    if (++puts == 2) throw StoreError(std::string(key), true, "503 Slow Down");
    if (puts != 3) return;
    EXPECT_EQ(object().find("final"), std::string::npos) << "only at the end";
    run.writer.finish();
  };
  Trial trial = run.open();
  RunnerOptions quick = options(milliseconds(1));
  quick.idle_timeout = std::chrono::seconds(10);
  RuleRunner runner(trial, quick);
  runner.add(always(trial));
  runner.run([](const VerdictLine&) {});
  EXPECT_GE(puts, 3);
}

TEST_F(RunnerObjects, that_cannot_be_written_at_the_end_are_an_error) {
  LossRun run({0, 1});
  run.writer.finish();
  store->before_request = [&](std::string_view kind, std::string_view key) {
    if (kind == "PUT" && key == kLines) throw StoreError(std::string(key), true, "503 Slow Down");
  };
  EXPECT_THROW(judge(run, hours(1)), StoreError);
}

TEST_F(RunnerObjects, of_somebody_else_are_not_written_to) {
  LossRun run({0});
  run.writer.finish();
  put("", "a line of another program\n");
  EXPECT_THAT([&] { judge(run, hours(1)); },
              ThrowsMessage<UsageError>(HasSubstr("is not this runner's to write")));
  EXPECT_EQ(object(), "a line of another program\n");
}

TEST_F(RunnerObjects, of_another_run_are_not_written_to) {
  LossRun run({0});
  run.writer.finish();
  judge(run, hours(1));
  std::string state = object(".state");
  state.replace(state.find("cafe"), 4, "beef");
  put(".state", state);
  EXPECT_THAT([&] { judge(run, hours(1)); },
              ThrowsMessage<UsageError>(HasSubstr("was kept for another run")));
}

TEST_F(RunnerObjects, with_a_damaged_state_are_an_error) {
  LossRun run({0});
  run.writer.finish();
  put(".state", "{");
  EXPECT_THROW(judge(run, hours(1)), FormatError);
}

TEST_F(RunnerObjects, belong_to_one_runner_of_a_machine_at_a_time) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, options());
  runner.add(always(trial));
  bool refused = false;
  runner.run([&](const VerdictLine&) {
    if (std::exchange(refused, true)) return;
    EXPECT_THAT([&] { judge(run, hours(1)); },
                ThrowsMessage<UsageError>(HasSubstr("another runner is writing")));
  });
  EXPECT_TRUE(refused);
}

TEST_F(RunnerObjects, are_taken_over_by_a_runner_of_another_machine) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, options());
  runner.add(always(trial));
  runner.add(at(trial, 30));
  runner.add(never(trial));
  const ScratchDirectory there;
  std::string taken_over;
  const auto take_over = [&](const VerdictLine&) {
    if (!taken_over.empty()) return;
    environment_.set("XDG_STATE_HOME", there.path());
    judge(run, milliseconds(0));
    taken_over = object();
  };
  EXPECT_THAT([&] { runner.run(take_over); },
              ThrowsMessage<UsageError>(HasSubstr("another runner, of another machine perhaps")));
  EXPECT_EQ(object(), taken_over);
  EXPECT_EQ(lines().size(), 3 + 3);
}

// The second state that is put arrives, and is said to have failed.
class ForgetfulStore : public StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;
  std::function<void()> before_failure;
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    StoreWrapper::put(key, bytes, durability);
    if (!key.ends_with(".state") || ++puts_ != 2) return;
    before_failure();
    throw StoreError(std::string(key), true, "the connection was reset");
  }

 private:
  int puts_ = 0;
};

TEST_F(RunnerObjects, whose_writing_was_not_confirmed_are_no_other_runners) {
  LossRun run({0, 1});
  const auto forgetful = std::make_shared<ForgetfulStore>(store);
  forgetful->before_failure = [&] { run.writer.save_steps({2}).finish(); };
  RunnerOptions more = options();
  more.out_store = forgetful;
  Trial trial = run.open();
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  runner.run([](const VerdictLine&) {});
  EXPECT_EQ(lines().size(), 3 + 1);
}

TEST_F(RunnerObjects, need_a_name) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  for (const char* out : {"s3://", "s3://bucket", "s3://bucket/"}) {
    RuleRunner runner(trial, {.out = out});
    runner.add(always(trial));
    EXPECT_THROW(runner.run([](const VerdictLine&) {}), UsageError) << out;
  }
}

}  // namespace
}  // namespace cupel::testing
