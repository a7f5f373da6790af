#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli_fixture.h"
#include "cupel/format/layout.h"

namespace cupel::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kNaNLoss = std::numeric_limits<double>::quiet_NaN();

/// Calls back whenever the text in it has grown by a line.
class LineBuffer : public std::stringbuf {
 public:
  explicit LineBuffer(std::function<void(const std::string&)> on_line)
      : on_line_(std::move(on_line)) {}
  int sync() override {
    on_line_(str());
    return 0;
  }

 private:
  std::function<void(const std::string&)> on_line_;
};

/// Watches with somebody reading every line as it is flushed.
Ran run_reading(
    const std::vector<std::string>& arguments, std::function<void(const std::string& out)> on_out,
    std::function<void(const std::string& err)> on_err = [](const auto&) {}) {
  LineBuffer out_buffer(std::move(on_out));
  LineBuffer err_buffer(std::move(on_err));
  std::ostream out(&out_buffer);
  std::ostream err(&err_buffer);
  const int code = run_cli(arguments, out, err);
  return {code, out_buffer.str(), err_buffer.str()};
}

/// A run whose steps hold "loss", which is NaN at some.
class WatchCommand : public CliTest {
 protected:
  void save(std::int64_t step, bool bad = false) {
    writer_.save(step, {scalar("loss", bad ? kNaNLoss : 1)});
  }
  std::vector<std::string> watch(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"watch", path(), "--rule", "ExplodingTensor"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::vector<Json> lines_of(std::string_view name) const {
    std::ifstream in(file(name));
    Ran ran;
    ran.out.assign(std::istreambuf_iterator<char>(in), {});
    return ran.json_lines();
  }

  WorkerWriter writer_{store_};
};

TEST_F(WatchCommand, a_healthy_run_ends_with_0) {
  save(0);
  save(1);
  writer_.finish();
  const Ran ran = run(watch());
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out,
            "RULE             STATUS         FIRST STEP  STEPS FIRED  EVALUATED  SKIPPED\n"
            "ExplodingTensor  NoIssuesFound           -            0          2        0\n");
  EXPECT_EQ(ran.err, "cupel watch: run found in " + path() + ": 2 steps so far, 1 rule\n");
}

TEST_F(WatchCommand, what_is_found_is_printed_and_ends_with_1) {
  save(0);
  save(1, true);
  save(2, true);
  writer_.finish();
  const Ran ran = run(watch());
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_EQ(ran.out,
            "step 1 TRAIN  ExplodingTensor  begins in 1 tensor, loss  nan 1, +inf 0, -inf 0, the "
            "first at element 0\n"
            "\n"
            "RULE             STATUS       FIRST STEP  STEPS FIRED  EVALUATED  SKIPPED\n"
            "ExplodingTensor  IssuesFound           1            2          3        0\n");
}

TEST_F(WatchCommand, json_lines_are_verdict_lines) {
  save(0, true);
  writer_.finish();
  const Ran ran = run(watch({"--json", "--rule", "exploding_tensor,only_nan=True"}));
  EXPECT_EQ(ran.code, kExitFound);
  const auto lines = ran.json_lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["name"], "ExplodingTensor");
  EXPECT_EQ(lines[0]["trial"], "run");
  EXPECT_EQ(lines[0]["tensors"][0]["value"], 1.0);
  EXPECT_EQ(lines[1]["name"], "ExplodingTensor#2");
  EXPECT_EQ(lines[1]["rule"], "ExplodingTensor");
  EXPECT_EQ(lines[2]["final"], true);
  EXPECT_EQ(lines[3]["first_step"], 0);
}

TEST_F(WatchCommand, a_rule_ends_at_its_first_firing_when_asked_to) {
  save(0, true);
  save(1, true);
  writer_.finish();
  EXPECT_EQ(run(watch({"--first", "--json"})).json_lines().size(), 2U);
}

