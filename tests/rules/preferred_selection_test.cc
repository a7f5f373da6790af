// The names that a rule selects in a run that has those that it prefers, has others, or has first
// these and then those.

#include "cupel/rules/preferred_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/log_capture.h"
#include "cupel/rules/tensor_rule.h"
#include "rules/rule_fixture.h"
#include "rules/runner_results.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NeededTensors preferring_a() {
  return {.collections = {"as"},
          .patterns = "^a",
          .fallbacks = {{.patterns = "^b"}, {.patterns = {"^c", "^d"}, .least_rank = 2}}};
}

/// The names that count at a step.
Lines chosen(PreferredSelection& names, const Trial& trial, std::int64_t step) {
  names.choose(step, trial);
  Lines found;
  trial.visit_step(step, names.names(), [&](const RecordView& record) {
    if (names.counts(record)) found.push_back(record.tensor());
  });
  return found;
}

/// The same of a selection that was never asked about another step, and sees nothing behind it.
Lines chosen_at(const MemoryRun& run, std::int64_t step) {
  Trial trial = run.open();
  const PinnedView pin(trial, RunFollower(trial).snapshot(), step);
  PreferredSelection names(preferring_a());
  return chosen(names, trial, step);
}

TEST(PreferredSelection, is_of_the_names_themselves_where_a_run_has_them) {
  MemoryRun run;
  run.worker().save(0, {raw("a", {1}), raw("b", {1}), raw("c", {1})}).finish();
  EXPECT_THAT(chosen_at(run, 0), ElementsAre("a"));
}

TEST(PreferredSelection, counts_the_collections_that_are_preferred_like_the_names) {
  MemoryRun run;
  run.worker().collection("as", {"^x"}).save(0, {raw("x", {1}), raw("b", {1})}).finish();
  EXPECT_THAT(chosen_at(run, 0), ElementsAre("x"));
}

TEST(PreferredSelection, is_of_the_first_fallback_that_a_run_has) {
  MemoryRun run;
  run.worker().save(0, {raw("b", {1}), raw("c", {1}).shaped({1, 1})}).finish();
  EXPECT_THAT(chosen_at(run, 0), ElementsAre("b"));
}

TEST(PreferredSelection, leaves_out_tensors_of_a_fallback_with_too_few_axes) {
  MemoryRun run;
  run.worker()
      .save(0, {raw("c", {1}), raw("d", {1}).shaped({1, 1}), raw("d2", {1}).shapeless()})
      .save(1, {raw("c", {1})})
      .finish();
  EXPECT_THAT(chosen_at(run, 0), ElementsAre("d"));
  EXPECT_THAT(chosen_at(run, 1), IsEmpty());
}

TEST(PreferredSelection, leaves_out_tensors_of_a_fallback_that_are_in_no_collection_of_it) {
  MemoryRun run;
  run.worker()
      .collection("tagged", {"^x"}, {"b2"})
      .save(0, {raw("b1", {1}), raw("b2", {1}), raw("x", {1})})
      .finish();
  Trial trial = run.open();
  PreferredSelection names(
      {.patterns = "^a", .fallbacks = {{.patterns = "^b", .collections = {"tagged"}}}});
  EXPECT_THAT(chosen(names, trial, 0), ElementsAre("b2"));
  EXPECT_EQ(names.description(), "names matching \"^b\" in the collection tagged");
}

