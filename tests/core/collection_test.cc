#include "cupel/core/collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using Names = std::vector<std::string>;

TEST(Collection, holds_what_is_listed_or_matched) {
  Collection collection("mine");
  collection.include("^relu").add_tensor_name("fc1");
  EXPECT_TRUE(collection.contains("relu_0"));
  EXPECT_TRUE(collection.contains("fc1"));
  EXPECT_FALSE(collection.contains("fc10"));
}

TEST(Collection, setters_replace_and_include_appends) {
  Collection collection("mine");
  collection.include("a").set_include_regex("b").include("c");
  collection.add_tensor_name("x").set_tensor_names({"y"});
  EXPECT_EQ(collection.include_regex().texts(), (Names{"b", "c"}));
  EXPECT_FALSE(collection.contains("x"));
  EXPECT_TRUE(collection.contains("y"));
}

TEST(Collection, a_refused_configuration_leaves_the_old_one) {
  Collection collection("mine");
  collection.set_save_config({.save_interval = 3}).set_reduction_config({.norms = {"l1"}});
  EXPECT_THROW(collection.set_save_config({.save_interval = 0}), UsageError);
  EXPECT_THROW(collection.set_reduction_config({.norms = {"l3"}}), UsageError);
  EXPECT_THROW(collection.include("("), UsageError);
  EXPECT_EQ(collection.save_config()->save_interval, 3);
  EXPECT_EQ(collection.reduction_config()->norms, Names{"l1"});
  EXPECT_TRUE(collection.include_regex().empty());
}

TEST(Collection, the_save_config_is_made_when_it_is_changed_in_place) {
  Collection collection("losses");
  EXPECT_FALSE(collection.save_config().has_value());
  collection.mutable_save_config().set_end_step(0);
  collection.mutable_save_config().save_steps = {3};
  EXPECT_EQ(collection.save_config()->end_step, 0);
  EXPECT_TRUE(collection.save_config()->should_save(Mode::Train, 3));
}

TEST(Collection, must_have_a_name) { EXPECT_THROW(Collection(""), UsageError); }

TEST(Collection, histograms_are_on_until_switched_off) {
  Collection collection("mine");
  EXPECT_TRUE(collection.save_histogram());
  EXPECT_FALSE(collection.set_save_histogram(false).save_histogram());
}

/// The built-in collections of a profile that a tensor belongs to.
Names homes(Profile profile, std::string_view tensor) {
  Names names;
  for (const auto& [name, collection] : builtin_collections(profile))
    if (collection.contains(tensor)) names.push_back(name);
  return names;
}

Names names_of(Profile profile) {
  Names names;
  for (const auto& [name, collection] : builtin_collections(profile)) {
    EXPECT_EQ(collection.name(), name);
    names.push_back(name);
  }
  return names;
}

struct Home {
  Profile profile;
  const char* tensor;
  Names collections;
};

class BuiltinCollections : public ::testing::TestWithParam<Home> {};

TEST_P(BuiltinCollections, sort_tensors_by_name) {
  EXPECT_EQ(homes(GetParam().profile, GetParam().tensor), GetParam().collections)
      << GetParam().tensor;
}

constexpr auto kGeneric = Profile::Generic;
constexpr auto kPyTorch = Profile::PyTorch;
constexpr auto kMXNet = Profile::MXNet;
constexpr auto kTensorFlow = Profile::TensorFlow;
constexpr auto kXGBoost = Profile::XGBoost;

INSTANTIATE_TEST_SUITE_P(
    Generic, BuiltinCollections,
    ::testing::Values(
        Home{kGeneric, "Net_fc1.weight", {"weights"}}, Home{kGeneric, "fc1.bias", {"biases"}},
        Home{kGeneric, "gradient/fc1.weight", {"gradients"}},
        Home{kGeneric, "gradient/fc1.bias", {"gradients"}},
        Home{kGeneric, "fc1.weight.grad", {"gradients"}},
        Home{kGeneric, "fc1/bias/grad", {"gradients"}},
        Home{kGeneric, "fc1_weight_grad", {"gradients"}}, Home{kGeneric, "weightgrad", {"weights"}},
        Home{kGeneric, "fc1.grad.weight", {"weights"}}, Home{kGeneric, "loss", {"losses"}},
        Home{kGeneric, "Loss", {"losses"}}, Home{kGeneric, "val_loss", {"losses"}},
        Home{kGeneric, "train/loss", {"losses"}}, Home{kGeneric, "train.Loss", {"losses"}},
        Home{kGeneric, "closs", {}}, Home{kGeneric, "loss_scale", {}},
        Home{kGeneric, "CrossEntropyLoss_output_0", {"losses"}},
        Home{kGeneric, "CrossEntropyLoss_input_0_output", {}}, Home{kGeneric, "fc1_output_0", {}}));

