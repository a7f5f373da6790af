#include <limits>

#include "check/fed_rule.h"

namespace cupel::testing {
namespace {

using Element = std::function<double(std::size_t, Mode)>;

Element all(double value) {
  return [=](std::size_t, Mode) { return value; };
}
Element rising() {
  return [](std::size_t element, Mode) { return static_cast<double>(element); };
}
Element every_other() {
  return [](std::size_t element, Mode) { return static_cast<double>(element % 2); };
}
/// One of class 1, the others of class 0.
Element one_rare() {
  return [](std::size_t element, Mode) { return element == 0 ? 1.0 : 0.0; };
}
Element worse_in_eval() {
  return [](std::size_t, Mode mode) { return mode == Mode::Eval ? 2.0 : 1.0; };
}

Json entry(const std::string& name, Json parameters = Json::object()) {
  if (!parameters.contains("save_interval")) parameters["save_interval"] = "1";
  return {{"CollectionName", name}, {"CollectionParameters", std::move(parameters)}};
}
Json raw(const std::string& pattern = {}) {
  Json parameters = {{"save_raw_tensor", "true"}};
  if (!pattern.empty()) parameters["include_regex"] = pattern;
  return parameters;
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

const std::vector<FedRule>& fed_rules() {
  static const auto& rules = *new std::vector<FedRule>{
      {.rule = "AllZero",
       .parameters = {{"collection_names", "gradients"}},
       .fed_by = {"gradients"},
       .entries = {entry("gradients", {{"reductions", "abs_max"}})},
       .tensors = {{"gradient/w", {4, 8}, all(0)}}},
      {.rule = "AllZero",
       .parameters = {{"tensor_regex", "relu"}, {"threshold", "50"}},
       .fed_by = {"relus"},
       .entries = {entry("relus", raw("relu"))},
       .tensors = {{"relu_0", {4, 8}, one_rare()}}},
      {.rule = "CheckInputImages",
       .parameters = {{"threshold_samples", "8"}},
       .fed_by = {"input_image"},
       .entries = {entry("input_image", raw("input_0"))},
       .tensors = {{"hybridsequential0_input_0", {8, 3, 2, 2}, all(5)}}},
      {.rule = "ClassImbalance",
       .parameters = {{"samples", "16"}},
       .fed_by = {"classes", ""},
       .entries = {entry("classes", raw("labels"))},
       .tensors = {{"labels", {16}, one_rare()}}},
      {.rule = "Confusion",
       .parameters = {},
       .fed_by = {"labels", "predictions"},
       .entries = {entry("labels", raw("^labels$")), entry("predictions", raw("^predictions$"))},
       .tensors = {{"labels", {16}, every_other()}, {"predictions", {16}, all(0)}}},
      {.rule = "DeadRelu",
       .parameters = {},
       .fed_by = {"relu_output"},
       .entries = {entry("relu_output", raw(".*relu_output"))},
       .tensors = {{"conv0_relu_output_0", {4, 8}, all(-1)}}},
      {.rule = "ExplodingTensor",
       .parameters = {{"collection_names", "weights"}},
       .fed_by = {"weights"},
       .entries = {entry("weights", {{"reductions", "min,max"}})},
       .tensors = {{"fc.weight", {4, 8}, all(kNaN)}}},
      {.rule = "ExplodingTensor",
       .parameters = {{"tensor_regex", "hidden"}},
       .fed_by = {"states"},
       .entries = {entry("states", {{"include_regex", "^rnn/hidden"}, {"reductions", "abs_max"}})},
       .tensors = {{"rnn/hidden", {4, 8}, all(kNaN)}}},
      {.rule = "FeatureImportanceOverweight",
       .parameters = {{"nfeatures", "1"}, {"threshold", "0.15"}},
       .fed_by = {"importances"},
       .entries = {entry("importances",
                         {{"include_regex", "feature_importance/weight"}, {"reductions", "mean"}})},
       .tensors = {{"feature_importance/weight/f0", {}, all(1)},
                   {"feature_importance/weight/f1", {}, all(1)},
                   {"feature_importance/weight/f2", {}, all(1)}}},
      {.rule = "LossNotDecreasing",
       .parameters = {{"num_steps", "4"}},
       .fed_by = {"losses"},
       .entries = {entry("losses")},
       .tensors = {{"loss", {}, all(1)}}},
      {.rule = "LossNotDecreasing",
       .parameters = {{"num_steps", "4"},
                      {"mode", "EVAL"},
                      {"use_losses_collection", "False"},
                      {"collection_names", "costs"}},
       .fed_by = {"costs"},
       .entries = {entry("costs", raw("cost"))},
       .tensors = {{"cost", {}, all(1)}},
       .modes = {Mode::Train, Mode::Eval}},
      {.rule = "NLPSequenceRatio",
       .parameters = {},
       .fed_by = {"input_sequence"},
       .entries = {entry("input_sequence", raw("embedding0_input"))},
       .tensors = {{"bert_embedding0_input_0", {4, 8}, all(0)}}},
      {.rule = "NLPSequenceRatio",
       .parameters = {{"token_values", "3"}},
       .fed_by = {"input_sequence"},
       .entries = {entry("input_sequence", raw("embedding0_input"))},
       .tensors = {{"bert_embedding0_input_0", {4, 8}, all(3)}}},
      {.rule = "Overfit",
       .parameters = {},
       .fed_by = {"losses"},
       .entries = {entry("losses")},
       .tensors = {{"loss", {}, worse_in_eval()}},
       .modes = {Mode::Train, Mode::Eval}},
      {.rule = "Overfit",
       .parameters = {{"tensor_regex", "cost"}},
       .fed_by = {"costs"},
       .entries = {entry("costs", {{"include_regex", "cost"}, {"reductions", "mean"}})},
       .tensors = {{"cost", {}, worse_in_eval()}},
       .modes = {Mode::Train, Mode::Eval}},
      {.rule = "Overtraining",
       .parameters = {{"patience_train", "3"}, {"patience_validation", "6"}},
       .fed_by = {"losses"},
       .entries = {entry("losses")},
       .tensors = {{"loss", {}, all(1)}},
       .modes = {Mode::Train, Mode::Eval}},
      {.rule = "PoorWeightInitialization",
       .parameters = {},
       .fed_by = {"relu_input", "gradients", "losses"},
       .entries = {entry("relu_input",
                         {{"include_regex", "relu_input"}, {"reductions", "variance"}}),
                   entry("gradients", raw()), entry("losses")},
       .tensors = {{"a/relu_input", {4, 8}, rising()},
                   {"b/relu_input", {4, 8}, one_rare()},
                   {"gradient/w", {4, 8}, all(1)},
                   {"loss", {}, all(1)}}},
      {.rule = "SaturatedActivation",
       .parameters = {},
       .fed_by = {"activations"},
       .entries = {entry("activations", raw("tanh_input,sigmoid_input"))},
       .tensors = {{"lstm/tanh_input", {4, 8}, all(100)}}},
      {.rule = "SaturatedActivation",
       .parameters = {{"collection_names", "gates"}},
       .fed_by = {"gates"},
       .entries = {entry("gates", raw("gate"))},
       .tensors = {{"gate_sigmoid", {4, 8}, all(100)}}},
      {.rule = "TensorVariance",
       .parameters = {{"collection_names", "weights"}, {"min_threshold", "0.5"}},
       .fed_by = {"weights"},
       .entries = {entry("weights", {{"reductions", "variance"}})},
       .tensors = {{"fc.weight", {4, 8}, all(1)}}},
      {.rule = "TreeDepth",
       .parameters = {},
       .fed_by = {"trees"},
       .entries = {entry("trees", raw("^trees/"))},
       .tensors = {{"trees/Node", {32}, rising()}}},
      {.rule = "SimilarAcrossRuns",
       .parameters = {{"collection_names", "weights"},
                      {"other_trials", "other"},
                      {"fire_on", "similar"}},
       .fed_by = {"weights"},
       .entries = {entry("weights", raw())},
       .tensors = {{"fc.weight", {4, 8}, all(1)}}},
      {.rule = "UnchangedTensor",
       .parameters = {{"collection_names", "weights"}},
       .fed_by = {"weights"},
       .entries = {entry("weights", raw())},
       .tensors = {{"fc.weight", {4, 8}, all(1)}}},
      {.rule = "VanishingGradient",
       .parameters = {},
       .fed_by = {"gradients"},
       .entries = {entry("gradients", {{"reductions", "abs_mean"}})},
       .tensors = {{"gradient/w", {4, 8}, all(0)}}},
      {.rule = "WeightUpdateRatio",
       .parameters = {{"num_steps", "4"}},
       .fed_by = {"weights"},
       .entries = {entry("weights", raw())},
       .tensors = {{"fc.weight", {4, 8}, all(1)}}},
      {.rule = "WeightUpdateRatio",
       .parameters = {},
       .fed_by = {"weights"},
       .entries = {entry("weights", raw())},
       .tensors = {{"fc.weight", {4, 8}, all(1)}},
       .modes = {Mode::Train, Mode::Eval}},
  };
  return rules;
}

}  // namespace cupel::testing
