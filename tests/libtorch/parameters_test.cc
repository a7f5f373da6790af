// Parameters and gradients: names, shapes, collections, and which value of a step is saved. Values
// are compared by bytes with the tensors of torch that they came from, as they were at the moment
// that the tables of the documentation name.

#include <torch/csrc/jit/api/module.h>

#include "watch_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Parameters : public WatchTest {
 protected:
  Parameters() { options.include_collections = {"weights", "biases", "gradients"}; }
};

struct Row {
  const char* name;
  const char* kind;
};

TEST_F(Parameters, have_the_names_and_shapes_of_the_table_and_so_have_their_gradients) {
  Net net;
  watch_options = {.layers = false, .activations = false, .losses = false};
  watch().register_module(*net);
  train_step(net, images(), targets());
  const std::vector<Row> rows = {{"Net_conv1.weight", "f32 (2, 1, 3, 3)"},
                                 {"Net_conv1.bias", "f32 (2)"},
                                 {"Net_body.2.weight", "f32 (5, 72)"},
                                 {"Net_body.2.bias", "f32 (5)"},
                                 {"Net_bn.weight", "f32 (5)"},
                                 {"Net_bn.bias", "f32 (5)"}};
  std::vector<std::string> expected;
  for (const auto& [name, kind_of_row] : rows) {
    EXPECT_EQ(kind(name), kind_of_row);
    EXPECT_EQ(kind("gradient/" + std::string(name)), kind_of_row);
    expected.insert(expected.end(), {name, "gradient/" + std::string(name)});
  }
  EXPECT_THAT(names(), ::testing::UnorderedElementsAreArray(expected));
}

TEST_F(Parameters, are_in_weights_or_biases_by_name_and_gradients_in_gradients) {
  Net net;
  watch().register_module(*net);
  train_step(net, images(), targets());
  EXPECT_THAT(names_in("weights"),
              UnorderedElementsAre("Net_conv1.weight", "Net_body.2.weight", "Net_bn.weight"));
  EXPECT_THAT(names_in("biases"),
              UnorderedElementsAre("Net_conv1.bias", "Net_body.2.bias", "Net_bn.bias"));
  EXPECT_EQ(names_in("gradients").size(), 6U);
}

// As experts of a mixture and layers of other libraries name their parameters.
struct UnusualImpl : torch::nn::Module {
  UnusualImpl() {
    kernel = register_parameter("kernel", torch::randn({3, 2}));
    scale = register_parameter("scale", torch::randn({3}));
  }
  at::Tensor forward(const at::Tensor& x) { return x.matmul(kernel.t()) * scale; }
  at::Tensor kernel, scale;
};
TORCH_MODULE(Unusual);

TEST_F(Parameters, of_other_names_are_weights_if_they_have_two_dimensions) {
  Unusual net;
  watch().register_module(*net);
  train_step(net, torch::randn({4, 2}), torch::tensor({0, 1, 2, 0}, torch::kLong));
  EXPECT_THAT(names_in("weights"), ElementsAre("Unusual_kernel"));
}

TEST_F(Parameters, are_saved_as_they_are_before_the_update_of_the_step) {
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.5);
  watch().register_module(*net);
  std::vector<std::string> before;
  for (int step = 0; step < 3; ++step) {
    before.push_back(bytes_of(net->conv1->weight));
    optimizer.zero_grad();
    train_step(net, images(), targets());
    optimizer.step();
  }
  EXPECT_NE(before[0], before[1]);
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(saved_bytes("Net_conv1.weight", step), before[step]);
}

TEST_F(Parameters, are_saved_only_at_steps_at_which_they_are_due) {
  options.save_config = {.save_interval = 3};
  Net net;
  watch().register_module(*net);
  for (int step = 0; step < 5; ++step) train_step(net, images(), targets());
  EXPECT_THAT(trial().tensor("Net_conv1.weight").steps(), ElementsAre(0, 3));
  EXPECT_THAT(trial().tensor("gradient/Net_conv1.weight").steps(), ElementsAre(0, 3));
}

TEST_F(Parameters, gradients_are_what_the_pass_contributes_and_not_what_has_accumulated) {
  Net net;
  watch().register_module(*net);
  train_step(net, images(), targets());
  const at::Tensor first = net->conv1->weight.grad().clone();
  train_step(net, images(), targets());
  const at::Tensor both = net->conv1->weight.grad();
  EXPECT_EQ(saved_bytes("gradient/Net_conv1.weight", 0), bytes_of(first));
  // The sum was rounded, so that the difference is not the second gradient to the bit.
  const at::Tensor second =
      torch::tensor(numbers("gradient/Net_conv1.weight", 1)).to(torch::kFloat).view({2, 1, 3, 3});
  EXPECT_TRUE(torch::allclose(second, both - first, 1e-4, 1e-5));
  EXPECT_FALSE(torch::allclose(second, both, 1e-4, 1e-5));
}

