// Iterations as steps: their numbers, their commits, a second training, and the end that a rule
// asks for.

#include <chrono>
#include <set>

#include "boosting.h"
#include "cupel/format/layout.h"
#include "cupel/format/stop_file.h"
#include "store/wrapped_store.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A store whose appends fail once a test wants that.
class FailingStore final : public testing::WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  bool fails = false;
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    if (fails) throw StoreError(std::string(key), false, "the disk is gone", "memory:");
    WrappedStore::append(key, size, pieces);
  }
};

class WatchSteps : public testing::WatchTest {
 protected:
  // Iterations 0 to n - 1 of a training of the model.
  void train_on(xgboost::Watch& watch, int iterations) {
    for (int i = 0; i < iterations; ++i) {
      model->update(i, *train);
      watch.after_iteration(i);
    }
  }
  std::set<std::int64_t> trees_at(std::int64_t step) const {
    const auto trees = values<std::int64_t>("trees/Tree", step);
    return {trees.begin(), trees.end()};
  }
};

TEST_F(WatchSteps, are_the_iterations_globally_and_of_the_mode) {
  prepare_binary();
  auto hook = make_hook();
  hook->set_mode(Mode::Train);
  xgboost::Watch watch(*hook, model->handle(), everything());
  for (const int iteration : {0, 1, 5, 9}) {
    model->update(iteration, *train);
    watch.after_iteration(iteration);
    EXPECT_EQ(hook->step(), iteration);
    EXPECT_EQ(hook->mode_step(Mode::Train), iteration);
  }
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 5, 9));
  EXPECT_THAT(open_trial()->steps(Mode::Train), ElementsAre(0, 1, 5, 9));
}

TEST_F(WatchSteps, are_saved_every_ten_iterations_by_default) {
  options.save_config = {};
  prepare_binary();
  run(25);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 10, 20));
}

TEST_F(WatchSteps, are_committed_before_the_call_returns) {
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  for (int i = 0; i < 3; ++i) {
    model->update(i, *train);
    watch.after_iteration(i);
    EXPECT_EQ(hook->committed_step(), i);
    EXPECT_THAT(open_trial()->steps(), SizeIs(i + 1));
  }
}

TEST_F(WatchSteps, take_scalars_that_are_saved_between_two_iterations) {
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  for (int i = 0; i < 2; ++i) {
    model->update(i, *train);
    hook->save_scalar("seconds", i);
    watch.after_iteration(i);
  }
  hook->close();
  EXPECT_EQ(values<double>("seconds", 1), std::vector<double>{1});
}