TEST_F(WatchCommand, start_and_end_bound_what_is_judged) {
  for (std::int64_t step = 0; step < 6; ++step) save(step, true);
  writer_.finish();
  const auto lines = run(watch({"--start-step", "2", "--end-step", "4", "--json"})).json_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["step"], 2);
  EXPECT_EQ(lines[1]["step"], 3);
}

TEST_F(WatchCommand, explains_what_it_looked_at) {
  save(0);
  writer_.finish();
  EXPECT_THAT(run(watch({"--explain"})).out,
              StartsWith("step 0 TRAIN  ExplodingTensor  loss  read nan, inf (from raw): nan 0, "
                         "+inf 0, -inf 0, fine\n"));
  const Json line = run(watch({"--explain", "--json"})).json_lines().at(0);
  EXPECT_EQ(line["status"], "Explained");
  EXPECT_EQ(line["explain"][0]["tensor"], "loss");
}

TEST_F(WatchCommand, without_waiting_judges_what_is_there) {
  save(0, true);
  const Ran ran = run(watch({"--no-wait"}));
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, HasSubstr("EVALUATED"));
}

TEST_F(WatchCommand, goes_on_with_its_file_where_it_stopped) {
  const auto arguments = watch({"--out", file("lines")});
  save(0, true);
  save(1);
  bool raised = false;
  const Ran first = run_reading(arguments, [&](const std::string&) {
    if (!std::exchange(raised, true)) std::raise(SIGINT);
  });
  EXPECT_THAT(first.out, HasSubstr("stopped before the run ended"));
  save(2, true);
  writer_.finish();
  const Ran second = run(arguments);
  EXPECT_EQ(second.code, kExitFound);
  EXPECT_EQ(second.out,
            "step 2 TRAIN  ExplodingTensor  begins in 1 tensor, loss  nan 1, +inf 0, -inf 0, the "
            "first at element 0\n"
            "\n"
            "RULE             STATUS       FIRST STEP  STEPS FIRED  EVALUATED  SKIPPED\n"
            "ExplodingTensor  IssuesFound           0            2          3        0\n");
  const auto lines = lines_of("lines");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["step"], 0);
  EXPECT_EQ(lines[1]["step"], 2);
  EXPECT_EQ(lines[2]["final"], true);
}

TEST_F(WatchCommand, still_ends_with_1_when_what_was_found_was_said_before) {
  save(0, true);
  writer_.finish();
  const auto arguments = watch({"--out", file("lines")});
  run(arguments);
  const Ran again = run(arguments);
  EXPECT_EQ(again.code, kExitFound);
  EXPECT_THAT(again.out, StartsWith("RULE"));
}

TEST_F(WatchCommand, refuses_a_file_of_other_rules_and_says_what_differs_and_what_to_do) {
  save(0, true);
  writer_.finish();
  run(watch({"--out", file("lines")}));
  const Ran ran = run(watch({"--rule", "VanishingGradient", "--out", file("lines")}));
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("kept for other rules or parameters: VanishingGradient is new; "
                                 "remove "));
  EXPECT_EQ(lines_of("lines").size(), 2U);
}

TEST_F(WatchCommand, goes_on_with_other_actions) {
  save(0, true);
  run(watch({"--no-wait", "--out", file("lines")}));
  writer_.finish();
  const Ran ran = run(watch({"--action", "stop", "--out", file("lines")}));
  EXPECT_EQ(ran.code, kExitFound) << ran.err;
}

