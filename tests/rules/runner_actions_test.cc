// What a runner does about incidents. Actions of one kind are tested with the queue that carries
// them out.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Clock = std::chrono::steady_clock;

struct Killed : std::runtime_error {
  Killed() : runtime_error("killed") {}
};

// Judges by a text: at step n its nth letter says what comes: f(ires), s(ilent), n(ot applicable),
// m(issing: skipped). Behind the text it is silent.
std::unique_ptr<Rule> spelled(Trial& trial, std::string text, std::string name = "Rule") {
  return written(
      trial,
      [text = std::move(text)](Trial&, std::int64_t step) {
        Verdict verdict;
        switch (step < static_cast<std::int64_t>(text.size()) ? text[static_cast<std::size_t>(step)]
                                                              : 's') {
          case 'f':
            return fired();
          case 'n':
            verdict.not_applicable("nothing to judge");
            return verdict;
          case 'm':
            throw TensorUnavailableForStep("loss", step, Mode::Train, false);
          default:
            return verdict;
        }
      },
      std::move(name));
}

// Fires when the run has ended.
class AtEnd : public WrittenRule {
 public:
  explicit AtEnd(Trial& trial)
      : WrittenRule(
            trial, [](Trial&, std::int64_t) { return Verdict(); }, "AtEnd") {}
  Verdict on_end() override { return fired(); }
};

class RunnerActionsTest : public ::testing::Test {
 protected:
  std::string file(std::string_view name) const { return (scratch_ / name).string(); }
  std::string content(std::string_view name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Appends "word incident" to the file `done`.
  Action note(const std::string& word = "noted", const std::string& before = "") const {
    return {.kind = Action::Kind::Exec,
            .target = before + "echo \"" + word + " $CUPEL_INCIDENT\" >> " + file("done")};
  }
  // What was done, without the run's id and in the order of names.
  Lines done() const {
    Lines lines;
    std::istringstream text(content("done"));
    for (std::string line; std::getline(text, line);) {
      const std::size_t blank = line.find(' ');
      lines.push_back(line.substr(0, blank) + line.substr(line.find('/')));
    }
    std::ranges::sort(lines);
    return lines;
  }
  RunnerOptions options(std::string_view out = "lines") const {
    return {.out = out.empty() ? "" : file(out), .tick_interval = 1ms};
  }
  // Judges a finished run by one rule, spelled, with one command.
  Lines judge_spelled(const std::string& text) {
    LossRun run(static_cast<std::int64_t>(text.size()));
    run.writer.finish();
    Trial trial = run.open();
    RunnerOptions more = options();
    more.actions = {note()};
    RuleRunner runner(trial, more);
    runner.add(spelled(trial, text));
    run_all(runner);
    return done();
  }
  void await(std::string_view name) const {
    const auto patience = Clock::now() + 30s;
    while (!std::filesystem::exists(file(name)) && Clock::now() < patience)
      std::this_thread::yield();
  }
  // The lines of actions: "step name: action outcome".
  static Lines told(const std::vector<VerdictLine>& lines) {
    Lines texts;
    for (const VerdictLine& line : lines)
      if (line.action)
        texts.push_back(std::to_string(line.step.value_or(-1)) + " " + line.name + ": " +
                        line.action->action.substr(0, 4) + " " +
                        std::string(to_string(line.action->result)));
    return texts;
  }

  ScratchDirectory scratch_;
};

TEST_F(RunnerActionsTest, an_incident_begins_where_a_rule_fires_that_was_silent_before) {
  EXPECT_THAT(judge_spelled("sffsff"), ElementsAre("noted/Rule/1/0", "noted/Rule/4/0"));
}

TEST_F(RunnerActionsTest, a_step_at_which_a_rule_could_not_look_ends_no_incident) {
  EXPECT_THAT(judge_spelled("fnfmfsnf"), ElementsAre("noted/Rule/0/0", "noted/Rule/7/0"));
}

TEST_F(RunnerActionsTest, a_step_of_another_mode_ends_no_incident) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  for (std::int64_t step = 0; step < 6; ++step)
    writer.save({step, step % 2 == 0 ? Mode::Train : Mode::Eval, step / 2}, {scalar("loss", 1)});
  writer.finish();
  Trial trial = run.open();
  RunnerOptions more = options();
  more.actions = {note()};
  RuleRunner runner(trial, more);
  runner.add(spelled(trial, "fsfsfs"));
  run_all(runner);
  EXPECT_THAT(done(), ElementsAre("noted/Rule/0/0"));
}