TEST_F(WatchSteps, of_a_second_training_go_on_behind_the_last_with_one_warning) {
  prepare_binary();
  auto hook = make_hook();
  {
    xgboost::Watch watch(*hook, model->handle(), everything());
    train_on(watch, 3);
  }
  prepare_binary();
  xgboost::Watch watch(*hook, model->handle(), everything());
  train_on(watch, 2);
  train_on(watch, 2);
  EXPECT_THAT(hook->close().problems,
              ElementsAre(AllOf(HasSubstr("iteration 0 is not behind the last step, 2"),
                                HasSubstr("goes on as step 3"))));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST_F(WatchSteps, of_a_continued_run_go_on_behind_its_last_with_one_warning) {
  prepare_binary();
  run(3);
  options.existing = Existing::Continue;
  prepare_binary();
  EXPECT_THAT(run(2).problems, ElementsAre(HasSubstr("goes on as step 3")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(WatchSteps, of_a_negative_iteration_begin_none) {
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  watch.after_iteration(-1);
  watch.after_iteration(0);
  EXPECT_THAT(hook->close().problems, ElementsAre(HasSubstr("next_step(-1)")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0));
}

TEST_F(WatchSteps, trees_of_a_model_that_is_trained_further_are_its_last) {
  options.include_collections = {"trees"};
  prepare_binary();
  for (int i = 0; i < 5; ++i) model->update(i, *train);
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  train_on(watch, 2);  // iterations 0 and 1 of a model of five rounds
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_EQ(trees_at(0), std::set<std::int64_t>{5});
  EXPECT_EQ(trees_at(1), std::set<std::int64_t>{6});
}

TEST_F(WatchSteps, trees_of_three_classes_are_three_of_each_iteration) {
  options.include_collections = {"trees"};
  prepare({{"objective", "multi:softprob"}, {"num_class", "3"}},
          {.labels = testing::Labels::Classes});
  run(3);
  EXPECT_EQ(trees_at(0), (std::set<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(trees_at(1), (std::set<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(trees_at(2), (std::set<std::int64_t>{6, 7, 8}));
}

TEST_F(WatchSteps, a_request_to_stop_is_the_answer_of_the_iteration) {
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  EXPECT_FALSE(watch.after_iteration(0));
  store->put(kStopFile, encode_stop_file({.rule = "Overfit", .step = 0, .reason = "enough"}));
  // The hook looks for requests every 100 ms.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool stops = false;
  for (int i = 1; !stops && std::chrono::steady_clock::now() < until; ++i)
    stops = watch.after_iteration(i);
  EXPECT_TRUE(stops);
}

TEST_F(WatchSteps, reductions_of_the_hook_are_ignored_with_a_warning) {
  options.include_collections = {"trees"};
  options.reduction_config = ReductionConfig{.reductions = {"mean"}};
  prepare_binary();
  run(1);
  EXPECT_THAT(logged_, HasSubstr("reduction_config of the hook is ignored"));
  EXPECT_FALSE(values<double>("trees/Gain", 0).empty());
}

TEST_F(WatchSteps, reductions_of_a_collection_are_saved) {
  options.include_collections = {"predictions"};
  prepare_binary();
  auto hook = make_hook();
  hook->get_collection("predictions").set_reduction_config({.reductions = {"mean"}});
  xgboost::Watch watch(*hook, model->handle(), everything());
  train_on(watch, 1);
  hook->close();
  EXPECT_FALSE(open_trial()->tensor("predictions").record(0).has_value);
  EXPECT_GT(open_trial()->tensor("predictions").reduction_value(0, "mean"), 0);
}

TEST_F(WatchSteps, a_given_evaluation_takes_the_place_of_our_own) {
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  watch.after_iteration(0, "[0]\tmine-rmse:0.25\tother-auc:0.75");
  EXPECT_EQ(testing::library_spy().calls["XGBoosterEvalOneIter"], 0);
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_THAT(saved_names(), ElementsAre("mine-rmse", "other-auc"));
  EXPECT_EQ(values<double>("mine-rmse", 0), std::vector<double>{0.25});
}

TEST_F(WatchSteps, a_watch_may_be_destroyed_before_and_behind_hook_and_booster) {
  prepare_binary();
  options.save_all = true;
  auto hook = make_hook();
  auto watch = std::make_unique<xgboost::Watch>(*hook, model->handle(), everything());
  train_on(*watch, 1);
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_FALSE(watch->after_iteration(1)) << "behind close() nothing is saved";
  hook.reset();
  model.reset();
  watch.reset();
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0));
}

TEST_F(WatchSteps, throw_nothing_and_compute_nothing_where_the_store_fails) {
  prepare_binary();
  options.save_all = true;
  const auto failing = std::make_shared<FailingStore>(store);
  Hook hook(options, failing);
  xgboost::Watch watch(hook, model->handle(), everything());
  train_on(watch, 1);
  failing->fails = true;
  for (int i = 1; i < 4; ++i) {
    model->update(i, *train);
    testing::library_spy().calls.clear();
    EXPECT_NO_THROW(EXPECT_FALSE(watch.after_iteration(i)));
  }
  EXPECT_THAT(testing::library_spy().calls, IsEmpty()) << "saving has ended";
  EXPECT_TRUE(hook.close().disabled);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0));
}

TEST_F(WatchSteps, of_a_thousand_iterations_leave_no_booster_behind) {
  prepare_binary();
  options.save_all = true;
  auto hook = make_hook();
  for (const char* name : {"average_shap", "full_shap"})
    hook->get_collection(name).set_save_config({.save_interval = 100});
  xgboost::Watch watch(*hook, model->handle(), everything());
  train_on(watch, 1000);
  EXPECT_THAT(hook->close().problems, IsEmpty());
  auto& calls = testing::library_spy().calls;
  EXPECT_EQ(calls["XGBoosterSlice"], 1000);
  EXPECT_EQ(calls["XGBoosterFree"], 1000);
  EXPECT_THAT(open_trial()->steps(), SizeIs(1000));
}

TEST_F(WatchSteps, every_booster_that_the_watch_makes_is_freed) {
  prepare_binary();
  options.include_collections = {"trees"};
  run(20);
  auto& calls = testing::library_spy().calls;
  EXPECT_EQ(calls["XGBoosterSlice"], 20);
  EXPECT_EQ(calls["XGBoosterFree"], calls["XGBoosterSlice"]);
}

}  // namespace
}  // namespace cupel
