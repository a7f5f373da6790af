// Mistakes, errors of XGBoost, and texts of XGBoost that are not as expected: training goes on, one
// collection is left out, and the report names the reason once.

#include <limits>

#include "../../xgboost/src/library_calls.h"
#include "boosting.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::Labels;
using testing::library_spy;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class WatchBadInput : public testing::WatchTest {};

// ---- The constructor

TEST_F(WatchBadInput, a_hook_of_another_profile_is_a_usage_error) {
  prepare_binary();
  options.profile = Profile::Generic;
  auto hook = make_hook();
  EXPECT_THROW(xgboost::Watch(*hook, model->handle()), UsageError);
}

TEST_F(WatchBadInput, a_booster_that_is_null_is_a_usage_error) {
  auto hook = make_hook();
  EXPECT_THROW(xgboost::Watch(*hook, nullptr), UsageError);
}

TEST_F(WatchBadInput, data_of_evals_that_are_null_are_a_usage_error_with_their_name) {
  prepare_binary();
  auto hook = make_hook();
  try {
    xgboost::Watch(*hook, model->handle(), {.evals = {{"held out", nullptr}}});
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("held out"));
  }
}

// ---- Data that are not given, or cannot give it

TEST_F(WatchBadInput, collections_whose_data_are_not_given_are_left_out_with_one_warning_each) {
  prepare_binary();
  options.include_collections = {"predictions", "labels", "average_shap", "full_shap",
                                 "hyperparameters"};
  const HookReport report = run(3, {.evals = {{"train", train->handle()}}});
  EXPECT_THAT(
      report.problems,
      UnorderedElementsAre(
          AllOf(HasSubstr("predictions is left out"), HasSubstr("no validation_data")),
          AllOf(HasSubstr("labels is left out"), HasSubstr("no validation_data")),
          AllOf(HasSubstr("average_shap is left out"), HasSubstr("no train_data")),
          AllOf(HasSubstr("full_shap is left out"), HasSubstr("no train_data")),
          AllOf(HasSubstr("hyperparameters is left out"), HasSubstr("no hyperparameters"))));
  EXPECT_THAT(saved_names(), ElementsAre("train-logloss"));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2));
}

TEST_F(WatchBadInput, metrics_without_evals_and_without_a_text_are_left_out_with_one_warning) {
  prepare_binary();
  options.include_collections = {"trees"};
  EXPECT_THAT(run(3, {}).problems,
              ElementsAre(AllOf(HasSubstr("metrics is left out from step 0 on"),
                                HasSubstr("no evals, and no text"))));
}

TEST_F(WatchBadInput, metrics_without_evals_are_no_problem_where_a_text_is_given) {
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle());
  for (int i = 0; i < 2; ++i) watch.after_iteration(i, "[0]\ttrain-rmse:0.5");
  EXPECT_THAT(hook->close().problems, IsEmpty());
}

TEST_F(WatchBadInput, metrics_without_evals_are_no_problem_where_they_are_not_due) {
  prepare_binary();
  options.include_collections = {"trees"};
  auto hook = make_hook();
  hook->get_collection("metrics").set_save_config({.end_step = 0});
  xgboost::Watch watch(*hook, model->handle());
  model->update(0, *train);
  watch.after_iteration(0);
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_THAT(saved_names(), Contains("trees/Gain"));
}

TEST_F(WatchBadInput, hyperparameters_that_are_not_given_are_no_problem_where_all_is_saved) {
  prepare_binary();
  options.save_all = true;
  EXPECT_THAT(run(1).problems, IsEmpty());
}

TEST_F(WatchBadInput, labels_of_data_without_labels_are_left_out_with_one_warning) {
  prepare_binary();
  options.include_collections = {"labels", "predictions"};
  const testing::Data bare({.rows = 5, .labels = Labels::None});
  const HookReport report =
      run(3, {.evals = {{"train", train->handle()}}, .validation_data = bare.handle()});
  EXPECT_THAT(report.problems, ElementsAre(AllOf(HasSubstr("labels is left out from step 0 on"),
                                                 HasSubstr("the data have no labels"))));
  EXPECT_THAT(saved_names(), ElementsAre("predictions", "train-logloss"));
}

TEST_F(WatchBadInput, gblinear_leaves_trees_and_importance_out_with_one_warning_each) {
  prepare({{"objective", "reg:squarederror"}, {"booster", "gblinear"}}, {.labels = Labels::Real});
  options.save_all = true;
  EXPECT_THAT(run(3).problems,
              UnorderedElementsAre(
                  AllOf(HasSubstr("feature_importance is left out"), HasSubstr("gblinear")),
                  AllOf(HasSubstr("trees is left out"), HasSubstr("gblinear"))));
  EXPECT_EQ(library_spy().calls["XGBoosterSlice"], 0) << "XGBoost 1.7 leaks where it refuses";
  EXPECT_THAT(saved_names(), IsSupersetOf({"predictions", "full_shap/matrix", "average_shap/f0"}));
}