TEST_F(RunnerActionsTest, each_action_is_told_in_a_line_of_the_step_that_fired) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RunnerOptions more = options();
  more.actions = {note(), {.kind = Action::Kind::Exec, .target = "exit 0"}};
  RuleRunner runner(trial, more);
  runner.add(at(trial, 1));
  const Result result = run_all(runner);
  EXPECT_THAT(told(result.verdicts), ElementsAre("1 At: exec done", "1 At: exec done"));
  EXPECT_EQ(result.lines.back(), "end At IssuesFound");
}

TEST_F(RunnerActionsTest, a_rule_s_own_actions_come_before_the_runner_s) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RunnerOptions more = options();
  more.actions = {note("runner")};
  RuleRunner runner(trial, more);
  runner.add(always(trial, "Own"), {.actions = {note("own")}});
  runner.add(always(trial, "Bare"));
  run_all(runner);
  EXPECT_THAT(done(), ElementsAre("own/Own/0/0", "runner/Bare/0/0", "runner/Own/0/1"));
}

TEST_F(RunnerActionsTest, a_rule_that_stops_training_writes_its_request) {
  LocalStore store(file("run"));
  WorkerWriter writer(store);
  writer.save(0, {scalar("loss", 1)});
  const auto trial = create_trial(file("run"));
  RuleRunner runner(*trial, options());
  runner.add("StalledTrainingRule", {{"threshold", "1"}, {"stop_training_on_fire", "True"}});
  const Result result = run_all(runner);
  EXPECT_THAT(told(result.verdicts), ElementsAre("0 StalledTrainingRule: stop done"));
  EXPECT_THAT(content("run/stop_training"), HasSubstr("StalledTrainingRule"));
}

TEST_F(RunnerActionsTest, a_dry_run_tells_what_would_be_done) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RunnerOptions more = options();
  more.actions = {note()};
  more.dry_run = true;
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  EXPECT_THAT(told(run_all(runner).verdicts), ElementsAre("0 Always: exec planned"));
  EXPECT_THAT(done(), IsEmpty());
}

TEST_F(RunnerActionsTest, what_became_of_an_action_is_told_while_the_run_goes_on) {
  for (const char* out : {"", "lines"}) {
    LossRun run({0, 1});
    Trial trial = run.open();
    RunnerOptions more = options(out);
    more.actions = {note()};
    RuleRunner runner(trial, more);
    runner.add(at(trial, 1));
    const Result result = run_all(runner, [&](const VerdictLine& line) {
      if (line.action) run.writer.save_steps({2}).finish();
    });
    EXPECT_THAT(told(result.verdicts), SizeIs(1));
    EXPECT_EQ(result.summary.rules[0].steps_evaluated, 3);
  }
}

TEST_F(RunnerActionsTest, a_runner_does_not_wait_for_an_action_before_it_judges_on) {
  LossRun run({0});
  Trial trial = run.open();
  RunnerOptions more = options();
  // Ends when the second step was judged.
  more.actions = {note("noted", "until [ -e " + file("go") + " ]; do sleep 0.01; done; ")};
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (line.step == 0 && !line.action) run.writer.save_steps({1}).finish();
    if (line.step == 1) std::ofstream(file("go")) << "go";
  });
  EXPECT_THAT(result.lines, ElementsAre("0 Always IssuesFound", "1 Always IssuesFound",
                                        "0 Always Action", "end Always IssuesFound"));
}

TEST_F(RunnerActionsTest, without_waiting_for_steps_it_waits_for_what_was_begun) {
  LossRun run({0});
  Trial trial = run.open();
  RunnerOptions more = options();
  more.wait = false;
  more.actions = {note("noted", "sleep 0.1; ")};
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  EXPECT_THAT(told(run_all(runner).verdicts), ElementsAre("0 Always: exec done"));
}

