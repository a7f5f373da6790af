// Nothing is computed that is not due: which functions of the C API a watch calls.

#include "boosting.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::library_spy;
using Calls = std::map<std::string, int>;

// A collection, what it is asked by, and how often at each due step.
struct Computed {
  const char* collection;
  Calls calls;
};

void PrintTo(const Computed& row, std::ostream* out) { *out << row.collection; }

class NotDue : public testing::WatchTest {
 protected:
  // The calls that compute something, of one iteration.
  Calls calls_at(xgboost::Watch& watch, int iteration) {
    model->update(iteration, *train);
    library_spy().calls.clear();
    watch.after_iteration(iteration);
    Calls calls;
    for (const char* name :
         {"XGBoosterEvalOneIter", "XGBoosterPredictFromDMatrix", "XGBoosterFeatureScore",
          "XGBoosterSlice", "XGBoosterDumpModelExWithFeatures", "XGDMatrixGetFloatInfo"})
      if (const int count = library_spy().calls[name]; count > 0) calls[name] = count;
    return calls;
  }
};

class OneCollection : public NotDue, public ::testing::WithParamInterface<Computed> {};

INSTANTIATE_TEST_SUITE_P(
    Rows, OneCollection,
    ::testing::Values(Computed{"metrics", {{"XGBoosterEvalOneIter", 1}}},
                      Computed{"losses", {{"XGBoosterEvalOneIter", 1}}},
                      Computed{"hyperparameters", {}},
                      Computed{"predictions", {{"XGBoosterPredictFromDMatrix", 1}}},
                      Computed{"labels", {{"XGDMatrixGetFloatInfo", 1}}},
                      Computed{"feature_importance", {{"XGBoosterFeatureScore", 5}}},
                      Computed{"average_shap", {{"XGBoosterPredictFromDMatrix", 1}}},
                      Computed{"full_shap", {{"XGBoosterPredictFromDMatrix", 1}}},
                      Computed{"trees",
                               {{"XGBoosterSlice", 1}, {"XGBoosterDumpModelExWithFeatures", 1}}}),
    [](const auto& row) { return std::string(row.param.collection); });

TEST_P(OneCollection, is_computed_at_its_steps_and_nothing_else_is) {
  prepare_binary();
  const std::string name = GetParam().collection;
  options.include_collections = {name};
  auto hook = make_hook();
  if (name != "metrics") hook->get_collection("metrics").set_save_config({.end_step = 0});
  hook->get_collection(name).set_save_config({.save_interval = 2});
  xgboost::Watch watch(*hook, model->handle(), everything());
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(calls_at(watch, i), i % 2 == 0 ? GetParam().calls : Calls{}) << "iteration " << i;
}

TEST_F(NotDue, an_iteration_without_anything_due_makes_no_call_at_all) {
  prepare_binary();
  options.save_all = true;
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  calls_at(watch, 0);
  model->update(1, *train);
  library_spy().calls.clear();
  watch.after_iteration(1);
  EXPECT_THAT(library_spy().calls, IsEmpty());
}

TEST_F(NotDue, contributions_are_computed_once_for_both_collections) {
  prepare_binary();
  options.include_collections = {"average_shap", "full_shap"};
  auto hook = make_hook();
  hook->get_collection("metrics").set_save_config({.end_step = 0});
  xgboost::Watch watch(*hook, model->handle(), everything());
  EXPECT_EQ(calls_at(watch, 0), (Calls{{"XGBoosterPredictFromDMatrix", 1}}));
}

TEST_F(NotDue, a_pattern_for_one_type_of_importance_asks_for_that_type_alone) {
  prepare_binary();
  options.include_regex = {"^feature_importance/gain/"};
  auto hook = make_hook();
  hook->get_collection("metrics").set_save_config({.end_step = 0});
  xgboost::Watch watch(*hook, model->handle(), everything());
  calls_at(watch, 0);  // metrics have no names yet
  EXPECT_EQ(calls_at(watch, 1), (Calls{{"XGBoosterFeatureScore", 1}}));
}

