// What users write must compile as documented, without casts and without warnings.

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"
#include "cupel/core/tensor_view.h"

namespace cupel {
namespace {

TEST(Syntax, a_save_config_is_written_with_designators_and_a_map_of_modes) {
  SaveConfig config;
  config = {.save_interval = 10, .mode_save_configs = {{Mode::Eval, {.save_interval = 1}}}};
  EXPECT_EQ(config.mode(Mode::Eval).save_interval, 1);
  EXPECT_EQ(config.mode(Mode::Train).save_interval, 10);
}

TEST(Syntax, an_optional_reduction_config_is_assigned_from_braces) {
  std::optional<ReductionConfig> config;
  config = {.reductions = {"mean", "max"}, .save_raw_tensor = true};
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->reductions, (std::vector<std::string>{"mean", "max"}));
  EXPECT_TRUE(config->save_raw_tensor);
}

TEST(Syntax, a_collection_takes_its_configurations_in_braces) {
  Collection collection("relu_out");
  collection.include("relu.*output").include({"tanh", "gelu"});
  collection.set_reduction_config({.abs_reductions = {"mean"}});
  collection.set_save_config({.save_interval = 1});
  EXPECT_EQ(collection.save_config()->save_interval, 1);
  EXPECT_EQ(collection.reduction_config()->abs_reductions, std::vector<std::string>{"mean"});
  EXPECT_EQ(collection.include_regex().texts(),
            (std::vector<std::string>{"relu.*output", "tanh", "gelu"}));
}

TEST(Syntax, a_pattern_list_is_one_text_or_a_list_of_texts) {
  PatternList patterns = "relu";
  EXPECT_EQ(patterns.texts(), std::vector<std::string>{"relu"});
  patterns = {"a", "b"};
  EXPECT_EQ(patterns.texts(), (std::vector<std::string>{"a", "b"}));
  patterns = {"c"};
  EXPECT_EQ(patterns.texts(), std::vector<std::string>{"c"});
  patterns = std::string("d");
  patterns.add("e");
  patterns.add(std::vector<std::string>{"f", "g"});
  EXPECT_EQ(patterns.texts(), (std::vector<std::string>{"d", "e", "f", "g"}));
}

TEST(Syntax, a_tensor_view_takes_extents_of_any_integral_type) {
  const std::vector<float> weights(6);
  const int out = 2;
  const std::size_t in = 3;
  EXPECT_EQ(TensorView(weights.data(), {out, in}).shape(), (Shape{2, 3}));
  EXPECT_EQ(TensorView(weights.data(), {6}).shape(), Shape{6});
  EXPECT_EQ(TensorView(weights.data(), {}).elements(), 1);
  EXPECT_EQ(TensorView(weights.data(), std::vector<int>{3, 2}).shape(), (Shape{3, 2}));
}

TEST(Syntax, a_tensor_view_is_made_from_a_span) {
  std::vector<double> values = {1, 2, 3};
  const TensorView view = std::span(values);
  EXPECT_EQ(view.dtype(), DType::F64);
  EXPECT_EQ(view.shape(), Shape{3});
  EXPECT_EQ(TensorView(std::span<const double, 3>(values)).data(), values.data());
}

TEST(Syntax, a_tensor_view_of_a_run_time_dtype_takes_strides_in_elements) {
  const std::vector<float> values(6);
  const void* data = values.data();
  const TensorView view(data, DType::F32, {3, 2}, {1, -3L});
  EXPECT_EQ(view.strides(), (Shape{1, -3}));
}

}  // namespace
}  // namespace cupel