TEST_F(RunnerActionsTest, a_stop_waits_for_them_a_few_seconds_only) {
  LossRun run({0});
  Trial trial = run.open();
  RunnerOptions more = options();
  more.actions = {{.kind = Action::Kind::Exec, .target = "exec sleep 1000"}};
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  const auto begin = Clock::now();
  const Result result = run_all(runner, [&](const VerdictLine&) { runner.stop(); });
  EXPECT_THAT(told(result.verdicts), ElementsAre("0 Always: exec failed"));
  EXPECT_LT(Clock::now() - begin, 60s);
}

TEST_F(RunnerActionsTest, incidents_go_on_being_called_as_the_runner_before_called_them) {
  LossRun run({0});
  RunnerOptions more = options();
  more.wait = false;
  more.actions = {note()};
  const auto judge = [&] {
    Trial trial = run.open();
    RuleRunner runner(trial, more);
    runner.add(spelled(trial, "sf"));
    run_all(runner);
  };
  judge();
  // Workers that begin together may each name the run; by now they have agreed.
  nlohmann::json state = nlohmann::json::parse(content("lines.state"));
  state["runs"].insert(state["runs"].begin(), "named_first");
  std::ofstream(file("lines.state")) << state.dump();
  run.writer.save_steps({1}).finish();
  judge();
  EXPECT_EQ(content("done"), "noted named_first/Rule/1/0\n");
}

TEST_F(RunnerActionsTest, what_a_stop_leaves_undone_is_the_next_runner_s) {
  LossRun run({0});
  RunnerOptions more = options();
  more.actions = {note("first", "exec sleep 1000; "), note("second")};
  {
    Trial trial = run.open();
    RuleRunner runner(trial, more);
    runner.add(always(trial));
    const Result result = run_all(runner, [&](const VerdictLine&) { runner.stop(); });
    EXPECT_THAT(told(result.verdicts), ElementsAre("0 Always: exec failed"));
    EXPECT_THAT(done(), IsEmpty());
  }
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  EXPECT_THAT(told(run_all(runner).verdicts), ElementsAre("0 Always: exec done"));
  EXPECT_THAT(done(), ElementsAre("second/Always/0/1"));
}

TEST_F(RunnerActionsTest, a_stop_lets_what_is_nearly_done_come_to_its_end) {
  LossRun run({0});
  Trial trial = run.open();
  RunnerOptions more = options();
  more.actions = {note("noted", "sleep 0.1; ")};
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  const Result result = run_all(runner, [&](const VerdictLine&) { runner.stop(); });
  EXPECT_THAT(told(result.verdicts), ElementsAre("0 Always: exec done"));
}