TEST(PreferredSelection, is_silent_about_the_collection_of_a_fallback_that_the_run_has_not) {
  const LogCapture log;
  MemoryRun run;
  run.worker().save(0, {raw("b", {1})}).finish();
  Trial trial = run.open();
  PreferredSelection names(
      {.patterns = "^a", .fallbacks = {{.patterns = "^b", .collections = {"tagged"}}}});
  EXPECT_THAT(chosen(names, trial, 0), IsEmpty());
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(PreferredSelection, is_not_of_a_fallback_whose_tensors_all_have_too_few_axes) {
  MemoryRun run;
  run.worker().save(0, {raw("c", {1})}).finish();
  Trial trial = run.open();
  PreferredSelection names(preferring_a());
  EXPECT_FALSE(names.choose(0, trial));
  EXPECT_FALSE(names.is_fallback());
  EXPECT_EQ(names.description(), "the collection as and names matching \"^a\"");
}

TEST(PreferredSelection, changes_at_the_step_at_which_a_better_name_appears) {
  MemoryRun run;
  run.worker()
      .save(0, {raw("c", {1}).shaped({1, 1})})
      .save(1, {raw("b", {1}), raw("c", {1}).shaped({1, 1})})
      .save(2, {raw("c", {1}).shaped({1, 1})})
      .save(3, {raw("a", {1}), raw("b", {1})})
      .save(4, {raw("b", {1})})
      .finish();
  Trial trial = run.open();
  PreferredSelection names(preferring_a());
  std::vector<bool> changes;
  for (const std::int64_t step : trial.steps()) changes.push_back(names.choose(step, trial));
  EXPECT_THAT(changes, ElementsAre(true, true, false, true, false));
  EXPECT_THAT(chosen_at(run, 0), ElementsAre("c"));
  EXPECT_THAT(chosen_at(run, 1), ElementsAre("b"));
  EXPECT_THAT(chosen_at(run, 2), IsEmpty());
  EXPECT_THAT(chosen_at(run, 3), ElementsAre("a"));
  EXPECT_THAT(chosen_at(run, 4), IsEmpty());
}

TEST(PreferredSelection, knows_steps_that_were_not_asked_about) {
  MemoryRun run;
  run.worker()
      .save(0, {raw("b", {1})})
      .save(5, {raw("a", {1})})
      .save(9, {raw("a", {1}), raw("b", {1})})
      .finish();
  Trial trial = run.open();
  PreferredSelection names(preferring_a());
  EXPECT_THAT(chosen(names, trial, 0), ElementsAre("b"));
  EXPECT_THAT(chosen(names, trial, 9), ElementsAre("a"));
  EXPECT_THAT(chosen(names, trial, 0), ElementsAre("b")) << "an earlier step, asked about later";
}

TEST(PreferredSelection, takes_back_what_a_restarted_training_took_back) {
  MemoryRun run;
  auto before = run.worker();
  before.save(0, {raw("b", {1})}).save(1, {raw("a", {1})});
  before.abandon();
  Trial trial = run.open();
  PreferredSelection names(preferring_a());
  EXPECT_THAT(chosen(names, trial, 0), ElementsAre("b"));
  EXPECT_THAT(chosen(names, trial, 1), ElementsAre("a"));
  auto after = run.worker({.attempt = 1});
  after.save(1, {raw("b", {1})}).finish();
  trial.refresh();
  EXPECT_THAT(chosen(names, trial, 1), ElementsAre("b"));
}

TEST(PreferredSelection, without_fallbacks_never_changes) {
  MemoryRun run;
  run.worker().save(0, {raw("b", {1})}).save(1, {raw("a", {1})}).finish();
  Trial trial = run.open();
  PreferredSelection names({.patterns = "^a"});
  EXPECT_FALSE(names.choose(0, trial));
  EXPECT_FALSE(names.choose(1, trial));
}

TEST(FallbackNames, are_described_behind_the_names_that_are_preferred) {
  const RuleNeeds needs{
      .tensors = {{.tensors = preferring_a(), .suffices = {TensorSource::value()}}}};
  EXPECT_EQ(cupel::describe(needs),
            "the collection as and names matching \"^a\", else other names: raw values");
  EXPECT_EQ(preferring_a().fallbacks.back().description(),
            "names matching \"^c\", names matching \"^d\" of at least 2 axes");
}

/// Fires where the sum of all means of a tensor is above 10.
struct SumOfMeans final : HistoryRule {
  explicit SumOfMeans(Trial& base)
      : HistoryRule(base, {{{.tensors = preferring_a(), .suffices = {TensorSource::value()}}}}) {}

 private:
  void remember(const RecordView& record) override {
    sum_ += record.computed(*parse_reduction("mean")).value_or(0);
  }
  void forget() override { sum_ = 0; }
  void judge_with_history(TensorCopy& copy) override {
    const double mean = copy.number(*parse_reduction("mean"))->value;
    copy.judged(sum_ + mean > 10, sum_ + mean, 10, [] { return JudgementText{}; });
  }
  double sum_ = 0;
};

TEST(PreferredSelection, of_a_rule_with_a_history_begins_another_history) {
  MemoryRun run;
  run.worker()
      .save(0, {raw("b", {9})})
      .save(1, {raw("b", {9})})
      .save(2, {raw("a", {9}), raw("b", {9})})
      .save(3, {raw("a", {9}), raw("b", {9})})
      .finish();
  Trial trial = run.open();
  SumOfMeans rule(trial);
  Lines lines;
  for (const std::int64_t step : trial.steps())
    for (const std::string& line :
         describe(RuleEvaluation(rule).at_step(step, RunFollower(trial).snapshot())))
      lines.push_back(std::to_string(step) + " " + line.substr(0, line.find(':')));
  EXPECT_THAT(lines, ElementsAre("1 fires b worker_0 18 vs 10", "3 fires a worker_0 18 vs 10"));
}

// ---- The built-in rules, live and afterwards

/// What a run has of a step, for a rule; each value would fire.
using Step = std::vector<SavedTensor>;

struct GrowingRun {
  const char* rule;
  RuleParameters parameters;
  std::vector<Step> steps;
};

SavedTensor image(const std::string& name, float value) {
  return raw_of<float>(name, {value}).shaped({1, 1, 1, 1});
}

std::vector<GrowingRun> growing_runs() {
  return {
      {"DeadRelu",
       {},
       {{raw("act1_output", {0, 0})},
        {raw("relu1_output_0", {0, 0})},
        {raw("act1_output", {0, 0})},
        {raw("relu_output", {0, 0}), raw("relu1_output_0", {0, 0})},
        {raw("relu1_output_0", {0, 0})}}},
      {"SaturatedActivation",
       {},
       {{raw("tanh1_input_0", {99, 99})},
        {raw("tanh_input_0", {99, 99}), raw("tanh1_input_0", {99, 99})},
        {raw("tanh1_input_0", {99, 99})}}},
      {"CheckInputImages",
       {{"threshold_samples", "2"}},
       {{image("conv1_input_0", 1)},
        {image("conv1_input_0", 1)},
        {image("Net_input_0", 1), image("conv1_input_0", 1)},
        {image("Net_input_0", 1), image("conv1_input_0", 1)},
        {image("images", 1), image("Net_input_0", 1)},
        {image("images", 1), image("hybridsequential0_input_0", 1)},
        {image("images", 1), image("hybridsequential0_input_0", 1)}}},
      {"NLPSequenceRatio",
       {},
       {{raw("tokens", {0, 0})},
        {raw("tokens", {0, 0}), raw("embedding_input_0", {0, 0})},
        {raw("embedding0_input_0", {0, 0}), raw("embedding_input_0", {0, 0})},
        {raw("embedding_input_0", {0, 0})}}},
      {"PoorWeightInitialization",
       {{"steps", "2"}},
       {{raw("tanh1_input", {0, 1}), raw("tanh2_input", {0, 9})},
        {raw("relu1_input", {0, 1}), raw("relu2_input", {0, 9})},
        {raw("relu1_input", {0, 1}), raw("relu2_input", {0, 9})},
        {raw("relu1_input", {0, 1}), raw("relu2_input", {0, 9})},
        {raw("a_relu_input", {0, 1}), raw("b_relu_input", {0, 9})},
        {raw("relu1_input", {0, 1}), raw("relu2_input", {0, 9})}}},
  };
}

class GrowingNames : public ::testing::TestWithParam<GrowingRun> {
 protected:
  std::unique_ptr<Rule> make(Trial& trial) const {
    return builtin_rules().require(GetParam().rule).make(trial, GetParam().parameters);
  }
  static void judge(Rule& rule, std::int64_t step, const Trial& trial, Lines& into) {
    for (const std::string& line :
         describe(RuleEvaluation(rule).at_step(step, RunFollower(trial).snapshot())))
      into.push_back(std::to_string(step) + " " + line);
  }
};

TEST_P(GrowingNames, give_the_same_lines_live_and_afterwards_and_from_any_step_on) {
  MemoryRun run;
  Lines live;
  {
    auto writer = run.worker();
    Trial trial = run.open();
    const auto rule = make(trial);
    std::int64_t number = 0;
    for (const Step& step : GetParam().steps) {
      writer.save(number, step);
      trial.refresh();
      judge(*rule, number++, trial, live);
    }
    writer.finish();
  }
  Trial trial = run.open();
  const auto rule = make(trial);
  Lines afterwards;
  Lines anew;
  for (const std::int64_t step : trial.steps()) {
    judge(*rule, step, trial, afterwards);
    judge(*make(trial), step, trial, anew);
  }
  EXPECT_THAT(live, Not(IsEmpty()));
  EXPECT_EQ(afterwards, live);
  EXPECT_EQ(anew, live);
}

TEST_P(GrowingNames, give_the_lines_of_a_runner_however_many_threads_judge) {
  MemoryRun run;
  {
    auto writer = run.worker();
    std::int64_t number = 0;
    for (const Step& step : GetParam().steps) writer.save(number++, step);
    writer.finish();
  }
  run.end();
  const auto lines_with = [&](int jobs) {
    Trial trial = run.open();
    RunnerOptions options;
    options.jobs = jobs;
    RuleRunner runner(trial, options);
    for (int i = 0; i < 3; ++i) runner.add(make(trial));
    return run_all(runner).timeless_lines;
  };
  const Lines one = lines_with(1);
  EXPECT_THAT(one, Not(IsEmpty()));
  EXPECT_EQ(lines_with(4), one);
}

INSTANTIATE_TEST_SUITE_P(Table, GrowingNames, ::testing::ValuesIn(growing_runs()),
                         [](const auto& row) { return std::string(row.param.rule); });

}  // namespace
}  // namespace cupel::testing