TEST_F(WatchBadInput, trees_with_several_outputs_leave_out_what_xgboost_refuses) {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  prepare({{"objective", "reg:squarederror"},
           {"tree_method", "hist"},
           {"multi_strategy", "multi_output_tree"}},
          {.labels = Labels::TwoTargets});
  options.include_collections = {"trees", "average_shap", "full_shap", "predictions"};
  const HookReport report = run(3);
  EXPECT_THAT(saved_names(), Contains("predictions"));
  if (major < 2) {  // knows no such parameter, and grows a tree for each output
    EXPECT_THAT(report.problems, IsEmpty());
    EXPECT_THAT(saved_names(), IsSupersetOf({"trees/Gain", "average_shap/f0", "full_shap/matrix"}));
  } else {
    EXPECT_THAT(report.problems, UnorderedElementsAre(HasSubstr("trees is left out"),
                                                      HasSubstr("average_shap is left out"),
                                                      HasSubstr("full_shap is left out")));
  }
}

TEST_F(WatchBadInput, categories_whose_types_nobody_gives_leave_out_trees) {
  prepare({{"objective", "reg:squarederror"}, {"tree_method", "hist"}},
          {.labels = Labels::Real, .categorical = true});
  options.include_collections = {"trees"};
  EXPECT_THAT(run(2, {}).problems,
              UnorderedElementsAre(AllOf(HasSubstr("trees is left out"), HasSubstr("categorical")),
                                   HasSubstr("metrics is left out")));
}

TEST_F(WatchBadInput, an_iteration_before_the_first_update_saves_a_model_without_trees) {
  prepare_binary();
  options.include_collections = {"trees"};
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), {.train_data = train->handle()});
  model->set("base_score", "0.5");
  watch.after_iteration(0);
  model->update(1, *train);
  watch.after_iteration(1);
  hook->close();
  EXPECT_FALSE(values<double>("trees/Gain", 1).empty());
}

// ---- Errors of the C API

struct Failing {
  const char* function;
  std::vector<std::string> left_out;
};

void PrintTo(const Failing& row, std::ostream* out) { *out << row.function; }

class WatchFailing : public testing::WatchTest, public ::testing::WithParamInterface<Failing> {};

INSTANTIATE_TEST_SUITE_P(
    Rows, WatchFailing,
    ::testing::Values(
        Failing{"XGBoosterEvalOneIter", {"metrics"}},
        Failing{"XGBoosterPredictFromDMatrix", {"predictions", "average_shap", "full_shap"}},
        Failing{"XGDMatrixNumRow", {"labels"}}, Failing{"XGDMatrixGetFloatInfo", {"labels"}},
        Failing{"XGBoosterFeatureScore", {"feature_importance"}},
        Failing{"XGBoosterSaveJsonConfig", {"feature_importance", "trees"}},
        Failing{"XGBoosterBoostedRounds", {"trees"}}, Failing{"XGBoosterSlice", {"trees"}},
        Failing{"XGBoosterDumpModelExWithFeatures", {"trees"}},
        Failing{"XGBoosterGetNumFeature",
                {"feature_importance", "average_shap", "full_shap", "trees"}},
        Failing{"XGBoosterGetStrFeatureInfo", {}}, Failing{"XGDMatrixGetStrFeatureInfo", {}}),
    [](const auto& row) { return std::string(row.param.function); });

TEST_P(WatchFailing, leaves_its_collections_out_once_with_the_reason_alone) {
  prepare_binary();
  options.save_all = true;
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  for (int i = 0; i < 3; ++i) {
    model->update(i, *train);
    library_spy().failing = {{GetParam().function,
                              "[10:09:01] /build/src/gbm/gbtree.cc:1050: Check failed: the sun "
                              "shines: \nStack trace:\n  [bt] (0) /usr/lib/libxgboost.so"}};
    watch.after_iteration(i);
    library_spy().failing.clear();
  }
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  std::vector<std::string> expected;
  for (const std::string& name : GetParam().left_out)
    expected.push_back("the collection " + name +
                       " is left out from step 0 on: Check failed: the sun shines:");
  EXPECT_THAT(report.problems, ::testing::UnorderedElementsAreArray(expected));
  const auto names = saved_names();
  for (const std::string& left_out : GetParam().left_out) {
    if (left_out == "metrics") {
      EXPECT_THAT(names, Each(Not(EndsWith("-logloss"))));
    } else {
      EXPECT_THAT(names, Each(Not(StartsWith(left_out))));
    }
  }
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2));
}

