// Counting steps over modes, and which collections are active at a step.

#include <gmock/gmock.h>

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

constexpr auto kTraining = Mode::Train;
constexpr auto kEvaluation = Mode::Eval;
constexpr auto kPredict = Mode::Predict;
constexpr auto kGlobal = Mode::Global;

class StepsAndModes : public HookTest {
 protected:
  static void step_in(Hook& hook, Mode mode) {
    hook.set_mode(mode);
    hook.next_step();
    hook.save_tensor("fc.weight", view({1}));
  }
};

// The specification's table of counters: steps begun one after the other, and what the last of
// them is called.
struct Count {
  const char* name;
  std::vector<Mode> begun;
  std::int64_t global;
  std::int64_t mode_step;
};

class CountersOfAHook : public StepsAndModes, public ::testing::WithParamInterface<Count> {};

TEST_P(CountersOfAHook, are_those_of_the_row_live_and_in_the_run) {
  const auto& [name, begun, global, mode_step] = GetParam();
  auto hook = make_hook();
  for (const Mode mode : begun) step_in(*hook, mode);
  EXPECT_EQ(hook->step(), global);
  EXPECT_EQ(hook->mode(), begun.back());
  EXPECT_EQ(hook->mode_step(begun.back()), mode_step);
  EXPECT_EQ(hook->mode_step(kGlobal), global) << "Global is the global counter";
  hook->close();
  const auto trial = open_trial();
  EXPECT_EQ(trial->mode(global), begun.back());
  EXPECT_EQ(trial->mode_step(global), mode_step);
  EXPECT_EQ(trial->global_step(begun.back(), mode_step), global);
  EXPECT_EQ(trial->steps().size(), begun.size());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CountersOfAHook,
    ::testing::Values(
        Count{"the_first_step", {kGlobal}, 0, 0}, Count{"train", {kGlobal, kTraining}, 1, 0},
        Count{"train_twice", {kGlobal, kTraining, kTraining}, 2, 1},
        Count{"eval_after_train", {kGlobal, kTraining, kTraining, kEvaluation}, 3, 0},
        Count{"train_goes_on_where_it_was",
              {kGlobal, kTraining, kTraining, kEvaluation, kTraining},
              4,
              2},
        Count{
            "global_again", {kGlobal, kTraining, kTraining, kEvaluation, kTraining, kGlobal}, 5, 5},
        Count{"global_advances_no_other_mode", {kTraining, kGlobal, kGlobal, kTraining}, 3, 1},
        Count{"the_first_step_in_a_mode", {kPredict}, 0, 0}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(StepsAndModes, every_counter_is_minus_one_before_its_first_step) {
  auto hook = make_hook();
  EXPECT_EQ(hook->mode(), kGlobal);
  EXPECT_EQ(hook->step(), -1);
  for (const Mode mode : kAllModes) EXPECT_EQ(hook->mode_step(mode), -1) << to_string(mode);
  step_in(*hook, kTraining);
  EXPECT_EQ(hook->mode_step(kEvaluation), -1);
}

TEST_F(StepsAndModes, set_mode_begins_no_step_and_changes_no_counter) {
  auto hook = make_hook();
  step_in(*hook, kTraining);
  for (const Mode mode : {kEvaluation, kPredict, kGlobal, kTraining}) hook->set_mode(mode);
  EXPECT_EQ(hook->step(), 0);
  EXPECT_EQ(hook->mode_step(kTraining), 0);
  EXPECT_EQ(hook->mode_step(kEvaluation), -1);
}

TEST_F(StepsAndModes, an_unknown_mode_is_reported_and_the_mode_stays) {
  auto hook = make_hook();
  hook->set_mode(kEvaluation);
  hook->set_mode(static_cast<Mode>(0));
  hook->set_mode(static_cast<Mode>(5));
  step_in(*hook, hook->mode());
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("0"), HasSubstr("5")));
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(open_trial()->steps(kEvaluation), ElementsAre(0));
}