TEST_F(NotDue, a_pattern_for_metrics_of_some_data_evaluates_these_data_alone) {
  prepare_binary();
  options.include_regex = {"^validation-logloss$"};
  auto hook = make_hook();
  hook->get_collection("metrics").set_save_config({.end_step = 0});
  xgboost::Watch watch(*hook, model->handle(), everything());
  calls_at(watch, 0);  // metrics have no names yet
  EXPECT_EQ(calls_at(watch, 1), (Calls{{"XGBoosterEvalOneIter", 1}}));
  EXPECT_THAT(library_spy().evaluated, ElementsAre(validation->handle()));
  hook->close();
  EXPECT_THAT(saved_names(), ElementsAre("validation-logloss"));
  DMatrixHandle data[] = {validation->handle()};
  const char* names[] = {"v"};
  const char* text = nullptr;
  testing::must(XGBoosterEvalOneIter(model->handle(), 1, data, names, 1, &text));
  const std::string expected = text;
  EXPECT_EQ(values<double>("validation-logloss", 1)[0],
            std::stod(expected.substr(expected.rfind(':') + 1)));
}

TEST_F(NotDue, a_pattern_for_importance_at_other_steps_than_metrics_asks_at_its_steps) {
  prepare_binary();
  options.include_collections = {"some", "other"};
  auto hook = make_hook();
  hook->get_collection("metrics").set_save_config({.end_step = 0});
  Collection some("some");
  some.include("^feature_importance/(gain|cover)/f1$").set_save_config({.save_interval = 2});
  Collection other("other");
  other.include("^average_shap/bias$").set_save_config({.save_interval = 3});
  hook->add_collection(some);
  hook->add_collection(other);
  xgboost::Watch watch(*hook, model->handle(), everything());
  calls_at(watch, 0);  // metrics have no names yet
  const Calls importance = {{"XGBoosterFeatureScore", 2}};
  const Calls contributions = {{"XGBoosterPredictFromDMatrix", 1}};
  EXPECT_EQ(calls_at(watch, 1), Calls{});
  EXPECT_EQ(calls_at(watch, 2), importance);
  EXPECT_EQ(calls_at(watch, 3), contributions);
  EXPECT_EQ(calls_at(watch, 4), importance);
  hook->close();
  EXPECT_THAT(saved_names(), ElementsAre("average_shap/bias", "feature_importance/cover/f1",
                                         "feature_importance/gain/f1"));
}

TEST_F(NotDue, a_pattern_for_a_column_of_trees_asks_for_trees_alone) {
  prepare_binary();
  options.include_regex = {"^trees/Gain$"};
  auto hook = make_hook();
  hook->get_collection("metrics").set_save_config({.end_step = 0});
  xgboost::Watch watch(*hook, model->handle(), everything());
  calls_at(watch, 0);  // metrics have no names yet
  EXPECT_EQ(calls_at(watch, 1),
            (Calls{{"XGBoosterSlice", 1}, {"XGBoosterDumpModelExWithFeatures", 1}}));
  hook->close();
  EXPECT_THAT(saved_names(), ElementsAre("trees/Gain"));
}

TEST_F(NotDue, a_built_in_collection_with_further_patterns_gets_what_they_find) {
  prepare_binary();
  options.include_collections = {"labels"};
  auto hook = make_hook();
  hook->get_collection("labels").include("^average_shap/f1$");
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  watch.after_iteration(0);
  hook->close();
  EXPECT_THAT(saved_names(), ::testing::Contains("average_shap/f1"));
}

TEST_F(NotDue, a_given_evaluation_is_not_read_where_metrics_are_not_due) {
  prepare_binary();
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  watch.after_iteration(1, "no metrics at all");
  EXPECT_THAT(hook->close().problems, IsEmpty());
}

TEST_F(NotDue, a_hook_that_is_switched_off_computes_nothing) {
  prepare_binary();
  ASSERT_EQ(::setenv("USE_SMDEBUG", "0", 1), 0);
  options.save_all = true;
  auto hook = make_hook();
  ::unsetenv("USE_SMDEBUG");
  xgboost::Watch watch(*hook, model->handle(), everything());
  EXPECT_THAT(calls_at(watch, 0), IsEmpty());
}

TEST_F(NotDue, another_worker_than_the_chief_computes_nothing) {
  prepare_binary();
  options.save_all = true;
  options.worker = "worker_1";
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  EXPECT_THAT(calls_at(watch, 0), IsEmpty());
}

}  // namespace
}  // namespace cupel
