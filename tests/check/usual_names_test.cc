// The rules with default patterns find their tensors under the names that each profile gives them:
// runs that a Hook writes with the names of adapters, of frameworks and of users. `check` reports
// no gap there, and the rule judges; the published names alone would find nothing, but where a row
// is about them. A run that an adapter saves is one more row.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "check/found_names.h"
#include "cupel/store/memory_store.h"
#include "cupel/writer/hook.h"
#include "cupel/writer/saving_plan.h"

namespace cupel::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

using Names = std::vector<std::string>;

/// Saves one step of a training.
class StepWriter {
 public:
  explicit StepWriter(Hook& hook) : hook_(hook) {}

  StepWriter& f32(const std::string& name, const std::vector<std::int64_t>& shape,
                  const CollectionNames& collections = {}) {
    return tensor<float>(name, shape, collections);
  }
  StepWriter& i64(const std::string& name, const std::vector<std::int64_t>& shape) {
    return tensor<std::int64_t>(name, shape, {});
  }
  /// Several of one shape.
  StepWriter& all(const Names& names, const std::vector<std::int64_t>& shape) {
    for (const std::string& name : names) f32(name, shape);
    return *this;
  }
  Hook& hook() { return hook_; }

 private:
  template <class T>
  StepWriter& tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                     const CollectionNames& collections) {
    std::size_t elements = 1;
    for (const std::int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
    std::vector<T> values(elements);
    std::iota(values.begin(), values.end(), T(0));
    hook_.save_tensor(name, TensorView(values.data(), shape), collections);
    return *this;
  }
  Hook& hook_;
};

// Enough for every rule.
constexpr int kSavedSteps = 8;

/// A run, and the names that each rule finds in it. A rule that is not in the table finds nothing.
struct NamedRun {
  std::string name;
  Profile profile = Profile::Generic;
  std::function<void(StepWriter&)> step;
  std::map<std::string, Names> found;

  std::shared_ptr<Store> save() const {
    const auto store = std::make_shared<MemoryStore>();
    HookOptions options;
    options.profile = profile;
    options.save_all = true;
    options.save_config = {.save_interval = 1};
    options.on_error = OnError::Throw;
    HookConfiguration configuration;
    configuration.options = options;
    Hook hook(configuration, store);
    hook.set_mode(Mode::Train);
    for (int i = 0; i < kSavedSteps; ++i) {
      hook.next_step();
      StepWriter writer(hook);
      step(writer);
      hook.save_scalar("loss", 1.0 / (i + 1));
    }
    hook.close();
    return store;
  }
};

const Names kRulesWithPatterns = {"CheckInputImages", "DeadRelu", "NLPSequenceRatio",
                                  "PoorWeightInitialization", "SaturatedActivation"};

// A root Net: conv1, a sequence body of ReLU, Flatten and Linear, bn, CrossEntropyLoss.
void save_net(StepWriter& step) {
  for (const char* prefix : {"", "gradient/"}) {
    const std::string root = std::string(prefix) + "Net_";
    step.f32(root + "conv1.weight", {2, 1, 3, 3}).f32(root + "conv1.bias", {2});
    step.f32(root + "body.2.weight", {5, 72}).f32(root + "body.2.bias", {5});
    step.f32(root + "bn.weight", {5}).f32(root + "bn.bias", {5});
  }
  step.all({"Net_input_0", "conv1_input_0"}, {4, 1, 8, 8})
      .all({"Net_output_0", "bn_output_0"}, {4, 5})
      .all({"conv1_output_0", "body_input_0", "body.0_input_0", "body.1_input_0"}, {4, 2, 6, 6})
      .all({"body.1_output_0", "body.2_input_0"}, {4, 72})
      .all({"body.2_output_0", "body_output_0", "bn_input_0", "CrossEntropyLoss_input_0"}, {4, 5})
      .i64("CrossEntropyLoss_input_1", {4})
      .f32("CrossEntropyLoss_output_0", {})
      .f32("body.0_output_0", {4, 2, 6, 6}, {"activations"});
}

void save_layers(StepWriter& step, const Names& names) { step.all(names, {4, 8}); }