TEST_F(Parameters, the_last_of_two_backward_passes_of_a_step_stays) {
  Unusual net;
  watch().register_module(*net);
  watch().next_step();
  const at::Tensor x = torch::randn({4, 2});
  net->forward(x).sum().backward();
  net->zero_grad();
  (net->forward(x).sum() * 3).backward();
  EXPECT_EQ(saved_bytes("gradient/Unusual_kernel"), bytes_of(net->kernel.grad()));
}

TEST_F(Parameters, a_gradient_of_a_parameter_used_twice_is_the_total_of_the_pass) {
  Unusual net;
  watch().register_module(*net);
  watch().next_step();
  (net->forward(torch::randn({4, 2})).sum() + net->forward(torch::randn({4, 2})).sum()).backward();
  EXPECT_EQ(saved_bytes("gradient/Unusual_kernel"), bytes_of(net->kernel.grad()));
}

TEST_F(Parameters, a_frozen_one_has_a_value_and_no_gradient) {
  Net net;
  net->conv1->weight.requires_grad_(false);
  watch().register_module(*net);
  train_step(net, images(), targets());
  EXPECT_THAT(names(), AllOf(Contains("Net_conv1.weight"), Contains("gradient/Net_conv1.bias"),
                             Not(Contains("gradient/Net_conv1.weight"))));
}

TEST_F(Parameters, one_that_is_frozen_no_more_has_a_gradient_from_the_next_step_on) {
  Net net;
  net->conv1->weight.requires_grad_(false);
  watch().register_module(*net);
  train_step(net, images(), targets());
  net->conv1->weight.requires_grad_(true);
  train_step(net, images(), targets());
  EXPECT_THAT(trial().tensor("gradient/Net_conv1.weight").steps(), ElementsAre(1));
}

TEST_F(Parameters, gradients_can_be_switched_off) {
  Net net;
  watch_options.gradients = false;
  watch().register_module(*net);
  train_step(net, images(), targets());
  EXPECT_THAT(names_in("gradients"), IsEmpty());
}

TEST_F(Parameters, gradients_are_not_due_in_the_mode_eval) {
  Net net;
  watch().register_module(*net);
  hook().set_mode(Mode::Eval);
  train_step(net, images(), targets());
  EXPECT_THAT(names_in("gradients"), IsEmpty());
  EXPECT_THAT(names(), Contains("Net_conv1.weight"));
}

struct TiedImpl : torch::nn::Module {
  TiedImpl() {
    encoder = register_module("encoder", torch::nn::Linear(3, 3));
    decoder = register_module("decoder", torch::nn::Linear(3, 3));
    decoder->weight = decoder->register_parameter("weight_of_encoder", encoder->weight);
  }
  at::Tensor forward(const at::Tensor& x) {
    return torch::nn::functional::linear(encoder(x), encoder->weight);
  }
  torch::nn::Linear encoder{nullptr}, decoder{nullptr};
};
TORCH_MODULE(Tied);

TEST_F(Parameters, one_that_two_modules_share_has_the_first_name_and_the_total_gradient) {
  Tied net;
  watch().register_module(*net);
  train_step(net, torch::randn({4, 3}), torch::tensor({0, 1, 2, 0}, torch::kLong));
  EXPECT_THAT(names(), AllOf(Contains("Tied_encoder.weight"),
                             Not(Contains("Tied_decoder.weight_of_encoder"))));
  EXPECT_EQ(saved_bytes("gradient/Tied_encoder.weight"), bytes_of(net->encoder->weight.grad()));
}

TEST_F(Parameters, buffers_are_never_saved) {
  options.save_all = true;
  Net net;
  watch().register_module(*net);
  train_step(net, images(), targets());
  EXPECT_THAT(names(), Not(Contains(HasSubstr("running_mean"))));
  EXPECT_THAT(names(), Not(Contains(HasSubstr("num_batches"))));
}

TEST_F(Parameters, are_seen_when_the_module_has_gone_to_another_type_behind_its_registration) {
  Net net;
  watch().register_module(*net);
  net->to(torch::kDouble);
  train_step(net, images().to(torch::kDouble), targets());
  EXPECT_EQ(kind("Net_conv1.weight"), "f64 (2, 1, 3, 3)");
  EXPECT_EQ(kind("gradient/Net_conv1.weight"), "f64 (2, 1, 3, 3)");
}

struct LookupImpl : torch::nn::Module {
  LookupImpl() {
    table = register_module("table",
                            torch::nn::Embedding(torch::nn::EmbeddingOptions(4, 2).sparse(true)));
  }
  at::Tensor forward(const at::Tensor& indices) { return table(indices).sum(1); }
  torch::nn::Embedding table{nullptr};
};
TORCH_MODULE(Lookup);

