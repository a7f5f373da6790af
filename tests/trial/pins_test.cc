#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Steps 0 and 1; "late" appears in step 1.
struct TwoSteps : MemoryRun {
  WorkerWriter writer = worker();
  TwoSteps() { writer.save(0, {raw("w", {0})}).save(1, {raw("w", {1}), raw("late", {1})}); }
};

TEST(NoRefresh, keeps_what_was_seen) {
  TwoSteps run;
  Trial trial = run.open();
  {
    const NoRefresh pinned(trial);
    run.writer.save(2, {raw("w", {2})});
    EXPECT_TRUE(trial.pinned());
    EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
    EXPECT_THROW(trial.tensor("w").value(2), StepNotYetAvailable);
  }
  EXPECT_FALSE(trial.pinned());
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
}

TEST(NoRefresh, within_another_restores_the_outer_one) {
  TwoSteps run;
  Trial trial = run.open();
  const NoRefresh outer(trial);
  run.writer.save(2, {raw("w", {2})});
  { const NoRefresh inner(trial); }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(NoRefresh, still_waits_for_steps) {
  TwoSteps run;
  Trial trial = run.open();
  const NoRefresh pinned(trial);
  run.writer.save(2, {raw("w", {2})});
  EXPECT_NO_THROW(trial.wait_for_steps({2}));
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(NoRefresh, of_one_view_leaves_the_others) {
  TwoSteps run;
  Trial trial = run.open();
  const auto view = trial.view();
  const NoRefresh pinned(trial);
  run.writer.save(2, {raw("w", {2})});
  EXPECT_THAT(view->steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(NoRefresh, over_several_trials_ends_for_all_of_them) {
  TwoSteps run, other;
  Trial trial = run.open(), reference = other.open();
  {
    const NoRefresh pinned({&trial, &reference});
    run.writer.save(2, {raw("w", {2})});
    other.writer.save(2, {raw("w", {2})});
    EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
    EXPECT_THAT(reference.steps(), ElementsAre(0, 1));
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(reference.steps(), ElementsAre(0, 1, 2));
}

TEST(NoRefresh, over_the_same_trial_twice_leaves_it_as_it_was) {
  TwoSteps run;
  Trial trial = run.open();
  { const NoRefresh pinned({&trial, &trial}); }
  run.writer.save(2, {raw("w", {2})});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
}

TEST(Refresh, lets_a_pinned_view_follow_its_run_and_pins_it_again) {
  TwoSteps run;
  Trial trial = run.open();
  const NoRefresh pinned(trial);
  run.writer.save(2, {raw("w", {2})});
  {
    const Refresh following(trial);
    EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(Refresh, restores_the_step_that_a_view_was_pinned_to) {
  TwoSteps run;
  Trial trial = run.open();
  const PinnedView pinned(trial, RunFollower(trial).snapshot(), 0);
  {
    const Refresh following(trial);
    EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST(Refresh, of_a_view_that_is_not_pinned_changes_nothing) {
  TwoSteps run;
  Trial trial = run.open();
  { const Refresh following(trial); }
  run.writer.save(2, {raw("w", {2})});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
}

TEST(Refresh, over_several_trials_nests_with_the_other_guard) {
  TwoSteps run, other;
  Trial trial = run.open(), reference = other.open();
  const NoRefresh pinned({&trial, &reference});
  run.writer.save(2, {raw("w", {2})});
  {
    const Refresh following(std::vector<Trial*>{&trial, &reference});
    const NoRefresh inner(trial);
    run.writer.save(3, {raw("w", {2})});
    other.writer.save(2, {raw("w", {2})});
    EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
    EXPECT_THAT(reference.steps(), ElementsAre(0, 1, 2));
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_THAT(reference.steps(), ElementsAre(0, 1));
}

TEST(View, has_the_name_of_its_trial) {
  TwoSteps run;
  const Trial trial = run.open({.name = "mine"});
  EXPECT_EQ(trial.view()->name(), "mine");
}

TEST(View, outlives_the_trial_it_came_from) {
  TwoSteps run;
  auto trial = std::make_unique<Trial>(run.store, prompt());
  const auto view = trial->view();
  trial.reset();
  EXPECT_THAT(view->steps(), ElementsAre(0, 1));
}

struct PinnedToStepZero : TwoSteps {
  Trial trial = open();
  PinnedView pin{trial, RunFollower(trial).snapshot(), 0};
};

TEST(PinnedView, shows_no_later_steps) {
  PinnedToStepZero run;
  EXPECT_THAT(run.trial.steps(), ElementsAre(0));
  EXPECT_THAT(run.trial.steps(Mode::Train, true), ElementsAre(0));
  EXPECT_EQ(run.trial.last_complete_step(), 0);
  EXPECT_EQ(run.trial.mode(1), std::nullopt);
  EXPECT_EQ(run.trial.global_step(Mode::Train, 1), std::nullopt);
}

TEST(PinnedView, shows_later_steps_as_not_yet_available) {
  PinnedToStepZero run;
  EXPECT_EQ(run.trial.has_passed_step(1), StepState::NotYetAvailable);
  EXPECT_EQ(run.trial.has_passed_step(1, Mode::Train), StepState::NotYetAvailable);
  EXPECT_THROW(run.trial.tensor("w").value(1), StepNotYetAvailable);
  EXPECT_THROW(run.trial.tensor("w").reduction_value(1, "mean"), StepNotYetAvailable);
  EXPECT_THROW(run.trial.tensor("w").shape(1), StepNotYetAvailable);
}

TEST(PinnedView, shows_no_tensors_that_come_later) {
  PinnedToStepZero run;
  EXPECT_THAT(run.trial.tensor_names(), ElementsAre("w"));
  EXPECT_THAT(run.trial.tensor_names({.step = 1}), IsEmpty());
  EXPECT_FALSE(run.trial.has_tensor("late"));
  EXPECT_THROW(run.trial.tensor("late"), TensorUnavailable);
}

TEST(PinnedView, shows_no_later_values) {
  PinnedToStepZero run;
  const Tensor tensor = run.trial.tensor("w");
  EXPECT_THAT(tensor.steps(), ElementsAre(0));
  EXPECT_THAT(tensor.prev_steps(5), ElementsAre(0));
  EXPECT_THAT(tensor.prev_steps(5, 1, Mode::Train), ElementsAre(0));
  EXPECT_EQ(tensor.values().size(), 1U);
  EXPECT_THAT(tensor.records(1), IsEmpty());
  EXPECT_EQ(run.trial.totals().rows, 1);
}

TEST(PinnedView, is_the_same_when_the_run_has_ended) {
  TwoSteps run;
  run.writer.finish();
  Trial trial = run.open();
  const PinnedView pin(trial, RunFollower(trial).snapshot(), 0);
  EXPECT_FALSE(trial.ended());
  EXPECT_EQ(trial.has_passed_step(1), StepState::NotYetAvailable);
  EXPECT_THROW(trial.tensor("w").value(1), StepNotYetAvailable);
}

TEST(PinnedView, to_the_last_step_of_an_ended_run_has_not_ended) {
  TwoSteps run;
  run.writer.finish();
  Trial trial = run.open();
  const PinnedView pin(trial, RunFollower(trial).snapshot(), 1);
  EXPECT_THROW(trial.tensor("w").value(2), StepNotYetAvailable);
}

TEST(PinnedView, knows_what_the_run_has_passed) {
  MemoryRun run;
  run.worker().save_steps({0, 10, 20});
  Trial trial = run.open();
  const PinnedView pin(trial, RunFollower(trial).snapshot(), 10);
  EXPECT_EQ(trial.has_passed_step(5), StepState::Unavailable);
  EXPECT_EQ(trial.has_passed_step(10), StepState::Available);
  EXPECT_EQ(trial.has_passed_step(15), StepState::NotYetAvailable);
}

TEST(PinnedView, ends_with_its_guard) {
  TwoSteps run;
  Trial trial = run.open();
  { const PinnedView pin(trial, RunFollower(trial).snapshot(), 0); }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(PinnedView, to_an_incomplete_step_shows_it) {
  MemoryRun run;
  run.worker({"a", 2}).save_steps({0, 1, 2});
  run.worker({"b", 2}).save_steps({0});
  Trial trial = run.open();
  const PinnedView pin(trial, RunFollower(trial).snapshot(), 1);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_EQ(trial.last_complete_step(), 1);
  EXPECT_THAT(trial.missing_workers(1), ElementsAre("b"));
  EXPECT_THAT(trial.tensor("loss").prev_steps(1, 2), ElementsAre(0, 1));
}

TEST(PinnedView, behind_everything_passes_no_step_that_may_come) {
  TwoSteps run;
  Trial trial = run.open();
  const PinnedView pin(trial, RunFollower(trial).snapshot(), 100);
  EXPECT_EQ(trial.last_complete_step(), 1);
  EXPECT_EQ(trial.has_passed_step(50), StepState::NotYetAvailable);
}

TEST(PinnedView, an_evaluation_sees_the_same_while_the_run_goes_on) {
  TwoSteps run;
  Trial trial = run.open();
  {
    const PinnedView at_0(trial, RunFollower(trial).snapshot(), std::nullopt);
    EXPECT_EQ(trial.tensor("w").value(1).at(0), 1);
  }
  {
    const PinnedView at_1(trial, RunFollower(trial).snapshot(), 1);
    run.writer.save(2, {raw("w", {2})});
    EXPECT_THROW(trial.tensor("w").value(2), StepNotYetAvailable);
  }
  EXPECT_EQ(trial.tensor("w").value(2).at(0), 2);
}

}  // namespace
}  // namespace cupel::testing