std::vector<NamedRun> named_runs() {
  return {
      {"generic_names_of_the_demo_and_of_users",
       Profile::Generic,
       [](StepWriter& step) {
         save_layers(step, {"fc1.weight", "gradient/fc1.weight", "relu1_output", "relu2_output",
                            "leaky_relu3_output", "tanh1_input", "relu1_input", "relu2_input"});
         step.f32("train/images", {4, 3, 8, 8}).i64("tokens", {4, 6});
       },
       {{"DeadRelu", {"relu1_output", "relu2_output"}},
        {"SaturatedActivation", {"tanh1_input"}},
        {"CheckInputImages", {"train/images"}},
        {"NLPSequenceRatio", {"tokens"}},
        {"PoorWeightInitialization", {"relu1_input", "relu2_input"}}}},
      {"generic_modules_of_save_inputs_and_save_outputs",
       Profile::Generic,
       [](StepWriter& step) {
         const std::vector<float> values(4 * 3 * 8 * 8, 1.0F);
         const TensorView layer(values.data(), {4, 8});
         const TensorView images(values.data(), {4, 3, 8, 8});
         step.hook().save_inputs("Net", {&images, 1});
         step.hook().save_inputs("embedding", {&layer, 1});
         for (const char* module : {"relu1", "relu2", "sigmoid1"}) {
           step.hook().save_inputs(module, {&layer, 1});
           step.hook().save_outputs(module, {&layer, 1});
         }
       },
       {{"DeadRelu", {"relu1_output_0", "relu2_output_0"}},
        {"SaturatedActivation", {"sigmoid1_input_0"}},
        {"CheckInputImages", {"Net_input_0"}},
        {"NLPSequenceRatio", {"embedding_input_0"}},
        {"PoorWeightInitialization", {"relu1_input_0", "relu2_input_0"}}}},
      {"generic_layers_within_others",
       Profile::Generic,
       [](StepWriter& step) {
         save_layers(step, {"encoder/layer_0/ReLU/output", "encoder/layer_1/relu_1/output",
                            "encoder/layer_0/tanh1/input", "encoder/layer_0/ReLU/input",
                            "encoder/layer_1/relu_1/input", "encoder/token_embedding/input"});
         step.f32("model_input", {4, 3, 8, 8});
       },
       {{"DeadRelu", {"encoder/layer_0/ReLU/output", "encoder/layer_1/relu_1/output"}},
        {"SaturatedActivation", {"encoder/layer_0/tanh1/input"}},
        {"CheckInputImages", {"model_input"}},
        {"NLPSequenceRatio", {"encoder/token_embedding/input"}},
        {"PoorWeightInitialization",
         {"encoder/layer_0/ReLU/input", "encoder/layer_1/relu_1/input"}}}},
      {"pytorch_modules_with_numbers_for_names",
       Profile::PyTorch,
       save_net,
       {{"DeadRelu", {"body.0_output_0"}}, {"CheckInputImages", {"Net_input_0"}}}},
      {"pytorch_modules_as_users_call_them",
       Profile::PyTorch,
       [](StepWriter& step) {
         save_net(step);
         save_layers(
             step, {"relu1_input_0", "relu1_output_0", "head.relu2_input_0", "head.relu2_output_0",
                    "head.relu2_output_1", "tanh1_input_0", "lstm.sigmoid_gate_input_0"});
         step.i64("embedding_input_0", {4, 6}).i64("position_embedding_input_0", {4, 6});
       },
       {{"DeadRelu", {"head.relu2_output_0", "head.relu2_output_1", "relu1_output_0"}},
        {"SaturatedActivation", {"lstm.sigmoid_gate_input_0", "tanh1_input_0"}},
        {"CheckInputImages", {"Net_input_0"}},
        {"NLPSequenceRatio", {"embedding_input_0"}},
        {"PoorWeightInitialization", {"head.relu2_input_0", "relu1_input_0"}}}},
      {"pytorch_models_of_transformers",
       Profile::PyTorch,
       [](StepWriter& step) {
         for (const char* layer : {"layers.0", "layers.1"}) {
           const std::string module = "model." + std::string(layer) + ".mlp.act_fn";
           save_layers(step, {module + "_input_0", module + "_output_0",
                              "gradient/Llama_model." + std::string(layer) + ".weight"});
         }
         step.i64("Llama_input_input_ids", {4, 6}).i64("model.embed_tokens_input_0", {4, 6});
         step.i64("model.token_type_embeddings_input_0", {4, 6});
         step.f32("ViT_input_pixel_values", {4, 3, 8, 8});
       },
       {{"DeadRelu", {"model.layers.0.mlp.act_fn_output_0", "model.layers.1.mlp.act_fn_output_0"}},
        {"CheckInputImages", {"ViT_input_pixel_values"}},
        {"NLPSequenceRatio", {"model.embed_tokens_input_0"}},
        {"PoorWeightInitialization",
         {"model.layers.0.mlp.act_fn_input_0", "model.layers.1.mlp.act_fn_input_0"}}}},
      {"libtorch_operators",
       Profile::PyTorch,
       [](StepWriter& step) {
         for (const char* op : {"relu", "tanh", "sigmoid", "leaky_relu"})
           for (const char* number : {"0", "1"})
             save_layers(step, {std::string(op) + "_input_" + number,
                                std::string(op) + "_output_" + number});
         step.all({"conv1_input_0", "conv2_input_0"}, {4, 3, 8, 8}).i64("emb_input_0", {4, 6});
         step.all({"CrossEntropyLoss_input_0", "log_softmax_input_0"}, {4, 5});
       },
       // The published names, which match a leaky ReLU, too.
       {{"DeadRelu",
         {"leaky_relu_output_0", "leaky_relu_output_1", "relu_output_0", "relu_output_1"}},
        {"SaturatedActivation",
         {"sigmoid_input_0", "sigmoid_input_1", "tanh_input_0", "tanh_input_1"}},
        {"CheckInputImages", {"conv1_input_0"}},
        {"NLPSequenceRatio", {"emb_input_0"}},
        {"PoorWeightInitialization",
         {"leaky_relu_input_0", "leaky_relu_input_1", "relu_input_0", "relu_input_1"}}}},
      {"libtorch_operators_without_relu",
       Profile::PyTorch,
       [](StepWriter& step) {
         save_layers(step, {"gelu_input_0", "gelu_input_1", "gelu_output_0", "gelu_output_1",
                            "softmax_input_0", "scaled_dot_product_attention_input_0"});
       },
       {{"PoorWeightInitialization", {"gelu_input_0", "gelu_input_1"}}}},
      {"mxnet_blocks_with_the_published_names",
       Profile::MXNet,
       [](StepWriter& step) {
         save_layers(step, {"dense0_weight", "gradient/dense0_weight", "dense0_relu_output_0",
                            "hybridsequential0_relu1_output_0", "rnn0_tanh_input_0",
                            "dense0_relu_input_0"});
         step.i64("hybridsequential0_embedding0_input_0", {4, 6});
         step.f32("hybridsequential0_input_0", {4, 3, 8, 8});
       },
       {{"DeadRelu", {"dense0_relu_output_0"}},
        {"SaturatedActivation", {"rnn0_tanh_input_0"}},
        {"CheckInputImages", {"hybridsequential0_input_0"}},
        {"NLPSequenceRatio", {"hybridsequential0_embedding0_input_0"}},
        {"PoorWeightInitialization", {"dense0_relu_input_0"}}}},
      {"mxnet_blocks_with_other_numbers",
       Profile::MXNet,
       [](StepWriter& step) {
         save_layers(step, {"hybridsequential1_relu0_output_0", "relu1_output_0",
                            "hybridsequential1_relu0_input_0", "relu1_input_0",
                            "hybridsequential1_sigmoid0_input_0", "tanh2_input_0"});
         step.i64("embedding1_input_0", {4, 6});
         step.all(
             {"resnetv10_input_0", "resnetv10_conv0_input_0", "resnetv10_stage1_conv0_input_0"},
             {4, 3, 8, 8});
       },
       {{"DeadRelu", {"hybridsequential1_relu0_output_0", "relu1_output_0"}},
        {"SaturatedActivation", {"hybridsequential1_sigmoid0_input_0", "tanh2_input_0"}},
        {"CheckInputImages", {"resnetv10_input_0"}},
        {"NLPSequenceRatio", {"embedding1_input_0"}},
        {"PoorWeightInitialization", {"hybridsequential1_relu0_input_0", "relu1_input_0"}}}},
      {"tensorflow_layers",
       Profile::TensorFlow,
       [](StepWriter& step) {
         save_layers(step, {"re_lu/outputs", "re_lu_1/outputs_0", "leaky_re_lu/outputs",
                            "re_lu/inputs", "re_lu_1/inputs_0", "tanh_1/inputs",
                            "dense/weights/dense/kernel:0", "gradients/dense/kernel:0Grad"});
         step.f32("embedding/inputs", {4, 6}).i64("labels", {4}).f32("predictions", {4, 5});
         step.all({"model_input", "conv2d/inputs", "conv2d_1/inputs"}, {4, 8, 8, 3});
       },
       {{"DeadRelu", {"re_lu/outputs", "re_lu_1/outputs_0"}},
        {"SaturatedActivation", {"tanh_1/inputs"}},
        {"CheckInputImages", {"model_input"}},
        {"NLPSequenceRatio", {"embedding/inputs"}},
        {"PoorWeightInitialization", {"re_lu/inputs", "re_lu_1/inputs_0"}}}},
      {"tensorflow_activations",
       Profile::TensorFlow,
       [](StepWriter& step) {
         save_layers(step, {"activation/inputs", "activation/outputs", "activation_1/inputs",
                            "activation_1/outputs"});
         step.all({"conv2d/inputs", "conv2d_1/inputs"}, {4, 8, 8, 3});
       },
       {{"DeadRelu", {"activation/outputs", "activation_1/outputs"}},
        {"CheckInputImages", {"conv2d/inputs"}},
        {"PoorWeightInitialization", {"activation/inputs", "activation_1/inputs"}}}},
      // There are no layers; what a booster is about may be called like one.
      {"xgboost_collections",
       Profile::XGBoost,
       [](StepWriter& step) {
         step.all({"train-rmse", "validation-rmse", "feature_importance/gain/relu1",
                   "feature_importance/gain/images", "average_shap/input", "average_shap/tokens",
                   "hyperparameters/max_depth", "average_shap/bias"},
                  {1});
         step.all({"predictions", "labels"}, {16}).f32("trees/Gain", {7});
       },
       {}},
  };
}