TEST_F(WatchBadInput, a_round_that_is_not_in_the_model_has_a_reason_of_ours) {
  prepare_binary();
  model->update(0, *train);
  try {
    xgboost_detail::last_layer(model->handle(), 5);
    FAIL() << "nothing was thrown";
  } catch (const xgboost_detail::LibraryError& error) {
    EXPECT_STREQ(error.what(), "the last round has no trees");
  }
}

TEST_F(WatchBadInput, an_error_of_xgboost_is_not_thrown_where_errors_of_the_hook_are) {
  options.on_error = OnError::Throw;
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  library_spy().failing = {{"XGBoosterEvalOneIter", "no"}};
  EXPECT_NO_THROW(watch.after_iteration(0));
}

TEST_F(WatchBadInput, metrics_of_a_distributed_training_are_read_from_a_given_text_only) {
  prepare_binary();
  library_spy().distributed = true;
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  for (int i = 0; i < 2; ++i) {
    model->update(i, *train);
    watch.after_iteration(i);
  }
  watch.after_iteration(2, "[2]\ttrain-logloss:0.5");
  EXPECT_EQ(library_spy().calls["XGBoosterEvalOneIter"], 0);
  EXPECT_THAT(hook->close().problems, ElementsAre(HasSubstr("evaluate together")));
  EXPECT_EQ(values<double>("train-logloss", 2), std::vector<double>{0.5});
}

// ---- Values and texts

TEST_F(WatchBadInput, metrics_that_are_no_numbers_or_infinite_are_kept) {
  prepare_binary();
  library_spy().evaluation = "[0]\t0-a:nan\t0-b:-nan\t0-c:inf\t0-d:-inf\t1-a:1e+300";
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_TRUE(std::isnan(values<double>("train-a", 0)[0]));
  EXPECT_TRUE(std::isnan(values<double>("train-b", 0)[0]));
  EXPECT_EQ(values<double>("train-c", 0)[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(values<double>("train-d", 0)[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(values<double>("validation-a", 0)[0], 1e300);
}

TEST_F(WatchBadInput, metrics_of_xgboost_itself_may_be_infinite_or_no_number) {
  prepare({{"objective", "reg:squarederror"}, {"base_score", "3e38"}, {"eta", "1"}},
          {.labels = Labels::Real});
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_EQ(values<double>("train-rmse", 0).size(), 1U);
}

TEST_F(WatchBadInput, data_of_evals_may_be_called_as_the_user_likes) {
  prepare_binary();
  const std::vector<std::string> names = {"a b", "c:d", "e\tf", "g-h", "größe", "i/j", "[1]", "2"};
  xgboost::WatchOptions watched;
  for (const std::string& name : names) watched.evals.emplace_back(name, train->handle());
  options.save_all = true;
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), watched);
  model->update(0, *train);
  watch.after_iteration(0);
  hook->close();
  for (const std::string& name : names) EXPECT_THAT(saved_names(), Contains(name + "-logloss"));
}

TEST_F(WatchBadInput, a_text_that_is_no_evaluation_is_reported_once) {
  prepare_binary();
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  watch.after_iteration(0, "[0]\ttrain-rmse:0.5\tvalidation-rmse:a lot");
  watch.after_iteration(1, "");
  watch.after_iteration(2, "[");
  watch.after_iteration(3, std::string_view("\0\t:\x1b[2J:5", 9));
  watch.after_iteration(4, std::string(100000, '\t') + "a");
  watch.after_iteration(5, "[5]\ttrain-rmse:0.25");
  EXPECT_THAT(hook->close().problems, Contains(HasSubstr("\"validation-rmse:a lot\"")).Times(1));
  EXPECT_EQ(values<double>("train-rmse", 0), std::vector<double>{0.5});
  EXPECT_EQ(values<double>("train-rmse", 5), std::vector<double>{0.25});
}

TEST_F(WatchBadInput, a_text_is_read_before_a_call_of_xgboost_may_write_over_it) {
  prepare_binary();
  options.save_all = true;
  auto hook = make_hook();
  xgboost::Watch watch(*hook, model->handle(), everything());
  model->update(0, *train);
  std::string text = "[0]\ttrain-logloss:0.5";
  library_spy().before_call = [&] { text.assign(text.size(), '?'); };
  watch.after_iteration(0, text);
  library_spy().before_call = nullptr;
  EXPECT_THAT(text, StartsWith("?"));
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_EQ(values<double>("train-logloss", 0), std::vector<double>{0.5});
}

TEST_F(WatchBadInput, an_evaluation_of_unknown_data_leaves_metrics_out) {
  prepare_binary();
  library_spy().evaluation = "[0]\t7-rmse:0.5";
  EXPECT_THAT(run(2).problems, ElementsAre(HasSubstr("metric of unknown data: 7-rmse")));
}

TEST_F(WatchBadInput, numbers_of_trees_that_json_has_not_are_kept) {
  prepare_binary();
  options.include_collections = {"trees"};
  library_spy().dumps = {R"({"nodeid": 0, "split": "f1", "split_condition": -inf, "yes": 1,
    "no": 2, "missing": 2, "gain": inf, "cover": nan, "children": [
    {"nodeid": 1, "leaf": -nan, "cover": 1}, {"nodeid": 2, "leaf": inf, "cover": 2}]})"};
  EXPECT_THAT(run(1).problems, IsEmpty());
  const auto gain = values<double>("trees/Gain", 0);
  EXPECT_EQ(gain[0], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(gain[1]));
  EXPECT_EQ(gain[2], std::numeric_limits<double>::infinity());
  EXPECT_EQ(values<double>("trees/Split", 0)[0], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(values<double>("trees/Cover", 0)[0]));
  EXPECT_THAT(texts("trees/Feature", 0), ElementsAre("f1", "Leaf", "Leaf"));
}

class WatchBadDump : public testing::WatchTest,
                     public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Dumps, WatchBadDump,
                         ::testing::Values("{", "[]", "nonsense", "{}", R"({"nodeid": "x"})",
                                           R"({"nodeid": 0, "children": [{}]})",
                                           R"({"nodeid": 0.5})", "{\"nodeid\": 0", "\x01",
                                           R"({"nodeid": 0}{"nodeid": 1})"));

