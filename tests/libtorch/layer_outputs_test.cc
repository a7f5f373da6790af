// What is delivered as a module's output is what its forward returned, to the byte.
//
// Each module runs twice with the same input: once unwatched, with a copy taken by hand of what
// forward returned, and once watched, with an activation in place on the output directly behind it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "operator_recorder.h"

namespace cupel::libtorch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Tensors = std::vector<at::Tensor>;
namespace nn = torch::nn;

struct Case {
  const char* name;
  /// Registers the module as `m` of the root; what is returned runs its forward.
  std::function<std::function<Tensors()>(nn::Module& root)> make;
  std::vector<std::string> names;  // that are delivered
};

std::ostream& operator<<(std::ostream& out, const Case& row) { return out << row.name; }

// A module with one input and one output.
template <typename Holder>
auto one_to_one(Holder holder, at::Tensor input) {
  return [=](nn::Module& root) -> std::function<Tensors()> {
    Holder module = holder;
    root.register_module("m", module);
    return [=]() mutable -> Tensors { return {module->forward(input)}; };
  };
}

const std::vector<std::string> one_input_one_output{"m_input_0", "m_output_0"};

std::vector<Case> module_cases() {
  const auto& usual = one_input_one_output;
  const at::Tensor indices = torch::tensor({{4, 0}, {6, 1}});
  return {
      {"Linear_of_2_dimensions", one_to_one(nn::Linear(3, 4), torch::randn({2, 3})), usual},
      {"Linear_of_3_dimensions", one_to_one(nn::Linear(3, 4), torch::randn({5, 2, 3})), usual},
      {"Linear_of_1_dimension", one_to_one(nn::Linear(3, 4), torch::randn({3})), usual},
      {"Linear_without_bias",
       one_to_one(nn::Linear(nn::LinearOptions(3, 4).bias(false)), torch::randn({2, 3})), usual},
      {"Conv1d", one_to_one(nn::Conv1d(3, 4, 2), torch::randn({2, 3, 6})), usual},
      {"Conv2d", one_to_one(nn::Conv2d(3, 4, 2), torch::randn({2, 3, 6, 6})), usual},
      {"Conv2d_without_bias",
       one_to_one(nn::Conv2d(nn::Conv2dOptions(3, 4, 2).bias(false)), torch::randn({2, 3, 6, 6})),
       usual},
      {"Conv2d_with_padding_of_zeros",
       one_to_one(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)), torch::randn({2, 3, 6, 6})),
       usual},
      {"Conv3d", one_to_one(nn::Conv3d(3, 4, 2), torch::randn({2, 3, 6, 6, 6})), usual},
      {"ConvTranspose1d",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::ConvTranspose1d(3, 4, 2));
         return [=, input = torch::randn({2, 3, 6})]() mutable -> Tensors {
           return {module->forward(input)};
         };
       },
       usual},
      {"ConvTranspose2d",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::ConvTranspose2d(3, 4, 2));
         return [=, input = torch::randn({2, 3, 6, 6})]() mutable -> Tensors {
           return {module->forward(input)};
         };
       },
       usual},
      {"ConvTranspose3d",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::ConvTranspose3d(3, 4, 2));
         return [=, input = torch::randn({2, 3, 4, 4, 4})]() mutable -> Tensors {
           return {module->forward(input)};
         };
       },
       usual},
      {"BatchNorm1d", one_to_one(nn::BatchNorm1d(3), torch::randn({4, 3})), usual},
      {"BatchNorm2d", one_to_one(nn::BatchNorm2d(3), torch::randn({4, 3, 5, 5})), usual},
      {"InstanceNorm1d",
       one_to_one(nn::InstanceNorm1d(nn::InstanceNorm1dOptions(3).affine(true)),
                  torch::randn({4, 3, 5})),
       usual},
      {"LayerNorm", one_to_one(nn::LayerNorm(nn::LayerNormOptions({3})), torch::randn({4, 3})),
       usual},
      {"GroupNorm", one_to_one(nn::GroupNorm(2, 4), torch::randn({2, 4, 5})), usual},
      {"Embedding", one_to_one(nn::Embedding(7, 3), indices), usual},
      {"EmbeddingBag",
       [=](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::EmbeddingBag(7, 3));
         return [=]() mutable -> Tensors {
           return {module->forward(torch::tensor({4, 0, 6}), torch::tensor({0, 2}))};
         };
       },
       {"m_input_0", "m_input_1", "m_output_0"}},
      {"PReLU", one_to_one(nn::PReLU(nn::PReLUOptions().num_parameters(3)), torch::randn({2, 3})),
       usual},
      {"Bilinear",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::Bilinear(3, 4, 5));
         return [=, a = torch::randn({2, 3}), b = torch::randn({2, 4})]() mutable -> Tensors {
           return {module->forward(a, b)};
         };
       },
       {"m_input_0", "m_input_1", "m_output_0"}},
      {"LSTM",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::LSTM(3, 4));
         return [=, input = torch::randn({5, 2, 3})]() mutable -> Tensors {
           const auto [output, state] = module->forward(input);
           return {output, std::get<0>(state), std::get<1>(state)};
         };
       },
       {"m_input_0", "m_input_1", "m_input_2", "m_output_0", "m_output_1", "m_output_2"}},
      {"LSTM_of_two_layers_and_directions",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module(
             "m", nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true)));
         return [=, input = torch::randn({5, 2, 3})]() mutable -> Tensors {
           const auto [output, state] = module->forward(input);
           return {output, std::get<0>(state), std::get<1>(state)};
         };
       },
       {"m_input_0", "m_input_1", "m_input_2", "m_output_0", "m_output_1", "m_output_2"}},
      {"GRU",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::GRU(3, 4));
         return [=, input = torch::randn({5, 2, 3})]() mutable -> Tensors {
           const auto [output, state] = module->forward(input);
           return {output, state};
         };
       },
       {"m_input_0", "m_input_1", "m_output_0", "m_output_1"}},
      {"RNN",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::RNN(3, 4));
         return [=, input = torch::randn({5, 2, 3})]() mutable -> Tensors {
           const auto [output, state] = module->forward(input);
           return {output, state};
         };
       },
       {"m_input_0", "m_input_1", "m_output_0", "m_output_1"}},
      {"LSTMCell",
       [](nn::Module& root) -> std::function<Tensors()> {
         auto module = root.register_module("m", nn::LSTMCell(3, 4));
         return [=, input = torch::randn({2, 3})]() mutable -> Tensors {
           const auto [h, c] = module->forward(input);
           return {h, c};
         };
       },
       {"m_input_0", "m_input_1", "m_input_2", "m_output_0", "m_output_1"}},
      {"GRUCell",
       one_to_one(nn::GRUCell(3, 4), torch::randn({2, 3})),
       {"m_input_0", "m_input_1", "m_output_0"}},
  };
}

