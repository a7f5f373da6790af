// The tables of what is known of steps and of tensors at steps, row by row.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ValuesIn;

/// Names the instances of a table by their rows.
constexpr auto kRowName = [](const auto& info) { return std::string(info.param.name); };

// ---- Which steps are complete: workers a, b and c --------------------------------------------

struct CompleteStepsRow {
  const char* name;
  Steps all;        // what all three wrote before …
  Steps without_b;  // … what only a and c did, and then …
  Steps all_again;  // … all three.
  bool ended;
  Steps steps;  // expected
  std::int64_t last_complete;
  StepState at_4, at_3, at_8;

  friend void PrintTo(const CompleteStepsRow& row, std::ostream* out) { *out << row.name; }
};

constexpr auto kUnavailable = StepState::Unavailable;
constexpr auto kAvailable = StepState::Available;
constexpr auto kNotYet = StepState::NotYetAvailable;

const CompleteStepsRow kCompleteSteps[] = {
    {.name = "all_workers_wrote_every_step",
     .all = {0, 1, 2, 3, 4, 5, 6},
     .without_b = {},
     .all_again = {},
     .ended = false,
     .steps = {0, 1, 2, 3, 4, 5, 6},
     .last_complete = 6,
     .at_4 = kAvailable,
     .at_3 = kAvailable,
     .at_8 = kNotYet},
    {.name = "steps_that_a_worker_has_not_reached_are_hidden",
     .all = {0, 1, 2},
     .without_b = {3, 4, 5, 6},
     .all_again = {},
     .ended = false,
     .steps = {0, 1, 2},
     .last_complete = 2,
     .at_4 = kNotYet,
     .at_3 = kNotYet,
     .at_8 = kNotYet},
    {.name = "the_end_of_the_run_completes_all_steps",
     .all = {0, 1, 2},
     .without_b = {3, 4, 5, 6},
     .all_again = {},
     .ended = true,
     .steps = {0, 1, 2, 3, 4, 5, 6},
     .last_complete = 6,
     .at_4 = kAvailable,
     .at_3 = kAvailable,
     .at_8 = kUnavailable},
    {.name = "a_step_that_all_have_passed_is_complete_whoever_saved_it",
     .all = {0, 1, 2},
     .without_b = {3, 4, 5},
     .all_again = {6},
     .ended = false,
     .steps = {0, 1, 2, 3, 4, 5, 6},
     .last_complete = 6,
     .at_4 = kAvailable,
     .at_3 = kAvailable,
     .at_8 = kNotYet},
    {.name = "a_step_nobody_saved_is_unavailable_once_all_have_passed_it",
     .all = {0, 1, 2},
     .without_b = {4, 5},
     .all_again = {6},
     .ended = false,
     .steps = {0, 1, 2, 4, 5, 6},
     .last_complete = 6,
     .at_4 = kAvailable,
     .at_3 = kUnavailable,
     .at_8 = kNotYet},
    {.name = "a_step_nobody_saved_may_come_while_a_worker_is_before_it",
     .all = {0, 1, 2},
     .without_b = {4, 5, 6},
     .all_again = {},
     .ended = false,
     .steps = {0, 1, 2},
     .last_complete = 2,
     .at_4 = kNotYet,
     .at_3 = kNotYet,
     .at_8 = kNotYet},
};

class CompleteSteps : public ::testing::TestWithParam<CompleteStepsRow>, public MemoryRun {
 protected:
  WorkerWriter a = worker({"a", 3}), b = worker({"b", 3}), c = worker({"c", 3});

  void write(const Steps& steps, std::initializer_list<WorkerWriter*> writers) {
    for (const std::int64_t step : steps)
      for (WorkerWriter* writer : writers) writer->save_steps({step});
  }
};

TEST_P(CompleteSteps, are_as_in_the_table) {
  const CompleteStepsRow& row = GetParam();
  write(row.all, {&a, &b, &c});
  write(row.without_b, {&a, &c});
  write(row.all_again, {&a, &b, &c});
  if (row.ended) {
    for (WorkerWriter* writer : {&a, &b, &c}) writer->close();
    end();
  }
  const Trial trial = open();
  EXPECT_EQ(trial.ended(), row.ended);
  EXPECT_EQ(trial.steps(), row.steps);
  EXPECT_EQ(trial.last_complete_step(), row.last_complete);
  EXPECT_EQ(trial.has_passed_step(4), row.at_4);
  EXPECT_EQ(trial.has_passed_step(3), row.at_3);
  EXPECT_EQ(trial.has_passed_step(8), row.at_8);
  Steps known = row.all;
  known.insert(known.end(), row.without_b.begin(), row.without_b.end());
  known.insert(known.end(), row.all_again.begin(), row.all_again.end());
  EXPECT_EQ(trial.steps(Mode::Global, true), known);
}

