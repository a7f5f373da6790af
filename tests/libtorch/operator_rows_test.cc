// Every operator that the listener knows, called by name as jit's executor does, with plain
// tensors.
//
// A case has the operator's arguments, which of them are the module's inputs, and how many outputs
// are delivered. What is delivered is compared with the arguments and with what the operator
// returned, to the byte. An operator that this torch has not is checked in the table alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "../../libtorch/src/operator_table.h"
#include "operator_recorder.h"

namespace cupel::libtorch_test {
namespace {

using libtorch_detail::find_operator;
using libtorch_detail::OperatorKind;
using libtorch_detail::OperatorRow;
using Arguments = std::vector<c10::IValue>;
using Tensors = std::vector<at::Tensor>;

struct Case {
  std::string name;
  std::string overload;
  std::string label;  // of the values
  /// Makes the arguments; parameters are registered with the recorder.
  std::function<Arguments(OperatorRecorder&)> arguments;
  std::vector<std::size_t> inputs;  // positions; a list counts as its elements
  std::size_t outputs = 1;
  std::string operator_name = {};  // if not `name`
};

std::ostream& operator<<(std::ostream& out, const Case& row) { return out << row.name; }

const c10::IValue none;

at::Tensor values(at::IntArrayRef shape) { return torch::rand(shape); }

Tensors tensors_at(const Arguments& arguments, const std::vector<std::size_t>& positions) {
  Tensors tensors;
  for (const std::size_t position : positions) {
    if (arguments[position].isTensor())
      tensors.push_back(arguments[position].toTensor().clone());
    else
      for (const at::Tensor& tensor : arguments[position].toTensorVector())
        tensors.push_back(tensor.clone());
  }
  return tensors;
}

void expect_values(const OperatorRecorder& recorder, const std::string& name,
                   const Tensors& tensors) {
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const std::string numbered = name + std::to_string(k);
    EXPECT_TRUE(same_bytes(recorder.value(numbered), tensors[k])) << numbered;
  }
}

void run(const Case& row, CapturedValues::Kind kind) {
  const std::string operator_name = row.operator_name.empty() ? row.name : row.operator_name;
  if (!has_operator(operator_name, row.overload)) {
    EXPECT_LT(TORCH_VERSION_MAJOR, 2) << "this torch should have aten::" << operator_name;
    return;
  }
  torch::manual_seed(1);
  const at::NoGradGuard no_gradients;
  OperatorRecorder recorder;
  const Arguments arguments = row.arguments(recorder);
  const Tensors inputs = tensors_at(arguments, row.inputs);
  Tensors outputs;
  const Names names = recorder.during(
      [&] { outputs = copies(call_operator(operator_name, row.overload, arguments)); });

  Names expected;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    expected.push_back(row.label + "_input_" + std::to_string(k));
  for (std::size_t k = 0; k < row.outputs; ++k)
    expected.push_back(row.label + "_output_" + std::to_string(k));
  EXPECT_THAT(names, ::testing::ElementsAreArray(expected));
  ASSERT_GE(outputs.size(), row.outputs);
  if (names != expected) return;
  outputs.resize(row.outputs);
  expect_values(recorder, row.label + "_input_", inputs);
  expect_values(recorder, row.label + "_output_", outputs);
  for (const auto& value : recorder.values()) EXPECT_EQ(value.kind, kind);
}

std::string test_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

// ---------------------------------------------------------------------------------------- layers

std::function<Arguments(OperatorRecorder&)> convolution(int dimensions, bool transposed) {
  return [=](OperatorRecorder& recorder) -> Arguments {
    std::vector<std::int64_t> input{2, 3}, weight{transposed ? 3 : 4, transposed ? 4 : 3};
    for (int k = 0; k < dimensions; ++k) input.push_back(5), weight.push_back(2);
    return {values(input), recorder.parameter(values(weight)),
            recorder.parameter(values({4}), "m", "bias")};
  };
}

Arguments convolution_of_a_trace(OperatorRecorder& recorder) {
  Arguments arguments = convolution(2, false)(recorder);
  const std::vector<std::int64_t> one{1, 1}, zero{0, 0};
  for (const auto& list : {one, zero, one}) arguments.emplace_back(list);
  arguments.emplace_back(false);
  arguments.emplace_back(zero);
  arguments.emplace_back(1);
  return arguments;
}

Arguments convolution_with_switches(OperatorRecorder& recorder) {
  Arguments arguments = convolution_of_a_trace(recorder);
  for (const bool benchmark_deterministic_cudnn_tf32 : {false, false, true, true})
    arguments.emplace_back(benchmark_deterministic_cudnn_tf32);
  return arguments;
}

Arguments running_norm(OperatorRecorder& recorder) {
  return {values({4, 3, 5}),
          recorder.parameter(values({3})),
          recorder.parameter(values({3}), "m", "bias"),
          torch::zeros({3}),
          torch::ones({3}),
          true,
          0.1,
          1e-5,
          true};
}

Arguments norm_of_shape(OperatorRecorder& recorder) {
  return {values({4, 3}), std::vector<std::int64_t>{3}, recorder.parameter(values({3})),
          recorder.parameter(values({3}), "m", "bias"), 1e-5};
}

Arguments root_mean_square_norm(OperatorRecorder& recorder) {
  return {values({4, 3}), std::vector<std::int64_t>{3}, recorder.parameter(values({3})), 1e-5};
}

Tensors recurrent_parameters(OperatorRecorder& recorder, std::int64_t gates) {
  return {recorder.parameter(values({gates * 4, 3}), "m", "weight_ih_l0"),
          recorder.parameter(values({gates * 4, 4}), "m", "weight_hh_l0"),
          recorder.parameter(values({gates * 4}), "m", "bias_ih_l0"),
          recorder.parameter(values({gates * 4}), "m", "bias_hh_l0")};
}

std::function<Arguments(OperatorRecorder&)> recurrent(std::int64_t gates, bool packed = false) {
  return [=](OperatorRecorder& recorder) {
    Arguments arguments;
    arguments.emplace_back(packed ? values({10, 3}) : values({5, 2, 3}));
    if (packed) arguments.emplace_back(torch::full({5}, 2, torch::kLong));
    const at::Tensor state = values({1, 2, 4});
    if (gates == 4)
      arguments.emplace_back(Tensors{state, values({1, 2, 4})});
    else
      arguments.emplace_back(state);
    arguments.emplace_back(recurrent_parameters(recorder, gates));
    arguments.emplace_back(true);   // has_biases
    arguments.emplace_back(1);      // num_layers
    arguments.emplace_back(0.0);    // dropout
    arguments.emplace_back(false);  // train
    arguments.emplace_back(false);  // bidirectional
    if (!packed) arguments.emplace_back(false);
    return arguments;
  };
}

std::function<Arguments(OperatorRecorder&)> cell(std::int64_t gates) {
  return [=](OperatorRecorder& recorder) {
    Arguments arguments{values({2, 3})};
    if (gates == 4)
      arguments.emplace_back(Tensors{values({2, 4}), values({2, 4})});
    else
      arguments.emplace_back(values({2, 4}));
    for (const at::Tensor& parameter : recurrent_parameters(recorder, gates))
      arguments.emplace_back(parameter);
    return arguments;
  };
}

Arguments native_attention(OperatorRecorder& recorder) {
  const at::Tensor query = values({2, 3, 4});
  return {query,
          query,
          query,
          4,
          2,
          recorder.parameter(values({12, 4}), "m", "in_proj_weight"),
          recorder.parameter(values({12}), "m", "in_proj_bias"),
          recorder.parameter(values({4, 4}), "m.out_proj", "weight"),
          recorder.parameter(values({4}), "m.out_proj", "bias")};
}

Arguments encoder_layer(OperatorRecorder& recorder) {
  return {values({2, 3, 4}),
          4,
          2,
          recorder.parameter(values({12, 4}), "m.self_attn", "in_proj_weight"),
          recorder.parameter(values({12}), "m.self_attn", "in_proj_bias"),
          recorder.parameter(values({4, 4}), "m.self_attn.out_proj", "weight"),
          recorder.parameter(values({4}), "m.self_attn.out_proj", "bias"),
          false,
          false,
          1e-5,
          recorder.parameter(values({4}), "m.norm1", "weight"),
          recorder.parameter(values({4}), "m.norm1", "bias"),
          recorder.parameter(values({4}), "m.norm2", "weight"),
          recorder.parameter(values({4}), "m.norm2", "bias"),
          recorder.parameter(values({6, 4}), "m.linear1", "weight"),
          recorder.parameter(values({6}), "m.linear1", "bias"),
          recorder.parameter(values({4, 6}), "m.linear2", "weight"),
          recorder.parameter(values({4}), "m.linear2", "bias")};
}

std::vector<Case> layer_cases() {
  using Recorder = OperatorRecorder;
  std::vector<Case> cases{
      {"linear",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {values({2, 3}), r.parameter(values({4, 3})),
                 r.parameter(values({4}), "m", "bias")};
       },
       {0}},
      {"addmm",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {r.parameter(values({4}), "m", "bias"), values({2, 3}),
                 r.parameter(values({4, 3})).t()};
       },
       {1}},
      {"matmul",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {values({5, 2, 3}), r.parameter(values({4, 3})).t()};
       },
       {0}},
      {"mm",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {values({2, 3}), r.parameter(values({3, 4}))};
       },
       {0}},
      {"bmm",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {values({5, 2, 3}), r.parameter(values({5, 3, 4}))};
       },
       {0}},
      {"baddbmm",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {r.parameter(values({4}), "m", "bias"), values({5, 2, 3}),
                 r.parameter(values({5, 3, 4}))};
       },
       {1}},
      {"bilinear",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {values({2, 3}), values({2, 4}), r.parameter(values({5, 3, 4})),
                 r.parameter(values({5}), "m", "bias")};
       },
       {0, 1}},
      {"conv1d", "", "m", convolution(1, false), {0}},
      {"conv2d", "", "m", convolution(2, false), {0}},
      {"conv3d", "", "m", convolution(3, false), {0}},
      {"conv_transpose1d", "", "m", convolution(1, true), {0}},
      {"conv_transpose2d", "input", "m", convolution(2, true), {0}},
      {"conv_transpose3d", "input", "m", convolution(3, true), {0}},
      {"convolution", "", "m", convolution_of_a_trace, {0}},
      {"_convolution", "", "m", convolution_with_switches, {0}},
      {"batch_norm", "", "m", running_norm, {0}},
      {"instance_norm", "", "m", running_norm, {0}},
      {"layer_norm", "", "m", norm_of_shape, {0}},
      {"group_norm",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {values({2, 4, 5}), 2, r.parameter(values({4})),
                 r.parameter(values({4}), "m", "bias")};
       },
       {0}},
      {"rms_norm", "", "m", root_mean_square_norm, {0}},
      {"_fused_rms_norm", "", "m", root_mean_square_norm, {0}},
      {"_batch_norm_impl_index", "", "m", running_norm, {0}},
      {"native_layer_norm", "", "m", norm_of_shape, {0}},
      {"embedding",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {r.parameter(values({7, 3})), torch::tensor({4, 0, 6})};
       },
       {1}},
      {"embedding_bag",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {r.parameter(values({7, 3})), torch::tensor({4, 0, 6}), torch::tensor({0, 2})};
       },
       {1, 2}},
      {"_native_multi_head_attention", "", "m", native_attention, {0, 1, 2}},
      {"_transformer_encoder_layer_fwd", "", "m", encoder_layer, {0}},
      {"lstm", "input", "m", recurrent(4), {0, 1}, 3},
      {"gru", "input", "m", recurrent(3), {0, 1}, 2},
      {"rnn_tanh", "input", "m", recurrent(1), {0, 1}, 2},
      {"rnn_relu", "input", "m", recurrent(1), {0, 1}, 2},
      {"lstm_of_a_packed_sequence", "data", "m", recurrent(4, true), {0, 1, 2}, 3, "lstm"},
      {"gru_of_a_packed_sequence", "data", "m", recurrent(3, true), {0, 1, 2}, 2, "gru"},
      {"lstm_cell", "", "m", cell(4), {0, 1}, 2},
      {"gru_cell", "", "m", cell(3), {0, 1}, 1},
      {"rnn_tanh_cell", "", "m", cell(1), {0, 1}, 1},
      {"rnn_relu_cell", "", "m", cell(1), {0, 1}, 1},
      {"prelu",
       "",
       "m",
       [](Recorder& r) -> Arguments {
         return {torch::randn({2, 3}), r.parameter(values({3}))};
       },
       {0}},
  };
  return cases;
}

