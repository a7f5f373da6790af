// What a runner does where a value that a rule reads is damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/log_capture.h"
#include "cupel/store/local_store.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct KilledRunner : std::runtime_error {
  KilledRunner() : runtime_error("killed") {}
};

// Steps with the values "a" and "b", raw and nothing else.
struct ValueRun : MemoryRun {
  WorkerWriter writer = worker();

  ValueRun() { writer.put_after(100); }
  void save(std::int64_t step) { writer.save(step, {ramp("a"), ramp("b")}); }
  static SavedTensor ramp(const std::string& name) {
    std::vector<float> values(100);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return raw_of(name, values);
  }
  // Of "b" at the step that was saved last.
  void remember() { damaged.push_back(writer.last_location().offset); }
  void damage() const {
    for (const std::uint64_t offset : damaged) flip_bit(*store, writer.events_key(), offset + 9);
  }
  std::vector<std::uint64_t> damaged;
};

// Steps 0 to 4; "b" is damaged at steps 1 and 3.
ValueRun damaged_run() {
  ValueRun run;
  for (std::int64_t step = 0; step < 5; ++step) {
    run.save(step);
    if (step % 2 == 1) run.remember();
  }
  run.writer.finish();
  run.damage();
  return run;
}

// Fires at each step, having read "b".
std::unique_ptr<Rule> reader(Trial& trial, std::string name = "Reader") {
  return written(
      trial,
      [](Trial& run, std::int64_t step) {
        static_cast<void>(run.tensor("b").value(step));
        return fired("b");
      },
      std::move(name));
}

TEST(DamagedValue, skips_its_step_and_the_rule_goes_on) {
  const LogCapture log;
  const ValueRun run = damaged_run();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(reader(trial));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("0 Reader IssuesFound", "2 Reader IssuesFound",
                                        "4 Reader IssuesFound", "end Reader IssuesFound"));
  const RuleSummary& summary = result.summary.rules.at(0);
  EXPECT_EQ(summary.steps_evaluated, 5);
  EXPECT_EQ(summary.steps_skipped, 2);
  EXPECT_EQ(summary.steps_damaged, 2);
  EXPECT_TRUE(result.summary.had_errors());
  EXPECT_TRUE(result.summary.found_issues());
}

TEST(DamagedValue, is_told_once_for_each_rule_and_named_at_the_end) {
  const LogCapture log;
  const ValueRun run = damaged_run();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(reader(trial));
  const VerdictLine closing = run_all(runner).verdicts.back();
  const std::string damage =
      "at step 1: DamagedValue: The file is damaged or foreign: " + run.writer.events_key() +
      ", offset " + std::to_string(run.damaged[0]) + ": the value does not have its checksum";
  EXPECT_EQ(closing.message, "2 steps with damaged values, the first " + damage);
  EXPECT_THAT(to_json(closing), HasSubstr(R"("steps_skipped":2,"steps_damaged":2})"));
  EXPECT_THAT(to_text(closing), HasSubstr("2 steps with damaged values"));
  EXPECT_THAT(log.lines(),
              ElementsAre(Pair(LogLevel::Warning,
                               AllOf(HasSubstr("rule Reader skipped a damaged value and goes on"),
                                     HasSubstr("step 1: ")))));
}

TEST(DamagedValue, of_a_tensor_leaves_the_others_of_the_step_to_a_built_in_rule) {
  const LogCapture log;
  const ValueRun run = damaged_run();
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  runner.add("TensorVariance", {{"tensor_regex", "a|b"}, {"max_threshold", "1"}});
  const Result result = run_all(runner);
  std::vector<std::size_t> found, skipped;
  for (const VerdictLine& line : result.verdicts) {
    if (line.status == RuleStatus::IssuesFound && !line.final_line)
      found.push_back(line.tensors.size());
    if (line.status == RuleStatus::Explained) skipped.push_back(line.skips.size());
  }
  EXPECT_THAT(found, ElementsAre(2, 1, 2, 1, 2));
  EXPECT_THAT(skipped, ElementsAre(0, 1, 0, 1, 0));
  EXPECT_EQ(result.summary.rules.at(0).steps_damaged, 2);
  EXPECT_THAT(result.verdicts.back().message, HasSubstr("the first at step 1: b: The file is "));
}