INSTANTIATE_TEST_SUITE_P(Trial, CompleteSteps, ValuesIn(kCompleteSteps), kRowName);

// The last row of the table is WaitWindow's first test.

// ---- has_passed_step: TRAIN 0, 10, 20, 30 at the same global steps, EVAL 0 … 30 at 40 … 70 -----

struct PassedStepRow {
  const char* name;
  std::int64_t step;
  Mode mode;
  StepState running, ended;  // expected

  friend void PrintTo(const PassedStepRow& row, std::ostream* out) { *out << row.name; }
};

const PassedStepRow kPassedSteps[] = {
    {"a_saved_step_of_a_mode", 20, Mode::Train, kAvailable, kAvailable},
    {"a_saved_global_step", 70, Mode::Global, kAvailable, kAvailable},
    {"between_saved_steps_of_a_mode", 23, Mode::Train, kUnavailable, kUnavailable},
    {"between_saved_global_steps", 45, Mode::Global, kUnavailable, kUnavailable},
    {"behind_the_last_step_of_a_mode", 40, Mode::Train, kNotYet, kUnavailable},
    {"behind_the_last_step_of_the_last_mode", 31, Mode::Eval, kNotYet, kUnavailable},
    {"behind_the_last_global_step", 80, Mode::Global, kNotYet, kUnavailable},
    {"of_a_mode_without_steps", 0, Mode::Predict, kNotYet, kUnavailable},
    {"before_the_first", -1, Mode::Global, kUnavailable, kUnavailable},
};

class PassedSteps : public ::testing::TestWithParam<PassedStepRow>, public MemoryRun {
 protected:
  WorkerWriter writer = worker();
  PassedSteps() {
    for (const std::int64_t step : {0, 10, 20, 30})
      writer.save({step, Mode::Train, step}, {raw("w", {1})});
    for (const std::int64_t step : {0, 10, 20, 30})
      writer.save({40 + step, Mode::Eval, step}, {raw("w", {1})});
  }
};

TEST_P(PassedSteps, are_as_in_the_table_while_the_run_goes_on) {
  EXPECT_EQ(open().has_passed_step(GetParam().step, GetParam().mode), GetParam().running);
}

TEST_P(PassedSteps, are_as_in_the_table_once_the_run_has_ended) {
  writer.finish();
  EXPECT_EQ(open().has_passed_step(GetParam().step, GetParam().mode), GetParam().ended);
}

INSTANTIATE_TEST_SUITE_P(Trial, PassedSteps, ValuesIn(kPassedSteps), kRowName);

/// What is asked of a step that only some workers have: workers a and b, a has 0 and 2, b has 0.
struct BehindRow {
  const char* name;
  bool b_passes;  // b saves step 3
  bool ended;
  StepState at_1, at_2;  // expected; nobody saved 1

  friend void PrintTo(const BehindRow& row, std::ostream* out) { *out << row.name; }
};

const BehindRow kBehind[] = {
    {"a_worker_is_behind_it", false, false, kNotYet, kNotYet},
    {"all_workers_have_passed_it", true, false, kUnavailable, kAvailable},
    {"the_run_has_ended_before_a_worker_came_there", false, true, kUnavailable, kAvailable},
};

class StepsOfSome : public ::testing::TestWithParam<BehindRow>, public MemoryRun {};

TEST_P(StepsOfSome, are_as_in_the_table) {
  WorkerWriter a = worker({"a", 2}), b = worker({"b", 2});
  a.save_steps({0, 2});
  b.save_steps({0});
  if (GetParam().b_passes) b.save_steps({3});
  if (GetParam().ended) {
    a.close();
    b.seal();
    end();
  }
  const Trial trial = open();
  EXPECT_EQ(trial.has_passed_step(1), GetParam().at_1);
  EXPECT_EQ(trial.has_passed_step(2), GetParam().at_2);
}

INSTANTIATE_TEST_SUITE_P(Trial, StepsOfSome, ValuesIn(kBehind), kRowName);

// ---- What a tensor has at a step ---------------------------------------------------------------

/// What a question comes to.
enum class Answer {
  Yes,
  TensorUnavailableForStep,
  ShapeUnavailableForStep,
  StepUnavailable,
  StepNotYetAvailable,
  NoMoreData
};

void PrintTo(Answer answer, std::ostream* out) {
  constexpr const char* kNames[] = {
      "an answer",       "TensorUnavailableForStep", "ShapeUnavailableForStep",
      "StepUnavailable", "StepNotYetAvailable",      "NoMoreData"};
  *out << kNames[static_cast<int>(answer)];
}