class UsualNames : public ::testing::TestWithParam<NamedRun> {};

TEST_P(UsualNames, are_found_and_judged_and_have_no_gap) {
  const NamedRun& row = GetParam();
  Trial run(row.save());
  for (const std::string& rule : kRulesWithPatterns) {
    SCOPED_TRACE(rule);
    const auto expected = row.found.find(rule);
    const bool is_found = expected != row.found.end();
    EXPECT_EQ(found_names(rule, run), is_found ? expected->second : Names());
    // Gradients and losses are enough for this rule.
    const bool is_fed = is_found || rule == "PoorWeightInitialization";
    EXPECT_EQ(gaps_of(rule, run).empty(), is_fed) << ::testing::PrintToString(gaps_of(rule, run));
    EXPECT_EQ(judges(rule, run), is_fed);
  }
}

TEST_P(UsualNames, are_not_found_by_the_rules_of_the_reference_but_for_the_published_ones) {
  const NamedRun& row = GetParam();
  Trial run(row.save());
  for (const std::string& rule : kRulesWithPatterns) {
    SCOPED_TRACE(rule);
    const PatternList published = builtin_rules()
                                      .require(rule, Definitions::Reference)
                                      .needs()
                                      .tensors.front()
                                      .tensors.patterns;
    Names expected;
    for (const std::string& name : run.tensor_names())
      if (published.matches(name)) expected.push_back(name);
    EXPECT_EQ(found_names(rule, run, Definitions::Reference), expected);
    if (rule == "PoorWeightInitialization") continue;
    EXPECT_EQ(gaps_of(rule, run, Definitions::Reference).empty(), !expected.empty());
    EXPECT_EQ(judges(rule, run, {}, Definitions::Reference), !expected.empty());
  }
}

// The collections that a rule has written for it save what the rule finds.
TEST_P(UsualNames, are_saved_by_the_collection_that_is_written_for_the_rule) {
  const SavingPlan plan = saving_plan(parse_hook_configuration("{}", "hook.json"));
  for (const auto& [rule, names] : GetParam().found) {
    const RuleNeeds needs = builtin_rules().require(rule).needs();
    const auto entries = needed_collections(rule, needs, plan);
    for (const std::string& name : names) {
      if (GetParam().name == "pytorch_modules_with_numbers_for_names" && rule == "DeadRelu")
        continue;  // known by a collection
      EXPECT_TRUE(entries.front().parameters.include_regex.value().matches(name)) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, UsualNames, ::testing::ValuesIn(named_runs()),
                         [](const auto& row) { return row.param.name; });

TEST(UsualNamesTable, is_about_every_profile) {
  std::set<Profile> profiles;
  for (const NamedRun& run : named_runs()) profiles.insert(run.profile);
  EXPECT_EQ(profiles.size(), 5U);
}

}  // namespace
}  // namespace cupel::testing