class LayerOperator : public ::testing::TestWithParam<Case> {};

TEST_P(LayerOperator, is_delivered_as_its_module) { run(GetParam(), CapturedValues::Kind::Layer); }
INSTANTIATE_TEST_SUITE_P(Row, LayerOperator, ::testing::ValuesIn(layer_cases()), test_name);

// ----------------------------------------------------------------------------------- activations

Case activation(const std::string& name, const std::string& overload = "",
                const Arguments& more = {}) {
  return {name,
          overload,
          name,
          [=](OperatorRecorder&) {
            Arguments arguments{torch::randn({4, 6})};
            arguments.insert(arguments.end(), more.begin(), more.end());
            return arguments;
          },
          {0}};
}

std::vector<Case> activation_cases() {
  std::vector<Case> cases;
  for (const char* name :
       {"relu",    "gelu",     "silu",        "elu",         "leaky_relu", "selu", "tanh",
        "sigmoid", "softplus", "hardtanh",    "hardsigmoid", "hardswish",  "mish", "relu6",
        "celu",    "glu",      "log_sigmoid", "hardshrink",  "softshrink", "rrelu"})
    cases.push_back(activation(name));
  cases.push_back(activation("softmax", "int", {1}));
  cases.push_back(activation("log_softmax", "int", {1}));
  cases.push_back(activation("threshold", "", {0.1, 0.2}));
  cases.push_back(
      {"scaled_dot_product_attention",
       "",
       "scaled_dot_product_attention",
       [](OperatorRecorder&) -> Arguments {
         return {values({2, 3, 4}), values({2, 5, 4}), values({2, 5, 4}), values({3, 5})};
       },
       {0, 1, 2, 3}});
  return cases;
}

