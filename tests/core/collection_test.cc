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

TEST(Collection, is_filled_by_calls_only_without_patterns_and_names) {
  Collection mine("mine");
  EXPECT_TRUE(is_filled_by_calls_only(mine, Profile::Generic));
  mine.add_tensor_name("a");
  EXPECT_FALSE(is_filled_by_calls_only(mine, Profile::Generic));
  EXPECT_FALSE(is_filled_by_calls_only(Collection("mine").include("a"), Profile::Generic));
}

TEST(Collection, a_built_in_one_needs_no_patterns) {
  EXPECT_FALSE(is_filled_by_calls_only(Collection("metrics"), Profile::Generic));
  EXPECT_TRUE(is_filled_by_calls_only(Collection("metrics"), Profile::PyTorch));
}

TEST(BuiltinNameMeant, is_told_of_a_misspelling) {
  for (const char* name : {"gradeints", "gradient", "Gradients", "grad", "gradinets"})
    EXPECT_EQ(builtin_name_meant(name, Profile::Generic), "; did you mean gradients?") << name;
  EXPECT_EQ(builtin_name_meant("wieghts", Profile::PyTorch), "; did you mean weights?");
  EXPECT_EQ(builtin_name_meant("sm_metric", Profile::Generic), "; did you mean sm_metrics?");
  EXPECT_EQ(builtin_name_meant("average-shap", Profile::XGBoost), "; did you mean average_shap?");
}

TEST(BuiltinNameMeant, is_none_of_a_name_of_its_own) {
  for (const char* name : {"", "mine", "activations", "classes", "my_weights", "val_losses",
                           "weights.conv", "attention", "embeddings", "relu_out"})
    EXPECT_EQ(builtin_name_meant(name, Profile::Generic), "") << name;
  EXPECT_EQ(builtin_name_meant("metric", Profile::PyTorch), "") << "of another profile";
}

TEST(Collection, a_copy_does_not_change_with_the_original) {
  Collection original = Collection("mine").include("a").add_tensor_name("t");
  const Collection copy = original;
  original.add_tensor_name("u").set_save_histogram(false);
  EXPECT_FALSE(copy.tensor_names().contains("u"));
  EXPECT_TRUE(copy.save_histogram());
  EXPECT_TRUE(original.tensor_names().contains("t"));
}

TEST(Collection, a_copy_does_not_change_with_a_configuration_that_is_changed_in_place) {
  Collection original("mine");
  SaveConfig& config = original.mutable_save_config();
  const Collection copy = original;
  config.save_interval = 7;
  EXPECT_EQ(copy.save_config()->save_interval, SaveConfig().save_interval);
  EXPECT_EQ(original.save_config()->save_interval, 7);
}

}  // namespace
}  // namespace cupel