template <class F>
Answer answer_of(F&& ask) {
  try {
    static_cast<void>(ask());
  } catch (const ShapeUnavailableForStep&) {
    return Answer::ShapeUnavailableForStep;
  } catch (const TensorUnavailableForStep&) {
    return Answer::TensorUnavailableForStep;
  } catch (const NoMoreData&) {
    return Answer::NoMoreData;
  } catch (const StepNotYetAvailable&) {
    return Answer::StepNotYetAvailable;
  } catch (const StepUnavailable&) {
    return Answer::StepUnavailable;
  }
  return Answer::Yes;
}

constexpr Answer kYes = Answer::Yes, kNoTensor = Answer::TensorUnavailableForStep,
                 kNoShape = Answer::ShapeUnavailableForStep;

struct TensorAtStepRow {
  const char* name;
  std::int64_t step;
  std::function<SavedTensor()> save;  // "t" at step 0; null: it is not there
  bool ended;
  Answer value, saved_reduction, other_reduction, shape;  // expected; saved is "mean"

  friend void PrintTo(const TensorAtStepRow& row, std::ostream* out) { *out << row.name; }
};

const TensorAtStepRow kTensorAtStep[] = {
    {"raw", 0,
     [] {
       return raw("t", {1, 2, 6});
     },
     false, kYes, kYes, kYes, kYes},
    {"reductions_only", 0, [] { return reduced("t", "mean", 99); }, false, kNoTensor, kYes,
     kNoTensor, kNoShape},
    {"shape_only", 0, [] { return only_shape("t", {3}); }, false, kNoTensor, kNoTensor, kNoTensor,
     kYes},
    {"raw_and_reductions", 0,
     [] {
       return raw("t", {1, 2, 6}).with("mean", 99);
     },
     false, kYes, kYes, kYes, kYes},
    {"shape_and_reductions", 0, [] { return reduced("t", "mean", 99).shaped({4}); }, false,
     kNoTensor, kYes, kNoTensor, kYes},
    {"other_tensors_only", 5,
     [] {
       return raw("t", {1, 2, 6});
     },
     false, kNoTensor, kNoTensor, kNoTensor, kNoTensor},
    {"no_data_and_the_run_has_passed_it", 3,
     [] {
       return raw("t", {1, 2, 6});
     },
     false, Answer::StepUnavailable, Answer::StepUnavailable, Answer::StepUnavailable,
     Answer::StepUnavailable},
    {"not_seen_yet", 6,
     [] {
       return raw("t", {1, 2, 6});
     },
     false, Answer::StepNotYetAvailable, Answer::StepNotYetAvailable, Answer::StepNotYetAvailable,
     Answer::StepNotYetAvailable},
    {"behind_the_end", 6,
     [] {
       return raw("t", {1, 2, 6});
     },
     true, Answer::NoMoreData, Answer::NoMoreData, Answer::NoMoreData, Answer::NoMoreData},
};

class TensorAtStep : public ::testing::TestWithParam<TensorAtStepRow>, public MemoryRun {};

TEST_P(TensorAtStep, has_what_the_table_says) {
  const TensorAtStepRow& row = GetParam();
  WorkerWriter writer = worker();
  const SavedTensor saved = row.save();
  writer.save(0, {saved}).save(5, {raw("other", {1})});
  if (row.ended) writer.finish();
  const Trial trial = open();
  const Tensor tensor = trial.tensor("t");
  EXPECT_EQ(answer_of([&] { return tensor.value(row.step); }), row.value);
  EXPECT_EQ(answer_of([&] { return tensor.reduction_value(row.step, "mean"); }),
            row.saved_reduction);
  EXPECT_EQ(answer_of([&] { return tensor.reduction_value(row.step, "max"); }),
            row.other_reduction);
  EXPECT_EQ(answer_of([&] { return tensor.shape(row.step); }), row.shape);
  // The same of the mode's step, which has the same number.
  EXPECT_EQ(answer_of([&] { return tensor.value(row.step, Mode::Train); }), row.value);
  if (row.saved_reduction == kYes) {
    EXPECT_EQ(tensor.reduction_value(row.step, "mean"),
              saved.reductions.get({ReductionOp::Mean}).value_or(3));
  }
  if (row.step == 0 && row.value == kNoTensor) {
    try {
      static_cast<void>(tensor.value(0));
    } catch (const TensorUnavailableForStep& error) {
      EXPECT_EQ(error.has_reductions, !saved.reductions.set.empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tensor, TensorAtStep, ValuesIn(kTensorAtStep), kRowName);

}  // namespace
}  // namespace cupel::testing