TEST_F(StepsAndModes, an_unknown_mode_is_thrown_when_errors_are_let_out) {
  options.on_error = OnError::Throw;
  auto hook = make_hook();
  EXPECT_THROW(hook->set_mode(static_cast<Mode>(9)), UsageError);
}

TEST_F(StepsAndModes, a_config_counts_the_steps_of_its_mode_not_the_global_ones) {
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  for (const Mode mode : {kTraining, kEvaluation, kTraining, kEvaluation, kTraining, kEvaluation})
    step_in(*hook, mode);
  hook->close();
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(kTraining), ElementsAre(0, 2));
  EXPECT_THAT(trial->steps(kEvaluation), ElementsAre(0, 2));
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 4, 5));
}

TEST_F(StepsAndModes, without_a_mode_a_config_counts_the_global_steps) {
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  for (const Mode mode : {kTraining, kGlobal, kGlobal, kTraining, kGlobal}) step_in(*hook, mode);
  hook->close();
  EXPECT_THAT(open_trial()->steps(kGlobal), ElementsAre(0, 2, 4));
}

// The specification's table of two collections of one tensor: A (every 10, min) and B (every 4,
// raw).
struct Active {
  std::int64_t step;
  bool min;
  bool raw;
};

class TwoCollectionsOfATensor : public StepsAndModes,
                                public ::testing::WithParamInterface<Active> {};