TEST(DamagedValue, of_the_other_run_skips_the_tensor) {
  const LogCapture log;
  ValueRun whole;
  whole.save(0);
  whole.writer.finish();
  ValueRun other;
  other.save(0);
  other.remember();
  other.writer.finish();
  other.damage();
  const ScratchDirectory scratch;
  LocalStore place((scratch / "other").string());
  for (const ObjectInfo& info : other.store->list(""))
    place.put(info.key, *other.store->get(info.key));
  Trial trial = whole.open();
  RuleRunner runner(trial);
  runner.add("SimilarAcrossRuns", {{"other_trials", place.location()}, {"tensor_regex", "a|b"}});
  const RuleSummary summary = run_all(runner).summary.rules.at(0);
  EXPECT_EQ(summary.status, RuleStatus::NoIssuesFound) << summary.message;
  EXPECT_EQ(summary.steps_damaged, 1);
}

TEST(DamagedValue, leaves_lines_that_depend_on_nothing_but_the_run) {
  const LogCapture log;
  const auto judged = [](const ValueRun& run, int jobs, const RuleRunner::LineCallback& on_line) {
    Trial trial = run.open();
    RuleRunner runner(trial, {.jobs = jobs, .explain = true});
    runner.add("TensorVariance", {{"tensor_regex", "a|b"}, {"max_threshold", "1"}});
    runner.add("ExplodingTensor", {{"tensor_regex", "a|b"}});
    runner.add(reader(trial));
    runner.add(always(trial));
    return run_all(runner, on_line).timeless_lines;
  };
  const ValueRun finished = damaged_run();
  const Lines replayed = judged(finished, 1, {});
  EXPECT_THAT(replayed, Contains(HasSubstr("does not have its checksum")));
  EXPECT_EQ(judged(finished, 4, {}), replayed);

  ValueRun growing;
  if (!written_store(*growing.store).can_append()) return;
  growing.save(0);
  std::int64_t next = 1;
  const auto grow = [&](const VerdictLine& line) {
    if (line.name != "Always" || line.status != RuleStatus::IssuesFound || line.final_line) return;
    if (next == 5) {
      growing.writer.finish();
    } else if (next < 5) {
      // The bytes are damaged before the index tells of them.
      const auto index = growing.writer.encode(next, {ValueRun::ramp("a"), ValueRun::ramp("b")});
      if (next % 2 == 1)
        flip_bit(*growing.store, growing.writer.events_key(),
                 growing.writer.last_location().offset + 9);
      growing.writer.append_index(index);
    }
    ++next;
  };
  EXPECT_EQ(judged(growing, 2, grow), replayed);
}

TEST(DamagedValue, is_known_to_a_runner_that_goes_on) {
  const LogCapture log;
  const ScratchDirectory scratch;
  const ValueRun run = damaged_run();
  const auto judge = [&](const std::string& out, int die_at) {
    Trial trial = run.open();
    RuleRunner runner(trial, {.out = (scratch / out).string()});
    runner.add(reader(trial));
    std::string last;
    runner.run([&](const VerdictLine& line) {
      if (die_at-- == 0) throw KilledRunner();
      last = timeless(line);
    });
    return last;
  };
  const std::string closing = judge("at_once", -1);
  EXPECT_THROW(judge("killed", 2), KilledRunner);
  const std::size_t told = log.lines().size();
  EXPECT_EQ(judge("killed", -1), closing);
  EXPECT_LE(log.lines().size(), told + 1);
}

TEST(DamagedValue, at_the_end_is_named_and_is_no_step) {
  const LogCapture log;
  class Last : public WrittenRule {
   public:
    explicit Last(Trial& trial)
        : WrittenRule(
              trial, [](Trial&, std::int64_t) { return Verdict(); }, "Last") {}
    Verdict on_end() override {
      static_cast<void>(base_trial().tensor("b").value(3));
      return {};
    }
  };
  const ValueRun run = damaged_run();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(std::make_unique<Last>(trial));
  const Result result = run_all(runner);
  EXPECT_TRUE(result.summary.had_errors());
  EXPECT_EQ(result.summary.rules.at(0).steps_skipped, 0);
  EXPECT_THAT(result.verdicts.back().message, HasSubstr("the first at the end: DamagedValue"));
}

TEST(DamagedValue, ends_no_incident) {
  const LogCapture log;
  const ScratchDirectory scratch;
  const ValueRun run = damaged_run();
  Trial trial = run.open();
  RuleRunner runner(trial, {.actions = {{.kind = Action::Kind::Log}}});
  runner.add(reader(trial));
  const Result result = run_all(runner);
  std::size_t actions = 0;
  for (const VerdictLine& line : result.verdicts) actions += line.action ? 1U : 0U;
  EXPECT_EQ(actions, 1U);
}

}  // namespace
}  // namespace cupel::testing