TEST_F(WatchCommand, a_damaged_value_is_an_error_that_the_closing_table_names) {
  writer_.save(0, {filled("w", 100, 1)});
  const std::uint64_t offset = writer_.last_location().offset;
  writer_.save(1, {filled("w", 100, 1)}).finish();
  flip_bit(store_, writer_.events_key(), offset);
  const Ran ran = run({"watch", path(), "--rule", "TensorVariance,tensor_regex=w,min_threshold=1"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.out, StartsWith("step 1 TRAIN  TensorVariance"));
  EXPECT_THAT(ran.out, HasSubstr("1 step with damaged values, the first at step 0: w: The file"));
}

TEST_F(WatchCommand, mistakes_in_actions_are_all_told_before_anything_is_judged) {
  save(0, true);
  const Ran ran = run(watch({"--action", "halt", "--action", "signal:1", "--action", "stop"}));
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("cupel watch: An action is stop, "));
  EXPECT_THAT(ran.err, HasSubstr("\ncupel watch: signal:PID needs"));
}

TEST_F(WatchCommand, carries_actions_out_and_tells_what_became_of_them) {
  save(0, true);
  writer_.finish();
  // There can be no such process.
  const Ran ran = run(watch({"--action", "stop", "--action", "signal:2147483647"}));
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, HasSubstr("\nstep 0 TRAIN  ExplodingTensor  stop: stop_training was "
                                 "written\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nstep 0 TRAIN  ExplodingTensor  signal:2147483647:TERM failed: "
                                 "there is no process 2147483647\n"));
  EXPECT_TRUE(std::filesystem::exists(path() + "/stop_training"));
}

TEST_F(WatchCommand, only_says_what_would_be_done_in_a_dry_run) {
  save(0, true);
  writer_.finish();
  const Ran ran = run(watch({"--action", "stop", "--dry-run", "--json"}));
  EXPECT_EQ(ran.code, kExitFound);
  const auto lines = ran.json_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1]["status"], "Action");
  EXPECT_EQ(lines[1]["outcome"], "planned");
  EXPECT_FALSE(std::filesystem::exists(path() + "/stop_training"));
}

TEST_F(WatchCommand, does_nothing_about_a_healthy_run) {
  save(0);
  writer_.finish();
  EXPECT_EQ(run(watch({"--action", "stop"})).code, kExitFine);
  EXPECT_FALSE(std::filesystem::exists(path() + "/stop_training"));
}

using WatchWorkers = CliTest;

TEST_F(WatchWorkers, waits_for_slow_ones_within_the_window_only) {
  WorkerWriter fast(store_, {.worker = "a", .num_workers = 2});
  WorkerWriter slow(store_, {.worker = "b", .num_workers = 2});
  for (std::int64_t step = 0; step < 9; ++step) fast.save(step, {scalar("loss", kNaNLoss)});
  const std::vector<std::string> watch = {"watch",           path(),      "--rule",
                                          "ExplodingTensor", "--no-wait", "--json"};
  EXPECT_EQ(run(watch).json_lines().size(), 1) << "the closing line";
  std::vector<std::string> windowed = watch;
  windowed.insert(windowed.end(), {"--wait-window", "4"});
  const std::vector<Json> lines = run(windowed).json_lines();
  ASSERT_EQ(lines.size(), 6 + 1);
  EXPECT_EQ(lines[0]["missing_workers"], Json::array({"b"}));
  windowed.back() = "0";
  EXPECT_EQ(run(windowed).code, kExitError);
}

TEST_F(WatchCommand, ends_after_a_silence) {
  save(0);
  const Ran ran = run(watch({"--idle-timeout", "0.02"}));
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, EndsWith("\n\nExplodingTensor: no new step for 20 ms\n"));
}

/// The run of WatchCommand with the lock that a hook holds.
class WatchInterrupted : public WatchCommand {
 protected:
  void hold() { lock_ = DirectoryLock::try_acquire(path(), lock_name("worker_0")); }
  void give_up() { lock_.reset(); }
  std::unique_ptr<DirectoryLock> lock_;
};

constexpr const char* kInterrupted =
    "cupel watch: the run is interrupted: it has not ended, and no process writes it any more";