class ActivationOperator : public ::testing::TestWithParam<Case> {};

TEST_P(ActivationOperator, is_delivered_under_its_own_name) {
  run(GetParam(), CapturedValues::Kind::Activation);
}
INSTANTIATE_TEST_SUITE_P(Row, ActivationOperator, ::testing::ValuesIn(activation_cases()),
                         test_name);

class ActivationInPlace : public ::testing::TestWithParam<const char*> {};

TEST_P(ActivationInPlace, has_the_value_before_as_input_and_the_one_after_as_output) {
  const std::string name = GetParam();
  OperatorRecorder recorder;
  const at::Tensor tensor = torch::randn({4, 6});
  const at::Tensor before = tensor.clone();
  Arguments arguments{tensor};
  if (name == "threshold") arguments = {tensor, 0.1, 0.2};
  const Names names = recorder.during([&] { call_operator(name + "_", "", arguments); });
  EXPECT_THAT(names, ::testing::ElementsAre(name + "_input_0", name + "_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value(name + "_input_0"), before));
  EXPECT_TRUE(same_bytes(recorder.value(name + "_output_0"), tensor));
  EXPECT_FALSE(same_bytes(before, tensor));
}
INSTANTIATE_TEST_SUITE_P(Row, ActivationInPlace,
                         ::testing::Values("relu", "gelu", "silu", "elu", "leaky_relu", "selu",
                                           "tanh", "sigmoid", "hardtanh", "hardsigmoid",
                                           "hardswish", "mish", "relu6", "celu", "threshold",
                                           "rrelu"),
                         [](const auto& row) { return std::string(row.param); });

// ---------------------------------------------------------------------------------------- losses

Case loss(const std::string& name, const std::string& label, Tensors inputs, Arguments more = {},
          const std::string& overload = "") {
  std::vector<std::size_t> positions;
  for (std::size_t k = 0; k < inputs.size(); ++k) positions.push_back(k);
  return {name, overload, label,
          [=](OperatorRecorder&) {
            Arguments arguments(inputs.begin(), inputs.end());
            arguments.insert(arguments.end(), more.begin(), more.end());
            return arguments;
          },
          positions};
}

std::vector<Case> loss_cases() {
  const at::Tensor scores = torch::rand({4, 5}), classes = torch::tensor({0, 3, 1, 4});
  const at::Tensor other = torch::rand({4, 5}), signs = torch::tensor({1.0, -1.0, 1.0, 1.0});
  const at::Tensor weights = torch::rand({5});  // of classes: no input
  return {
      loss("cross_entropy_loss", "CrossEntropyLoss", {scores, classes}, {weights}),
      loss("nll_loss", "NLLLoss", {scores, classes}, {weights}),
      loss("nll_loss_nd", "NLLLoss", {scores, classes}, {weights}),
      loss("nll_loss2d", "NLLLoss",
           {torch::rand({2, 5, 3, 3}), torch::ones({2, 3, 3}, torch::kLong)}),
      loss("mse_loss", "MSELoss", {scores, other}),
      loss("l1_loss", "L1Loss", {scores, other}),
      loss("smooth_l1_loss", "SmoothL1Loss", {scores, other}),
      loss("huber_loss", "HuberLoss", {scores, other}),
      loss("binary_cross_entropy", "BCELoss", {scores, other}, {weights}),
      loss("binary_cross_entropy_with_logits", "BCEWithLogitsLoss", {scores, other},
           {weights, weights}),
      loss("kl_div", "KLDivLoss", {scores, other}),
      loss("ctc_loss", "CTCLoss",
           {torch::rand({6, 2, 5}).log_softmax(2), torch::ones({2, 3}, torch::kLong),
            torch::tensor({6, 6}), torch::tensor({3, 2})},
           {}, "Tensor"),
      loss("poisson_nll_loss", "PoissonNLLLoss", {scores, other}, {true, false, 1e-8, 1}),
      loss("cosine_embedding_loss", "CosineEmbeddingLoss", {scores, other, signs}),
      loss("hinge_embedding_loss", "HingeEmbeddingLoss", {scores, torch::ones({4, 5})}),
      loss("margin_ranking_loss", "MarginRankingLoss", {torch::rand({4}), torch::rand({4}), signs}),
      loss("multi_margin_loss", "MultiMarginLoss", {scores, classes}, {1, 1, weights}),
      loss("multilabel_margin_loss", "MultiLabelMarginLoss",
           {scores, torch::tensor(
                        {{3, 0, -1, 0, 0}, {1, -1, 0, 0, 0}, {0, 1, 2, -1, 0}, {4, -1, 0, 0, 0}})}),
      loss("soft_margin_loss", "SoftMarginLoss", {scores, torch::ones({4, 5})}),
      loss("triplet_margin_loss", "TripletMarginLoss", {scores, other, torch::rand({4, 5})}),
  };
}

class LossOperator : public ::testing::TestWithParam<Case> {};

TEST_P(LossOperator, is_delivered_under_its_class) { run(GetParam(), CapturedValues::Kind::Loss); }
INSTANTIATE_TEST_SUITE_P(Row, LossOperator, ::testing::ValuesIn(loss_cases()), test_name);

TEST(LossOperators, lengths_that_are_no_tensors_are_no_inputs) {
  OperatorRecorder recorder;
  const at::Tensor scores = torch::rand({6, 2, 5}).log_softmax(2);
  const at::Tensor targets = torch::ones({2, 3}, torch::kLong);
  const std::vector<std::int64_t> lengths{6, 6}, target_lengths{3, 2};
  EXPECT_THAT(recorder.during([&] {
    call_operator("ctc_loss", "IntList", {scores, targets, lengths, target_lengths});
  }),
              ::testing::ElementsAre("CTCLoss_input_0", "CTCLoss_input_1", "CTCLoss_output_0"));
}

// ------------------------------------------------------------------------------------- the table

TEST(OperatorTable, has_a_case_for_each_row) {
  std::set<std::string> with_a_case{"add"};
  for (const auto& cases : {layer_cases(), activation_cases(), loss_cases()})
    for (const Case& row : cases) with_a_case.insert(row.name);
  for (const OperatorRow& row : libtorch_detail::operator_rows())
    EXPECT_TRUE(with_a_case.contains(std::string(row.name))) << row.name;
}

TEST(OperatorTable, finds_each_row_by_the_name_that_torch_records) {
  for (const OperatorRow& row : libtorch_detail::operator_rows())
    EXPECT_EQ(find_operator("aten::" + std::string(row.name)), &row) << row.name;
}

TEST(OperatorTable, finds_activations_in_place_and_no_layers) {
  EXPECT_EQ(find_operator("aten::relu_"), find_operator("aten::relu"));
  EXPECT_EQ(find_operator("aten::add_"), find_operator("aten::add"));
  EXPECT_EQ(find_operator("aten::addmm_"), nullptr);
  EXPECT_EQ(find_operator("aten::mse_loss_"), nullptr);
}

TEST(OperatorTable, does_not_find_what_is_no_operator) {
  for (const char* name : {"", "aten::", "aten::_", "relu", "aten::relu__", "aten::Relu",
                           "autograd::engine::evaluate_function: ReluBackward0", "my::relu"})
    EXPECT_EQ(find_operator(name), nullptr) << name;
}

}  // namespace
}  // namespace cupel::libtorch_test