class LayerOutputs : public ::testing::TestWithParam<Case> {};

TEST_P(LayerOutputs, are_what_forward_returned_also_before_an_activation_in_place) {
  torch::manual_seed(1);
  nn::Module root;
  const auto forward = GetParam().make(root);
  root.train();
  Tensors returned;
  for (const at::Tensor& tensor : forward()) returned.push_back(tensor.detach().clone());

  OperatorRecorder recorder({.activations = false});
  recorder.watch(root);
  const Names names = recorder.during([&] {
    for (at::Tensor& tensor : forward()) tensor.relu_();
  });

  EXPECT_THAT(names, ElementsAreArray(GetParam().names));
  for (std::size_t k = 0; k < returned.size(); ++k) {
    const std::string name = "m_output_" + std::to_string(k);
    EXPECT_TRUE(same_bytes(recorder.value(name), returned[k])) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Module, LayerOutputs, ::testing::ValuesIn(module_cases()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(LayerInputs, are_what_they_were_before_an_operator_in_place) {
  OperatorRecorder recorder;
  nn::Module root;
  nn::Linear linear(3, 4);
  root.register_module("fc", linear);
  recorder.watch(root);
  const at::Tensor input = torch::randn({2, 3});
  const at::Tensor before = input.clone();
  recorder.during([&] {
    linear(input);
    input.zero_();
  });
  EXPECT_TRUE(same_bytes(recorder.value("fc_input_0"), before));
}

TEST(LayerOutputs, come_before_the_inputs_of_the_next_layer) {
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(nn::ReLUOptions(true)), nn::Linear(4, 2));
  OperatorRecorder recorder;
  recorder.watch(*net);
  const at::Tensor input = torch::randn({2, 3});
  const Names names = recorder.during([&] { net->forward(input); });
  EXPECT_THAT(names, ElementsAre("0_input_0", "0_output_0", "relu_input_0", "relu_output_0",
                                 "2_input_0", "2_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("0_output_0"), recorder.value("relu_input_0")));
  EXPECT_TRUE(same_bytes(recorder.value("relu_output_0"), recorder.value("2_input_0")));
}

// Self-attention runs one projection for query, key and value together.
TEST(LayerOutputs, of_attention_are_those_of_its_projections) {
  nn::Module root;
  auto attention = root.register_module("att", nn::MultiheadAttention(4, 2));
  OperatorRecorder recorder;
  recorder.watch(root);
  const at::Tensor query = torch::randn({3, 2, 4});
  const at::Tensor projected =
      torch::nn::functional::linear(query, attention->in_proj_weight, attention->in_proj_bias);
  const at::Tensor returned = std::get<0>(attention->forward(query, query, query));

  const Names names = recorder.during([&] { attention->forward(query, query, query); });
  EXPECT_THAT(names,
              ElementsAre("att.in_proj_input_0", "att.in_proj_output_0", "softmax_input_0",
                          "softmax_output_0", "att.out_proj_input_0", "att.out_proj_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("att.in_proj_input_0"), query));
  EXPECT_TRUE(same_bytes(recorder.value("att.in_proj_output_0"), projected));
  EXPECT_TRUE(same_bytes(recorder.value("att.out_proj_output_0"), returned));
}

// Another key: the projection's weight and bias are used in slices, twice.
TEST(LayerOutputs, of_attention_over_another_sequence_are_numbered_on) {
  nn::Module root;
  auto attention = root.register_module("att", nn::MultiheadAttention(4, 2));
  OperatorRecorder recorder({.activations = false});
  recorder.watch(root);
  const at::Tensor query = torch::randn({3, 2, 4}), key = torch::randn({5, 2, 4});
  const Names names = recorder.during([&] { attention->forward(query, key, key); });
  EXPECT_THAT(names,
              ElementsAre("att.in_proj_input_0", "att.in_proj_output_0", "att.in_proj_input_1",
                          "att.in_proj_output_1", "att.out_proj_input_0", "att.out_proj_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("att.in_proj_input_1"), key));
  EXPECT_TRUE(same_bytes(recorder.value("att.in_proj_output_1"),
                         torch::nn::functional::linear(key, attention->in_proj_weight.slice(0, 4),
                                                       attention->in_proj_bias.slice(0, 4))));
}

// Key and value of other widths than the query have weights of their own, and one bias for all.
TEST(LayerOutputs, of_attention_with_three_weights_have_three_names) {
  nn::Module root;
  auto attention = root.register_module(
      "att", nn::MultiheadAttention(nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(3)));
  OperatorRecorder recorder({.activations = false});
  recorder.watch(root);
  const Names names = recorder.during([&] {
    attention->forward(torch::randn({3, 2, 4}), torch::randn({6, 2, 3}), torch::randn({6, 2, 3}));
  });
  EXPECT_THAT(names, ElementsAre("att.q_proj_input_0", "att.q_proj_output_0", "att.k_proj_input_0",
                                 "att.k_proj_output_0", "att.v_proj_input_0", "att.v_proj_output_0",
                                 "att.out_proj_input_0", "att.out_proj_output_0"));
}

}  // namespace
}  // namespace cupel::libtorch_test