TEST_F(WatchInterrupted, ends_at_once_when_it_is_asked_to_and_judges_what_was_committed) {
  hold();
  save(0);
  save(1, true);
  give_up();
  const Ran ran = run(watch({"--until-writer-gone"}));
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.err, EndsWith("\n" + std::string(kInterrupted) + "\n"));
  EXPECT_THAT(ran.out, EndsWith("ExplodingTensor  IssuesFound           1            1          2  "
                                "      0\n"));
}

TEST_F(WatchInterrupted, says_so_once_and_ends_after_a_silence) {
  hold();
  save(0);
  give_up();
  const Ran ran = run(watch({"--idle-timeout", "1.5"}));
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.err,
              EndsWith("\n" + std::string(kInterrupted) +
                       "; waiting for one that goes on (--until-writer-gone ends the watch "
                       "here)\n"));
  EXPECT_THAT(ran.out, HasSubstr("ExplodingTensor: no new step for 1500 ms\n"));
}

TEST_F(WatchInterrupted, follows_a_trainer_that_comes_back) {
  hold();
  save(0);
  give_up();
  const Ran ran = run_reading(
      watch({}), [](const auto&) {},
      [this](const std::string& err) {
        if (err.ends_with("the watch here)\n")) hold();
        if (!err.ends_with("a process writes the run again\n")) return;
        save(1, true);
        writer_.finish();
        give_up();
      });
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, StartsWith("step 1 TRAIN  ExplodingTensor"));
}

TEST_F(WatchInterrupted, a_run_that_is_written_or_has_no_locks_is_not_said_to_be) {
  save(0);
  EXPECT_THAT(run(watch({"--idle-timeout", "0.02", "--until-writer-gone"})).err,
              Not(HasSubstr("interrupted")));
  hold();
  EXPECT_THAT(run(watch({"--idle-timeout", "0.02", "--until-writer-gone"})).err,
              Not(HasSubstr("interrupted")));
}

TEST_F(WatchCommand, prints_each_line_while_the_run_goes_on) {
  save(0, true);
  std::int64_t saved = 0;
  const Ran ran = run_reading(watch({"--all"}), [&](const std::string& out) {
    // The next step is saved when the line of this one has been flushed.
    if (!out.ends_with("element 0\n")) return;
    ASSERT_THAT(out, HasSubstr("step " + std::to_string(saved) + " "));
    if (saved == 5) return writer_.finish();
    save(++saved, true);
  });
  EXPECT_EQ(saved, 5);
  EXPECT_EQ(ran.code, kExitFound);
}

TEST_F(WatchCommand, mistakes_in_rules_are_all_told_before_anything_is_judged) {
  save(0, true);
  const Ran ran = run(watch({"--rule", "Nothing", "--rule", "VanishingGradient,treshold=1"}));
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("cupel watch: unknown rule \"Nothing\""));
  EXPECT_THAT(ran.err, HasSubstr("\ncupel watch: VanishingGradient: unknown parameter "
                                 "\"treshold\"; did you mean threshold?"));
}

TEST_F(WatchCommand, impossible_options_are_errors) {
  for (const char* option : {"--jobs=0", "--idle-timeout=-1", "--start-step=-1", "--jobs=x"})
    EXPECT_EQ(run(watch({option})).code, kExitError) << option;
}

TEST_F(WatchCommand, damage_is_an_error_after_the_closing_table) {
  save(0, true);
  writer_.seal();
  save(1);
  writer_.finish();
  flip_bit(store_, writer_.index_key(), 900);
  const Ran ran = run(watch());
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.out, StartsWith("step 0 TRAIN  ExplodingTensor"));
  EXPECT_THAT(ran.out, HasSubstr("\nExplodingTensor  Error"));
  EXPECT_THAT(ran.out, Not(HasSubstr(writer_.index_key()))) << "it is said once";
  EXPECT_THAT(ran.err, HasSubstr(writer_.index_key()));
}

