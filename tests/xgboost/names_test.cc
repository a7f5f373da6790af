// Names, dtypes and shapes: what is saved under which name.

#include <algorithm>

#include "boosting.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::Data;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::Labels;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class WatchNames : public testing::WatchTest {
 protected:
  std::vector<std::string> names_of(const std::string& collection) const {
    return open_trial()->tensor_names({.collection = collection});
  }
};

TEST_F(WatchNames, by_default_metrics_alone_are_saved) {
  prepare_binary();
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_THAT(saved_names(), ElementsAre("train-logloss", "validation-logloss"));
}

TEST_F(WatchNames, losses_lack_metrics_that_grow) {
  prepare({{"objective", "binary:logistic"}, {"eval_metric", "error@0.7"}});
  model->set("eval_metric", "auc");
  model->set("eval_metric", "aucpr");
  options.include_collections = {"losses"};
  run(1);
  EXPECT_THAT(names_of("losses"), UnorderedElementsAre("train-error@0.7", "validation-error@0.7"));
  EXPECT_THAT(names_of("metrics"), SizeIs(6));
}

TEST_F(WatchNames, losses_alone_may_be_saved) {
  prepare_binary();
  options.include_collections = {"losses"};
  auto hook = make_hook();
  hook->get_collection("metrics").set_save_config({.end_step = 0});
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  watch.after_iteration(0);
  hook->close();
  EXPECT_THAT(names_of("losses"), SizeIs(2));
}

TEST_F(WatchNames, data_may_be_called_as_the_scikit_learn_classes_call_them) {
  prepare_binary();
  run(1, {.evals = {{"validation_0", train->handle()}}});
  EXPECT_THAT(names_of("metrics"), ElementsAre("validation_0-logloss"));
  EXPECT_THAT(names_of("losses"), ElementsAre("validation_0-logloss"));
}

TEST_F(WatchNames, hyperparameters_are_typed_by_their_texts) {
  prepare_binary();
  options.include_collections = {"hyperparameters"};
  run(1, {.hyperparameters = {{"max_depth", "3"},
                              {"eta", "0.5"},
                              {"gamma", "1e-3"},
                              {"seed", "-9223372036854775808"},
                              {"large", "18446744073709551615"},
                              {"missing", "nan"},
                              {"objective", "binary:logistic"},
                              {"monotone_constraints", "(1,-1)"},
                              {"empty", ""},
                              {"verbose", "true"}}});
  EXPECT_EQ(values<std::int64_t>("hyperparameters/max_depth", 0), std::vector<std::int64_t>{3});
  EXPECT_EQ(values<std::int64_t>("hyperparameters/seed", 0),
            std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(values<double>("hyperparameters/eta", 0), std::vector<double>{0.5});
  EXPECT_EQ(values<double>("hyperparameters/gamma", 0), std::vector<double>{1e-3});
  EXPECT_EQ(values<double>("hyperparameters/large", 0),
            std::vector<double>{18446744073709551615.0});
  EXPECT_TRUE(std::isnan(values<double>("hyperparameters/missing", 0)[0]));
  EXPECT_THAT(texts("hyperparameters/objective", 0), ElementsAre("binary:logistic"));
  EXPECT_THAT(texts("hyperparameters/monotone_constraints", 0), ElementsAre("(1,-1)"));
  EXPECT_THAT(texts("hyperparameters/empty", 0), ElementsAre(""));
  EXPECT_THAT(texts("hyperparameters/verbose", 0), ElementsAre("true"));
  for (const std::string& name : names_of("hyperparameters"))
    EXPECT_EQ(value(name, 0).shape(), Shape({1})) << name;
}

TEST_F(WatchNames, bias_of_the_contributions_is_saved_with_all_alone) {
  prepare_binary();
  options.save_all = true;
  run(1);
  EXPECT_THAT(saved_names(), IsSupersetOf({"average_shap/f0", "average_shap/bias"}));
  EXPECT_THAT(names_of("average_shap"), Not(Contains("average_shap/bias")));
}

TEST_F(WatchNames, a_feature_called_bias_wins_over_the_bias) {
  prepare_binary();
  train->set_texts("feature_name", {"a", "bias", "c", "d"});
  options.save_all = true;
  EXPECT_THAT(run(1).problems, IsEmpty());
  const std::vector<float> matrix = values<float>("full_shap/matrix", 0);
  double sum = 0;
  for (std::size_t i = 1; i < matrix.size(); i += 5) sum += static_cast<double>(matrix[i]);
  EXPECT_FLOAT_EQ(values<float>("average_shap/bias", 0)[0],
                  static_cast<float>(sum / static_cast<double>(train->rows())));
}

TEST_F(WatchNames, everything_has_every_collection_and_no_other_name) {
  prepare_binary();
  options.save_all = true;
  auto watched = everything();
  watched.hyperparameters = {{"eta", "0.3"}};
  EXPECT_THAT(run(2, watched).problems, IsEmpty());
  const std::vector<std::string> names = saved_names();
  EXPECT_THAT(names, IsSupersetOf({"train-logloss", "validation-logloss", "hyperparameters/eta",
                                   "predictions", "labels", "feature_importance/weight/f0",
                                   "average_shap/f3", "full_shap/matrix", "trees/Gain"}));
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const std::string& name) { return name.starts_with("trees/"); }),
            11);
}