INSTANTIATE_TEST_SUITE_P(PyTorch, BuiltinCollections,
                         ::testing::Values(Home{kPyTorch, "Net_fc1.weight", {"weights"}},
                                           Home{kPyTorch, "Net_fc1.bias", {"biases"}},
                                           Home{kPyTorch, "gradient/Net_fc1.weight", {"gradients"}},
                                           Home{kPyTorch, "Net_fc1.weight.grad", {"weights"}},
                                           Home{kPyTorch, "CrossEntropyLoss_output_0", {"losses"}},
                                           Home{kPyTorch, "CrossEntropyLoss_input_0", {}},
                                           Home{kPyTorch, "loss", {"losses"}},
                                           Home{kPyTorch, "fc1_input_0", {}}));

INSTANTIATE_TEST_SUITE_P(
    MXNet, BuiltinCollections,
    ::testing::Values(Home{kMXNet, "conv0_weight", {"weights"}},
                      Home{kMXNet, "conv0_bias", {"biases"}},
                      Home{kMXNet, "gradient/conv0_weight", {"gradients"}},
                      Home{kMXNet, "softmaxcrossentropyloss0_output_0", {"losses"}},
                      Home{kMXNet, "softmaxcrossentropyloss0_input_0", {}},
                      Home{kMXNet, "loss", {}}, Home{kMXNet, "conv0_output_0", {}}));

INSTANTIATE_TEST_SUITE_P(TensorFlow, BuiltinCollections,
                         ::testing::Values(Home{kTensorFlow, "loss", {"losses"}},
                                           Home{kTensorFlow, "val_loss", {"losses"}},
                                           Home{kTensorFlow, "my_loss", {}},
                                           Home{kTensorFlow, "dense/weights/bias:0", {"biases"}},
                                           Home{kTensorFlow, "gradients/dense/biasGrad", {}},
                                           Home{kTensorFlow, "dense/weights/kernel:0", {}},
                                           Home{kTensorFlow, "dense/outputs", {}}));

INSTANTIATE_TEST_SUITE_P(
    XGBoost, BuiltinCollections,
    ::testing::Values(Home{kXGBoost, "train-rmse", {"losses", "metrics"}},
                      Home{kXGBoost, "validation-auc", {"metrics"}},
                      Home{kXGBoost, "validation-map", {"metrics"}},
                      Home{kXGBoost, "train-error@0.5", {"losses"}},
                      Home{kXGBoost, "predictions", {"predictions"}},
                      Home{kXGBoost, "labels", {"labels"}}, Home{kXGBoost, "labels_0", {}},
                      Home{kXGBoost, "hyperparameters/eta", {"hyperparameters"}},
                      Home{kXGBoost, "feature_importance/gain/f1", {"feature_importance"}},
                      Home{kXGBoost, "average_shap/f1", {"average_shap"}},
                      Home{kXGBoost, "average_shap/bias", {}},
                      Home{kXGBoost, "average_shap/radius", {"average_shap"}},
                      Home{kXGBoost, "average_shap/a", {"average_shap"}},
                      Home{kXGBoost, "average_shap/unbias", {"average_shap"}},
                      Home{kXGBoost, "full_shap/matrix", {"full_shap"}},
                      Home{kXGBoost, "full_shap/bias", {}},
                      Home{kXGBoost, "trees/Gain", {"trees"}}));

TEST(BuiltinCollections, each_profile_has_its_own) {
  EXPECT_EQ(names_of(kGeneric),
            (Names{"all", "biases", "default", "gradients", "inputs", "labels", "layers", "losses",
                   "metrics", "outputs", "predictions", "sm_metrics", "weights"}));
  const Names modules = {"all", "biases", "default", "gradients", "losses", "weights"};
  EXPECT_EQ(names_of(kPyTorch), modules);
  EXPECT_EQ(names_of(kMXNet), modules);
  EXPECT_EQ(names_of(kTensorFlow),
            (Names{"all", "biases", "default", "gradients", "inputs", "layers", "losses", "metrics",
                   "optimizer_variables", "outputs", "sm_metrics", "weights"}));
  EXPECT_EQ(names_of(kXGBoost),
            (Names{"all", "average_shap", "default", "feature_importance", "full_shap",
                   "hyperparameters", "labels", "losses", "metrics", "predictions", "trees"}));
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
  EXPECT_EQ(texts(kXGBoost, "metrics"), Names{"^[a-zA-z]+-[a-zA-z0-9]+$"});
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

}  // namespace
}  // namespace cupel