TEST_P(WatchBadDump, leaves_trees_out_with_one_warning) {
  prepare_binary();
  options.include_collections = {"trees"};
  library_spy().dumps = {GetParam()};
  EXPECT_THAT(run(2).problems, ElementsAre(AllOf(HasSubstr("trees is left out from step 0 on"),
                                                 HasSubstr("cannot be read"))));
}

TEST_F(WatchBadInput, fields_of_a_dump_that_are_not_known_are_passed_over) {
  prepare_binary();
  options.include_collections = {"trees"};
  library_spy().dumps = {R"({"version": [1, {"nodeid": 9}], "more": {"nodeid": 8, "children": [{}]},
    "nodeid": 0, "flag": true, "none": null, "split": "other", "yes": 1, "no": 2, "children": [
    {"nodeid": 2, "leaf": 0.5}, {"nodeid": 1, "leaf": 0.25}]})"};
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_EQ(values<std::int64_t>("trees/Node", 0), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_THAT(texts("trees/Feature", 0), ElementsAre("other", "Leaf", "Leaf"));
  EXPECT_THAT(texts("trees/Yes", 0), ElementsAre("0-1", "nan", "nan"));
  EXPECT_THAT(texts("trees/Missing", 0), Each("nan"));
}

TEST_F(WatchBadInput, a_tree_may_be_deeper_than_a_call_stack) {
  prepare_binary();
  options.include_collections = {"trees"};
  constexpr int kDepth = 200000;
  std::string dump;
  for (int i = 0; i < kDepth; ++i)
    dump += "{\"nodeid\":" + std::to_string(i) + ",\"split\":\"f0\",\"children\":[";
  dump += "{\"nodeid\":" + std::to_string(kDepth) + ",\"leaf\":1}";
  for (int i = 0; i < kDepth; ++i) dump += "]}";
  library_spy().dumps = {dump};
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_EQ(values<double>("trees/Gain", 0).size(), kDepth + 1U);
}

TEST_F(WatchBadInput, texts_of_a_dump_may_hold_quotes_and_words_for_numbers) {
  prepare_binary();
  options.include_collections = {"trees"};
  library_spy().dumps = {R"({"nodeid": 0, "split": "a \"nan\" \\", "split_condition": ["x", 2],
    "yes": 1, "no": 2, "missing": 1, "children": [{"nodeid": 1, "leaf": 1},
    {"nodeid": 2, "leaf": 2}]})"};
  EXPECT_THAT(run(1).problems, IsEmpty());
  EXPECT_THAT(texts("trees/Feature", 0), ElementsAre("a \"nan\" \\", "Leaf", "Leaf"));
  EXPECT_THAT(texts("trees/Category", 0), ElementsAre("x,2", "nan", "nan"));
}

}  // namespace
}  // namespace cupel