TEST_F(WatchNames, no_name_that_got_no_value_becomes_known) {
  prepare_binary();
  options.include_collections = {"feature_importance"};
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->set("max_depth", "1");  // one split: one feature is used
  model->update(0, *train);
  watch.after_iteration(0);
  EXPECT_THAT(hook->collections_now().at("feature_importance").tensor_names(), SizeIs(5));
  EXPECT_THAT(hook->close().never_saved, IsEmpty());
}

// ---- Features

TEST_F(WatchNames, features_are_called_f0_and_so_on_where_nobody_names_them) {
  prepare_binary();
  options.include_collections = {"average_shap"};
  run(1);
  EXPECT_THAT(names_of("average_shap"), UnorderedElementsAre("average_shap/f0", "average_shap/f1",
                                                             "average_shap/f2", "average_shap/f3"));
}

TEST_F(WatchNames, features_have_the_names_of_the_data) {
  prepare_binary();
  train->set_texts("feature_name", {"a", "b", "c", "d"});
  options.include_collections = {"average_shap", "feature_importance", "trees"};
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_THAT(names_of("average_shap"), UnorderedElementsAre("average_shap/a", "average_shap/b",
                                                             "average_shap/c", "average_shap/d"));
  EXPECT_THAT(names_of("feature_importance"), Contains("feature_importance/gain/a"));
  EXPECT_THAT(texts("trees/Feature", 0), Contains("a"));
}

TEST_F(WatchNames, features_have_the_names_of_the_booster_before_those_of_the_data) {
  prepare_binary();
  const char* names[] = {"w", "x", "y", "z"};
  testing::must(XGBoosterSetStrFeatureInfo(model->handle(), "feature_name", names, 4));
  options.include_collections = {"average_shap"};
  auto hook = make_hook();
  model->update(0, *train);
  train->set_texts("feature_name", {"a", "b", "c", "d"});
  xgboost::Watch(*hook, model->handle(), everything()).after_iteration(0);
  hook->close();
  EXPECT_THAT(names_of("average_shap"), Contains("average_shap/w"));
}

TEST_F(WatchNames, features_have_the_names_of_evals_where_no_other_data_are_given) {
  prepare_binary();
  train->set_texts("feature_name", {"a", "b", "c", "d"});
  options.include_collections = {"trees"};
  run(1, {.evals = {{"train", train->handle()}}});
  EXPECT_THAT(texts("trees/Feature", 0), Contains("a"));
}

TEST_F(WatchNames, features_keep_slashes_blanks_and_characters_of_any_language) {
  prepare_binary();
  const std::vector<std::string> names = {"a/b c", "Größe \"x\"\\n", "特徴", "tab\there"};
  train->set_texts("feature_name", names);
  validation->set_texts("feature_name", names);
  options.include_collections = {"average_shap", "feature_importance", "trees"};
  EXPECT_THAT(run(3).problems, IsEmpty());
  for (const std::string& name : names)
    EXPECT_THAT(names_of("average_shap"), Contains("average_shap/" + name));
  EXPECT_THAT(names_of("feature_importance"), Contains("feature_importance/gain/a/b c"));
  EXPECT_THAT(texts("trees/Feature", 0), Contains("a/b c"));
}

TEST_F(WatchNames, a_feature_may_be_as_long_as_a_tensors_name_can_hold) {
  prepare_binary();
  const std::string longest(4096 - std::string("feature_importance/total_cover/").size(), 'x');
  train->set_texts("feature_name", {longest, "b", "c", "d"});
  validation->set_texts("feature_name", {longest, "b", "c", "d"});
  options.include_collections = {"average_shap", "feature_importance", "trees"};
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_THAT(names_of("average_shap"), Contains("average_shap/" + longest));
  EXPECT_THAT(names_of("feature_importance"),
              Contains("feature_importance/total_cover/" + longest));
}

TEST_F(WatchNames, a_longer_feature_is_whole_in_trees_and_its_other_names_are_reported_once) {
  prepare_binary();
  const std::string long_name(4096, 'x');
  train->set_texts("feature_name", {long_name, "b", "c", "d"});
  validation->set_texts("feature_name", {long_name, "b", "c", "d"});
  options.include_collections = {"average_shap", "trees"};
  EXPECT_THAT(run(3).problems, ElementsAre(HasSubstr("longer than 4096 bytes")));
  EXPECT_THAT(texts("trees/Feature", 2), Contains(long_name));
  EXPECT_THAT(names_of("average_shap"), SizeIs(3));
}

TEST_F(WatchNames, whole_numbers_and_indicators_have_thresholds) {
  prepare_binary();
  for (auto* data : {&*train, &*validation})
    data->set_texts("feature_type", {"i", "q", "i", "float"});
  options.include_collections = {"trees"};
  EXPECT_THAT(run(1).problems, IsEmpty());
  const auto feature = texts("trees/Feature", 0), missing = texts("trees/Missing", 0);
  const auto split = values<double>("trees/Split", 0);
  for (std::size_t row = 0; row < feature.size(); ++row) {
    if (feature[row] == "Leaf") continue;
    EXPECT_FALSE(std::isnan(split[row])) << feature[row];
    EXPECT_NE(missing[row], "nan") << feature[row];
  }
}

}  // namespace
}  // namespace cupel