TEST_P(TwoCollectionsOfATensor, write_what_the_active_ones_want) {
  const auto& [step, min, raw] = GetParam();
  options.include_collections = {"A", "B"};
  auto hook = make_hook();
  hook->get_collection("A")
      .include("^t$")
      .set_save_config({.save_interval = 10})
      .set_reduction_config({.reductions = {"min"}});
  hook->get_collection("B")
      .include("^t$")
      .set_save_config({.save_interval = 4})
      .set_reduction_config({.save_raw_tensor = true});
  const TensorHandle t = hook->handle("t");
  while (hook->step() < step) hook->next_step();
  EXPECT_EQ(hook->wants(t), min || raw);
  hook->save_tensor(t, view({3, -7}));
  hook->close();
  const auto trial = open_trial();
  ASSERT_EQ(trial->has_tensor("t"), min || raw);
  if (!min && !raw) return;
  const TensorRecord record = trial->tensor("t").record(step);
  EXPECT_EQ(record.has_value, raw);
  EXPECT_EQ(record.reductions.get({ReductionOp::Min}), min ? std::optional(-7.0) : std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Rows, TwoCollectionsOfATensor,
                         ::testing::Values(Active{0, true, true}, Active{20, true, true},
                                           Active{40, true, true}, Active{4, false, true},
                                           Active{8, false, true}, Active{12, false, true},
                                           Active{10, true, false}, Active{30, true, false},
                                           Active{1, false, false}, Active{2, false, false},
                                           Active{3, false, false}),
                         [](const auto& row) { return "step_" + std::to_string(row.param.step); });

// Collections that are not saved in EVAL and PREDICT.
using CollectionInMode = std::tuple<const char*, Mode>;
class TrainingOnly : public StepsAndModes, public ::testing::WithParamInterface<CollectionInMode> {
 protected:
  static const char* name() { return std::get<0>(GetParam()); }
  // The names that are in the run after one step of the row's mode.
  Names saved(Hook& hook) {
    hook.set_mode(std::get<1>(GetParam()));
    hook.next_step();
    hook.save_tensor("t", view({1}), name());
    hook.save_tensor("fc.weight", view({1}));
    hook.close();
    return open_trial()->tensor_names();
  }
  static Names expected() {
    const Mode mode = std::get<1>(GetParam());
    return mode == kEvaluation || mode == kPredict ? Names{"fc.weight"} : Names{"fc.weight", "t"};
  }
};

TEST_P(TrainingOnly, collections_are_saved_in_train_and_global_only) {
  options.include_collections = {"weights", name()};
  auto hook = make_hook();
  hook->get_collection(name()).include("^t$");
  EXPECT_EQ(saved(*hook), expected());
}

TEST_P(TrainingOnly, collections_are_so_though_configured_for_the_mode) {
  options.include_collections = {"weights", name()};
  auto hook = make_hook();
  hook->get_collection(name()).include("^t$").set_save_config(
      {.mode_save_configs = {{std::get<1>(GetParam()), {.save_interval = 1}}}});
  EXPECT_EQ(saved(*hook), expected());
}

TEST_P(TrainingOnly, collections_are_so_though_a_call_in_the_loop_makes_them) {
  options.include_collections = {"weights", name()};
  EXPECT_EQ(saved(*make_hook()), expected());
}

TEST_P(TrainingOnly, collections_do_not_keep_others_from_saving_the_tensor) {
  options.include_collections = {"weights", name(), "mine"};
  auto hook = make_hook();
  hook->get_collection("mine").include("^t$");
  EXPECT_EQ(saved(*hook), (Names{"fc.weight", "t"}));
}

INSTANTIATE_TEST_SUITE_P(Rows, TrainingOnly,
                         ::testing::Combine(::testing::Values("gradients", "optimizer_variables"),
                                            ::testing::ValuesIn(kAllModes)),
                         [](const auto& row) {
                           return std::string(std::get<0>(row.param)) + "_in_" +
                                  std::string(to_string(std::get<1>(row.param)));
                         });

TEST_F(StepsAndModes, a_later_mode_has_its_gradients_again) {
  auto hook = make_hook();
  Steps wanted;
  for (const Mode mode : {kTraining, kEvaluation, kTraining, kPredict, kGlobal}) {
    step_in(*hook, mode);
    if (hook->wants("gradient/fc.weight")) wanted.push_back(hook->step());
  }
  EXPECT_THAT(wanted, ElementsAre(0, 2, 4));
}

// The step is the boosting iteration; the default interval is 10.
struct Boosting {
  const char* name;
  SaveConfig hook;
  std::optional<SaveConfig> collection;
  Steps train;
  Steps eval;
};

class XGBoostSteps : public StepsAndModes, public ::testing::WithParamInterface<Boosting> {};

TEST_P(XGBoostSteps, are_those_of_the_row) {
  const auto& [name, config, collection, train, eval] = GetParam();
  options.profile = Profile::XGBoost;
  options.save_config = config;
  options.include_collections = {"trees"};
  auto hook = make_hook();
  if (collection) hook->get_collection("trees").set_save_config(*collection);
  for (int step = 0; step <= 25; ++step) {
    for (const Mode mode : {kTraining, kEvaluation}) {
      hook->set_mode(mode);
      hook->next_step();
      hook->save_tensor("trees/Gain", view({1}));
    }
  }
  hook->close();
  EXPECT_EQ(open_trial()->steps(kTraining), train);
  EXPECT_EQ(open_trial()->steps(kEvaluation), eval);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, XGBoostSteps,
    ::testing::Values(
        Boosting{"default_interval", {}, {}, {0, 10, 20}, {0, 10, 20}},
        Boosting{"interval_of_the_hook", {.save_interval = 25}, {}, {0, 25}, {0, 25}},
        Boosting{"a_map_alone",
                 {.mode_save_configs = {{kEvaluation, {.save_interval = 25}}}},
                 {},
                 {0, 10, 20},
                 {0, 25}},
        Boosting{"a_collection_with_all_defaults", {}, SaveConfig{}, {0, 10, 20}, {0, 10, 20}},
        Boosting{"a_collection_with_a_map",
                 {},
                 SaveConfig{.mode_save_configs = {{kEvaluation, {.save_interval = 25}}}},
                 {0, 10, 20},
                 {0, 25}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace cupel