TEST_F(RunnerActionsTest, without_files_everything_is_done_all_the_same) {
  LossRun run(100);
  run.writer.finish();
  Trial trial = run.open();
  RunnerOptions more = options("");
  more.actions = {note()};
  RuleRunner runner(trial, more);
  runner.add(at(trial, 3));
  runner.add(at(trial, 99), {.name = "Last"});
  EXPECT_THAT(told(run_all(runner).verdicts),
              UnorderedElementsAre("3 At: exec done", "99 Last: exec done"));
  EXPECT_THAT(done(), ElementsAre("noted/At/3/0", "noted/Last/99/0"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1);
}

TEST_F(RunnerActionsTest, a_rule_that_fires_when_the_run_has_ended_has_its_action_once) {
  LossRun run({0, 1});
  run.writer.finish();
  for (int i = 0; i < 2; ++i) {
    Trial trial = run.open();
    RunnerOptions more = options();
    more.actions = {note()};
    RuleRunner runner(trial, more);
    runner.add(std::make_unique<AtEnd>(trial));
    EXPECT_THAT(told(run_all(runner).verdicts), ElementsAre("1 AtEnd: exec done"));
    EXPECT_THAT(done(), ElementsAre("noted/AtEnd/1/0"));
  }
}

TEST_F(RunnerActionsTest, the_next_runner_takes_over_what_was_not_told) {
  LossRun run({0});
  RunnerOptions more = options();
  more.actions = {note("first", "touch " + file("begun") + "; sleep 1000; "), note("second")};
  {
    Trial trial = run.open();
    RuleRunner runner(trial, more);
    runner.add(spelled(trial, "fsf"));
    bool fires = false;
    const auto say = [&](const VerdictLine& line) {
      if (line.step == 2) throw Killed();
      fires = true;
    };
    // When nothing more is to be said, actions have begun.
    const auto pause = [&] {
      if (!std::exchange(fires, false)) return;
      await("begun");
      run.writer.save_steps({1, 2}).finish();
    };
    EXPECT_THROW(runner.run(say, pause), Killed);
  }
  std::filesystem::remove(file("begun"));
  Trial trial = run.open();
  RuleRunner runner(trial, more);
  runner.add(spelled(trial, "fs"));  // has nothing to say of step 2
  const Result result = run_all(runner);
  EXPECT_THAT(told(result.verdicts), ElementsAre("0 Rule: exec failed", "0 Rule: exec done"));
  EXPECT_THAT(done(), ElementsAre("second/Rule/0/1"));
  EXPECT_FALSE(std::filesystem::exists(file("begun"))) << "the first is not begun again";
}

TEST_F(RunnerActionsTest, more_than_can_wait_are_refused_and_told) {
  LossRun run({0});
  Trial trial = run.open();
  RunnerOptions more = options("");
  more.actions = {{.kind = Action::Kind::Exec,
                   .target = "until [ -e " + file("go") + " ]; do sleep 0.01; done"}};
  more.actions.resize(400, Action{.kind = Action::Kind::Exec, .target = "exit 0"});
  RuleRunner runner(trial, more);
  runner.add(always(trial));
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (!line.action || std::filesystem::exists(file("go"))) return;
    EXPECT_THAT(line.message, HasSubstr("was refused"));
    std::ofstream(file("go")) << "go";
    run.writer.finish();
  });
  const Lines texts = told(result.verdicts);
  EXPECT_THAT(texts, SizeIs(400));
  // The first waits no longer when it has begun.
  EXPECT_THAT(std::ranges::count(texts, "0 Always: exec failed"), AnyOf(143, 144));
}

TEST_F(RunnerActionsTest, runners_that_keep_different_files_do_their_own) {
  LossRun run({0});
  run.writer.finish();
  for (const char* out : {"one", "two"}) {
    Trial trial = run.open();
    RunnerOptions more = options(out);
    more.actions = {note(out)};
    RuleRunner runner(trial, more);
    runner.add(always(trial));
    run_all(runner);
  }
  EXPECT_THAT(done(), ElementsAre("one/Always/0/0", "two/Always/0/0"));
}

TEST_F(RunnerActionsTest, other_actions_go_on_from_the_state) {
  LossRun run({0});
  const auto judge = [&](std::vector<Action> actions) {
    Trial trial = run.open();
    RunnerOptions more = options();
    more.wait = false;
    more.actions = std::move(actions);
    RuleRunner runner(trial, more);
    runner.add(spelled(trial, "fsffsf"));
    return run_all(runner).summary.rules.at(0).steps_evaluated;
  };
  judge({note("one")});
  run.writer.save_steps({1, 2});
  EXPECT_EQ(judge({note("two"), note("three")}), 3);
  run.writer.save_steps({3, 4});
  judge({});
  run.writer.save_steps({5});
  judge({note("one")});
  EXPECT_THAT(done(),
              ElementsAre("one/Rule/0/0", "one/Rule/5/0", "three/Rule/2/1", "two/Rule/2/0"));
}

TEST_F(RunnerActionsTest, a_pending_action_is_done_if_it_is_still_configured) {
  const LogCapture log;
  LossRun run({0});
  RunnerOptions more = options();
  more.actions = {note("first", "exec sleep 1000; "), note("second"), note("third")};
  const auto judge = [&](bool stops) {
    Trial trial = run.open();
    RuleRunner runner(trial, more);
    runner.add(always(trial));
    run_all(runner, [&](const VerdictLine&) {
      if (stops) runner.stop();
    });
  };
  judge(true);
  EXPECT_THAT(done(), IsEmpty());
  run.writer.finish();
  more.actions = {note("new"), note("third")};
  judge(false);
  EXPECT_THAT(done(), ElementsAre("third/Always/0/2"));
  EXPECT_THAT(log.lines(),
              Contains(Pair(LogLevel::Warning,
                            AllOf(HasSubstr("left undone, because it is no longer configured"),
                                  HasSubstr("second")))));
}

}  // namespace
}  // namespace cupel::testing
