// Which names the built-in collections of each profile find: the table of the specification, a row
// per collection, each with names that belong and names that do not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/error.h"

namespace cupel {
namespace {

using Names = std::vector<std::string>;

constexpr auto kGeneric = Profile::Generic;
constexpr auto kPyTorch = Profile::PyTorch;
constexpr auto kMXNet = Profile::MXNet;
constexpr auto kTensorFlow = Profile::TensorFlow;
constexpr auto kXGBoost = Profile::XGBoost;

// Names of every profile; a collection without patterns finds none of them.
const Names kOfEveryKind = {"fc1.weight", "gradient/fc1.weight",   "loss",       "val_loss",
                            "train-rmse", "validation-auc",        "labels",     "predictions",
                            "fc1/inputs", "fc1_output_0",          "layers/fc1", "metrics/acc",
                            "adam/m:0",   "hyperparameters/gamma", "trees/Gain", "accuracy"};

struct Row {
  Profile profile;
  const char* collection;
  Names holds;
  Names lacks;
};

Row without_patterns(Profile profile, const char* collection) {
  return {profile, collection, {}, kOfEveryKind};
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      // Names that end in [./_]grad are gradients here, not weights or biases.
      {kGeneric,
       "weights",
       {"fc1.weight", "Net_fc1.weight", "weightgrad", "fc1.grad.weight", "fc1_weights_0",
        "net/gradient/fc1.weight"},
       {"gradient/fc1.weight", "gradientweight", "fc1.weight.grad", "fc1_weight_grad",
        "fc1/weight/grad", "fc1.Weight", "fc1.bias"}},
      {kGeneric,
       "biases",
       {"fc1.bias", "Net_fc1.bias", "biasgrad", "fc1.grad.bias"},
       {"gradient/fc1.bias", "fc1.bias.grad", "fc1/bias/grad", "fc1_bias_grad", "fc1.weight"}},
      {kGeneric,
       "gradients",
       {"gradient/fc1.weight", "gradient/fc1.bias", "gradients", "fc1.weight.grad", "fc1/bias/grad",
        "fc1_weight_grad"},
       {"fc1.weight", "fc1/gradient", "weightgrad", "fc1.grad.weight", "Gradient/fc1"}},
      {kGeneric,
       "losses",
       {"loss", "Loss", "val_loss", "train/loss", "train.Loss", "CrossEntropyLoss_output_0",
        "loss_output"},
       {"closs", "loss_scale", "LOSS", "CrossEntropyLoss_input_0",
        "CrossEntropyLoss_input_0_output", "fc1_output_0"}},
      without_patterns(kGeneric, "all"),
      without_patterns(kGeneric, "default"),
      without_patterns(kGeneric, "metrics"),
      without_patterns(kGeneric, "inputs"),
      without_patterns(kGeneric, "outputs"),
      without_patterns(kGeneric, "layers"),
      without_patterns(kGeneric, "predictions"),
      without_patterns(kGeneric, "labels"),
      without_patterns(kGeneric, "sm_metrics"),

      {kPyTorch,
       "weights",
       {"Net_fc1.weight", "conv1.weight", "Net_fc1.weight.grad"},
       {"gradient/Net_fc1.weight", "gradient_weight", "Net_fc1.bias", "fc1.Weight"}},
      {kPyTorch,
       "biases",
       {"Net_fc1.bias", "conv1.bias", "Net_fc1.bias.grad"},
       {"gradient/Net_fc1.bias", "gradient_bias", "Net_fc1.weight"}},
      {kPyTorch,
       "gradients",
       {"gradient/Net_fc1.weight", "gradient/Net_fc1.bias"},
       {"Net_fc1.weight", "Net_gradient/fc1", "Net_fc1.weight.grad"}},
      {kPyTorch,
       "losses",
       {"CrossEntropyLoss_output_0", "Net_loss_output_0", "loss", "train/Loss"},
       {"CrossEntropyLoss_input_0", "loss_input_output", "closs", "fc1_output_0", "fc1_input_0"}},
      without_patterns(kPyTorch, "all"),
      without_patterns(kPyTorch, "default"),

      {kMXNet,
       "weights",
       {"conv0_weight", "dense1_weight"},
       {"gradient/conv0_weight", "conv0_bias", "conv0_Weight"}},
      {kMXNet,
       "biases",
       {"conv0_bias", "dense1_bias"},
       {"gradient/conv0_bias", "conv0_weight", "conv0_beta"}},
      {kMXNet,
       "gradients",
       {"gradient/conv0_weight", "gradient/conv0_bias"},
       {"conv0_weight", "conv0_gradient", "conv0_weight_grad"}},
      // One character, the block's number, stands between "loss" and the underscore.
      {kMXNet,
       "losses",
       {"softmaxcrossentropyloss0_output_0", "l2loss1_output_0"},
       {"softmaxcrossentropyloss0_input_0", "loss0_input_output", "softmaxloss_output_0", "loss",
        "Loss0_output_0", "conv0_output_0"}},
      without_patterns(kMXNet, "all"),
      without_patterns(kMXNet, "default"),

      {kTensorFlow,
       "biases",
       {"dense/bias:0", "dense/weights/bias:0"},
       {"gradients/dense/biasGrad", "gradient/bias", "dense/kernel:0"}},
      {kTensorFlow, "losses", {"loss", "val_loss"}, {"my_loss", "loss_1", "Loss", "val_lossy"}},
      without_patterns(kTensorFlow, "weights"),
      without_patterns(kTensorFlow, "gradients"),
      without_patterns(kTensorFlow, "all"),
      without_patterns(kTensorFlow, "default"),
      without_patterns(kTensorFlow, "metrics"),
      without_patterns(kTensorFlow, "inputs"),
      without_patterns(kTensorFlow, "outputs"),
      without_patterns(kTensorFlow, "layers"),
      without_patterns(kTensorFlow, "optimizer_variables"),
      without_patterns(kTensorFlow, "sm_metrics"),

      // The data are called as the user likes; only "/" is not in their names. Metrics that grow
      // are
      // no losses, whatever threshold or truncation follows their names.
      {kXGBoost,
       "losses",
       {"train-rmse", "validation-mae", "train-error@0.7", "my_eval-rmse", "validation_0-rmse",
        "fold1-rmse", "train-merror@2", "a b-logloss", "daten-ä-rmse", "train-myauc",
        "train-aft-nloglik", "train-tweedie-nloglik@1.5", "auc-rmse", "train-auc-pr"},
       {"validation-auc", "validation-aucpr", "train-map", "train-map@3", "train-ndcg",
        "train-ndcg@2", "train-ndcg@2-", "train-map-", "train-pre@1", "train-ams@0.15",
        "my-eval-auc", "train-interval-regression-accuracy", "train-", "-rmse", "rmse", "a/b-rmse",
        "trees/a-b", "feature_importance/gain/a-b"}},
      {kXGBoost,
       "metrics",
       {"train-rmse", "validation-auc", "validation-map", "my_eval-rmse", "validation_0-rmse",
        "fold1-rmse", "train-error@0.7", "train-ndcg@2-", "train-auc-pr", "a b-logloss",
        "train-interval-regression-accuracy"},
       {"train-", "-rmse", "rmse", "a/b-rmse", "train-a/b", "average_shap/a-b"}},
      {kXGBoost,
       "hyperparameters",
       {"hyperparameters/eta", "hyperparameters/max_depth", "hyperparameters/"},
       {"hyperparameters", "my/hyperparameters/eta", "Hyperparameters/eta"}},
      {kXGBoost, "predictions", {"predictions"}, {"predictions_0", "my_predictions", "prediction"}},
      {kXGBoost, "labels", {"labels"}, {"labels_0", "my_labels", "label"}},
      {kXGBoost,
       "feature_importance",
       {"feature_importance/gain/f1", "feature_importance/weight/f2"},
       {"feature_importance", "x/feature_importance/gain", "average_shap/f1"}},
      // Only the name "bias" is left out; the reference's character class lost radius and a too.
      {kXGBoost,
       "average_shap",
       {"average_shap/f1", "average_shap/radius", "average_shap/a", "average_shap/unbias"},
       {"average_shap/bias", "average_shap/", "x/average_shap/f1", "full_shap/f1"}},
      {kXGBoost,
       "full_shap",
       {"full_shap/matrix", "full_shap/f1", "full_shap/alias"},
       {"full_shap/bias", "full_shap/", "x/full_shap/f1", "average_shap/f1"}},
      {kXGBoost, "trees", {"trees/Gain", "trees/Split"}, {"trees", "my/trees/Gain", "Trees/Gain"}},
      without_patterns(kXGBoost, "all"),
      without_patterns(kXGBoost, "default"),
  };
  return table;
}

std::string name_of(Profile profile) {
  switch (profile) {
    case Profile::Generic:
      return "generic";
    case Profile::PyTorch:
      return "pytorch";
    case Profile::MXNet:
      return "mxnet";
    case Profile::TensorFlow:
      return "tensorflow";
    case Profile::XGBoost:
      return "xgboost";
  }
  return "unknown";
}

class BuiltinPatterns : public ::testing::TestWithParam<Row> {};

TEST_P(BuiltinPatterns, find_the_names_of_their_row_and_no_others) {
  const auto& [profile, name, holds, lacks] = GetParam();
  const Collection collection = builtin_collections(profile).at(name);
  for (const std::string& tensor : holds) EXPECT_TRUE(collection.contains(tensor)) << tensor;
  for (const std::string& tensor : lacks) EXPECT_FALSE(collection.contains(tensor)) << tensor;
}

INSTANTIATE_TEST_SUITE_P(Rows, BuiltinPatterns, ::testing::ValuesIn(rows()), [](const auto& row) {
  return name_of(row.param.profile) + "_" + row.param.collection;
});

TEST(BuiltinCollections, every_one_of_every_profile_has_its_row) {
  for (const Profile profile : {kGeneric, kPyTorch, kMXNet, kTensorFlow, kXGBoost}) {
    std::set<std::string> expected;
    for (const Row& row : rows())
      if (row.profile == profile) expected.insert(row.collection);
    std::set<std::string> built;
    for (const auto& [name, collection] : builtin_collections(profile)) {
      EXPECT_EQ(collection.name(), name);
      built.insert(name);
    }
    EXPECT_EQ(built, expected) << name_of(profile);
  }
}

TEST(BuiltinCollections, the_patterns_are_written_as_the_reference_writes_them) {
  const auto texts = [](Profile profile, const char* name) {
    return builtin_collections(profile).at(name).include_regex().texts();
  };
  EXPECT_EQ(texts(kPyTorch, "weights"), Names{"^(?!gradient).*weight"});
  EXPECT_EQ(texts(kPyTorch, "biases"), Names{"^(?!gradient).*bias"});
  EXPECT_EQ(texts(kPyTorch, "gradients"), Names{"^gradient"});
  EXPECT_EQ(texts(kPyTorch, "losses"), (Names{"[Ll]oss_(?!input).*output", "(^|[/_.])[Ll]oss$"}));
  EXPECT_EQ(texts(kMXNet, "losses"), Names{".*loss._(?!input).*output"});
  EXPECT_EQ(texts(kXGBoost, "trees"), Names{"^trees/.*"});
}

TEST(BuiltinCollections, those_always_saved_depend_on_the_profile) {
  EXPECT_EQ(default_saved_collections(kTensorFlow), (Names{"metrics", "losses", "sm_metrics"}));
  EXPECT_EQ(default_saved_collections(kXGBoost), Names{"metrics"});
  for (const Profile profile : {kGeneric, kPyTorch, kMXNet})
    EXPECT_EQ(default_saved_collections(profile), Names{"losses"});
}

TEST(BuiltinCollections, special_sets_are_known_by_name) {
  for (const char* name : {"losses", "metrics", "feature_importance", "average_shap", "sm_metrics"})
    EXPECT_TRUE(is_scalar_collection(name)) << name;
  EXPECT_FALSE(is_scalar_collection("full_shap"));
  EXPECT_TRUE(is_training_only_collection("gradients"));
  EXPECT_TRUE(is_training_only_collection("optimizer_variables"));
  EXPECT_FALSE(is_training_only_collection("weights"));
}

// A pattern is searched anywhere in the name, and case counts.
struct Search {
  const char* name;
  PatternList patterns;
  Names finds;
  Names misses;
};

class IncludedPatterns : public ::testing::TestWithParam<Search> {};

TEST_P(IncludedPatterns, find_the_names_of_their_row) {
  const auto& [name, patterns, finds, misses] = GetParam();
  const Collection collection = Collection("mine").include(patterns);
  for (const std::string& tensor : finds) EXPECT_TRUE(collection.contains(tensor)) << tensor;
  for (const std::string& tensor : misses) EXPECT_FALSE(collection.contains(tensor)) << tensor;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, IncludedPatterns,
    ::testing::Values(
        Search{
            "relu_star_is_rel_and_any_u", "relu*", {"rel", "net/rel_7", "reluuu"}, {"Relu", "re"}},
        Search{"unanchored", "fc1", {"fc1", "net.fc1.weight", "fc10"}, {"fc2", "FC1"}},
        Search{"anchored_at_both_ends", "^fc1$", {"fc1"}, {"fc10", "net.fc1", ""}},
        Search{"text", std::string("relu"), {"relu_0"}, {"tanh_0"}},
        Search{"text_view", std::string_view("relu"), {"relu_0"}, {"tanh_0"}},
        Search{"list_in_braces", {"relu", "tanh"}, {"relu_0", "tanh_0"}, {"gelu_0"}},
        Search{"vector_of_texts", Names{"relu", "tanh"}, {"relu_0", "tanh_0"}, {"gelu_0"}},
        Search{"no_pattern", {}, {}, {"relu_0", ""}},
        Search{"comma_within_a_pattern", "^x{1,2}$", {"x", "xx"}, {"xxx", "x{1"}},
        Search{"look_ahead", "relu_(?!input)", {"relu_output"}, {"relu_input"}},
        Search{"look_behind", "(?<!pre)act$", {"act", "fc_act"}, {"preact"}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace cupel