TEST_F(Parameters, a_sparse_gradient_of_an_embedding_becomes_dense_with_its_rows_added) {
  Lookup net;
  watch().register_module(*net);
  train_step(net, torch::tensor({{1, 1, 3}}, torch::kLong), torch::tensor({0}, torch::kLong));
  ASSERT_TRUE(net->table->weight.grad().is_sparse());
  EXPECT_EQ(kind("gradient/Lookup_table.weight"), "f32 (4, 2)");
  EXPECT_EQ(saved_bytes("gradient/Lookup_table.weight"),
            bytes_of(net->table->weight.grad().to_dense()));
}

TEST_F(Parameters, a_parameter_on_meta_is_reported_once_and_the_others_are_saved) {
  Unusual net;
  net->register_parameter("ghost_weight", torch::empty({2}, torch::device(at::kMeta)));
  watch().register_module(*net);
  for (int step = 0; step < 3; ++step)
    train_step(net, torch::randn({4, 2}), torch::tensor({0, 1, 2, 0}, torch::kLong));
  EXPECT_THAT(close().problems, ElementsAre(HasSubstr("Unusual_ghost_weight")));
  EXPECT_THAT(trial().tensor("Unusual_kernel").steps(), ElementsAre(0, 1, 2));
}

TEST_F(Parameters, a_hook_that_throws_throws_that_when_all_others_are_saved) {
  options.on_error = OnError::Throw;
  Unusual net;
  net->register_parameter("a_ghost_weight", torch::empty({2}, torch::device(at::kMeta)));
  watch().register_module(*net);
  EXPECT_THROW(watch().next_step(), UsageError);
  watch().next_step();
  EXPECT_THAT(trial().tensor("Unusual_kernel").steps(), ElementsAre(0, 1));
}

TEST_F(Parameters, of_a_torchscript_module_are_saved_with_their_gradients) {
  torch::jit::Module inner("Inner");
  inner.register_parameter("weight", torch::randn({3, 2}).requires_grad_(), false);
  inner.define("def forward(self, x):\n  return torch.matmul(x, self.weight.t())\n");
  torch::jit::Module net("Scripted");
  net.register_parameter("bias", torch::randn({3}).requires_grad_(), false);
  net.register_buffer("count", torch::zeros({1}));
  net.register_module("inner", inner);
  net.define("def forward(self, x):\n  return self.inner.forward(x) + self.bias\n");
  watch().register_module(net);
  watch().next_step();
  net.forward({torch::randn({4, 2})}).toTensor().sum().backward();
  EXPECT_THAT(names(),
              UnorderedElementsAre("Scripted_bias", "Scripted_inner.weight",
                                   "gradient/Scripted_bias", "gradient/Scripted_inner.weight"));
  EXPECT_EQ(saved_bytes("gradient/Scripted_inner.weight"),
            bytes_of(inner.attr("weight").toTensor().grad()));
}

TEST_F(Parameters, a_module_without_parameters_is_accepted_with_one_line_in_the_log) {
  torch::nn::ReLU net;
  watch().register_module(*net);
  watch().next_step();
  EXPECT_THAT(close().problems, IsEmpty());
  EXPECT_THAT(logged, HasSubstr("has no parameters of its own: ReLU\n"));
}

TEST_F(Parameters, saves_of_the_user_are_numbered_and_tagged) {
  options.include_collections = {"losses", "mine"};
  watch().next_step();
  watch().record_tensor_value("my_loss", torch::tensor(0.5));
  watch().record_tensor_value("my_loss", torch::tensor(0.25));
  watch().record_tensor_value("accuracy", torch::tensor(0.75));
  watch().save_tensor("extra", torch::tensor({1, 2}), {"mine"});
  EXPECT_THAT(names(), UnorderedElementsAre("my_loss_output_0", "my_loss_output_1", "extra"));
  EXPECT_THAT(names_in("losses"), UnorderedElementsAre("my_loss_output_0", "my_loss_output_1"));
  EXPECT_EQ(value("my_loss_output_1").at(0), 0.25);
}

TEST_F(Parameters, inputs_and_outputs_given_by_hand_are_numbered_on) {
  options.save_all = true;
  watch().next_step();
  watch().save_inputs("block", {torch::ones({1}), torch::ones({2})});
  watch().save_inputs("block", {torch::ones({3})});
  watch().save_outputs("block", {torch::ones({4})});
  EXPECT_THAT(names(), UnorderedElementsAre("block_input_0", "block_input_1", "block_input_2",
                                            "block_output_0"));
  EXPECT_EQ(kind("block_input_2"), "f32 (3)");
}

}  // namespace
}  // namespace cupel::testing