TEST_F(WatchCommand, errors_of_rules_are_below_the_closing_table_each_once) {
  save(0);
  writer_.finish();
  const std::string rule = file("broken.lua");
  std::ofstream(rule) << "return cupel.rule { name = 'Broken', invoke_at_step = function(self) "
                         "error('" +
                             std::string(150, 'x') + "') end }";
  const Ran ran = run(watch({"--rule", rule, "--rule", rule}));
  EXPECT_EQ(ran.code, kExitError);
  const std::size_t below = ran.out.find("\n\nBroken, Broken#2: ");
  ASSERT_NE(below, std::string::npos) << ran.out;
  EXPECT_THAT(ran.out.substr(below), HasSubstr(std::string(150, 'x')));
  std::istringstream table(ran.out.substr(0, below));
  for (std::string line; std::getline(table, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(WatchCommand, an_interrupt_stops_the_rules_and_the_closing_table_is_printed) {
  save(0, true);
  for (const int signal : {SIGINT, SIGTERM}) {
    bool raised = false;
    const Ran ran = run_reading(watch({"--rule", "VanishingGradient"}), [&](const std::string&) {
      if (!std::exchange(raised, true)) std::raise(signal);
    });
    EXPECT_EQ(ran.code, kExitInterrupted);
    EXPECT_THAT(ran.out, HasSubstr("\nVanishingGradient  Stopped"));
    EXPECT_THAT(ran.out, HasSubstr("\nExplodingTensor    IssuesFound"));
  }
}

TEST_F(CliTest, watch_waits_for_a_run_that_is_not_there_yet) {
  const std::vector<std::string> arguments = {"watch", path(), "--rule", "ExplodingTensor"};
  const Ran ran = run_reading(
      arguments, [](const auto&) {},
      [&](const std::string& err) {
        if (!err.ends_with("waiting for a run in " + path() + "\n")) return;
        WorkerWriter writer(store_);
        writer.save(0, {scalar("loss", kNaNLoss)}).finish();
      });
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, StartsWith("step 0 TRAIN  ExplodingTensor  begins in 1 tensor, loss"));
  EXPECT_THAT(ran.err, HasSubstr("waiting for a run in " + path() + "\ncupel watch: run found in " +
                                 path() + ": "));
}

TEST_F(CliTest, watch_names_the_runs_below_a_directory_that_is_none) {
  WorkerWriter(store_).save_steps({0});
  const Ran ran =
      run({"watch", scratch_.path(), "--rule", "ExplodingTensor", "--idle-timeout", "0.02"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("waiting for a run in " + scratch_.path() +
                                 "; below it are: " + path() + "\n"));
  EXPECT_THAT(ran.err,
              HasSubstr(scratch_.path() + " is not a run; below it are: " + path() + "; waited "));
}

TEST_F(CliTest, watch_does_not_wait_for_a_run_in_a_file) {
  scratch_.add_to_file("a_file", "text");
  const Ran ran = run({"watch", file("a_file"), "--rule", "ExplodingTensor"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("a_file is a file; a run is a directory"));
}

TEST_F(CliTest, watch_waits_for_a_run_no_longer_than_the_idle_timeout) {
  const Ran ran = run({"watch", path(), "--rule", "ExplodingTensor", "--idle-timeout", "0.02"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("waiting for a run in " + path()));
  EXPECT_THAT(ran.err, HasSubstr("for a hook to begin"));
}

TEST_F(CliTest, an_interrupt_ends_the_waiting_for_a_run) {
  const Ran ran = run_reading(
      {"watch", path(), "--rule", "ExplodingTensor"}, [](const auto&) {},
      [raised = false](const std::string&) mutable {
        if (!std::exchange(raised, true)) std::raise(SIGINT);
      });
  EXPECT_EQ(ran.code, kExitInterrupted);
  EXPECT_THAT(ran.err, HasSubstr("stopped before a run began"));
}

}  // namespace
}  // namespace cupel::testing
