// Modules of TorchScript: scripted, traced, frozen; attention as one operator.
//
// The modules are made here in C++. The executor of jit optimises from the second call on, which
// changes the operators of a norm; a capture that listens keeps it from that.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

#include <thread>

#include "operator_recorder.h"
#include "watch_fixture.h"

namespace cupel::libtorch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

torch::jit::Module scripted_module(const char* name, const at::Tensor& weight,
                                   const at::Tensor& bias) {
  torch::jit::Module module(std::string("__torch__.") + name);
  module.register_parameter("weight", weight, false);
  module.register_parameter("bias", bias, false);
  return module;
}

// Parameters and submodules of the network; `forward` is to be defined.
torch::jit::Module network_without_forward() {
  torch::manual_seed(1);
  torch::jit::Module net("__torch__.Net");
  torch::jit::Module conv = scripted_module("Conv", torch::rand({2, 1, 3, 3}).requires_grad_(),
                                            torch::rand({2}).requires_grad_());
  conv.define("def forward(self, x):\n  return torch.conv2d(x, self.weight, self.bias)\n");
  torch::jit::Module norm =
      scripted_module("Norm", torch::rand({2}).requires_grad_(), torch::rand({2}).requires_grad_());
  norm.register_buffer("running_mean", torch::zeros({2}));
  norm.register_buffer("running_var", torch::ones({2}));
  norm.define(
      "def forward(self, x):\n"
      "  return torch.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var,\n"
      "                          True, 0.1, 1e-5, True)\n");
  torch::jit::Module last = scripted_module("LayerNorm", torch::rand({72}).requires_grad_(),
                                            torch::rand({72}).requires_grad_());
  last.define(
      "def forward(self, x):\n"
      "  return torch.layer_norm(x, [72], self.weight, self.bias, 1e-5, True)\n");
  torch::jit::Module fc = scripted_module("Linear", torch::rand({5, 72}).requires_grad_(),
                                          torch::rand({5}).requires_grad_());
  fc.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  net.register_module("conv", conv);
  net.register_module("norm", norm);
  net.register_module("last", last);
  net.register_module("fc", fc);
  return net;
}

torch::jit::Module scripted_network() {
  torch::jit::Module net = network_without_forward();
  net.define(
      "def forward(self, x):\n"
      "  x = torch.relu(self.norm.forward(self.conv.forward(x)))\n"
      "  return self.fc.forward(self.last.forward(torch.flatten(x, 1)))\n");
  return net;
}

at::Tensor attribute(const torch::jit::Module& net, const char* module, const char* name) {
  return net.attr(module).toModule().attr(name).toTensor();
}

torch::jit::Module traced_network() {
  torch::jit::Module net = network_without_forward();
  const auto forward = [&](torch::jit::Stack inputs) -> torch::jit::Stack {
    at::Tensor x = torch::conv2d(inputs.at(0).toTensor(), attribute(net, "conv", "weight"),
                                 attribute(net, "conv", "bias"));
    x = torch::batch_norm(x, attribute(net, "norm", "weight"), attribute(net, "norm", "bias"),
                          attribute(net, "norm", "running_mean"),
                          attribute(net, "norm", "running_var"), true, 0.1, 1e-5, true);
    x = torch::layer_norm(torch::relu(x).flatten(1), {72}, attribute(net, "last", "weight"),
                          attribute(net, "last", "bias"), 1e-5, true);
    return {torch::linear(x, attribute(net, "fc", "weight"), attribute(net, "fc", "bias"))};
  };
  const auto no_name = [](const at::Tensor&) { return std::string(); };
  const auto traced =
      torch::jit::tracer::trace({torch::rand({4, 1, 8, 8})}, forward, no_name, true, false, &net);
  net.type()->addMethod(net._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*net.type()->name(), "forward"), traced.first->graph));
  return net;
}

const Names names_of_a_step = {"conv_input_0",
                               "conv_output_0",
                               "norm_input_0",
                               "norm_output_0",
                               "relu_input_0",
                               "relu_output_0",
                               "last_input_0",
                               "last_output_0",
                               "fc_input_0",
                               "fc_output_0",
                               "CrossEntropyLoss_input_0",
                               "CrossEntropyLoss_input_1",
                               "CrossEntropyLoss_output_0"};

void expect_equal_names_in_ten_steps(torch::jit::Module net) {
  OperatorRecorder recorder;
  recorder.watch(net);
  const at::Tensor x = torch::rand({4, 1, 8, 8}), classes = torch::tensor({0, 3, 1, 4});
  for (int step = 0; step < 10; ++step) {
    at::Tensor output;
    const Names names = recorder.during([&] {
      output = net.forward({x}).toTensor();
      torch::cross_entropy_loss(output, classes).backward();
    });
    EXPECT_THAT(names, ElementsAreArray(names_of_a_step)) << "step " << step;
    EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), output)) << "step " << step;
  }
}

TEST(JitModules, scripted_has_the_same_names_in_ten_steps) {
  expect_equal_names_in_ten_steps(scripted_network());
}

TEST(JitModules, traced_has_the_same_names_in_ten_steps) {
  expect_equal_names_in_ten_steps(traced_network());
}

TEST(JitModules, optimised_before_has_the_same_names_when_a_capture_listens) {
  torch::jit::Module net = scripted_network();
  const at::Tensor x = torch::rand({4, 1, 8, 8});
  for (int call = 0; call < 5; ++call) net.forward({x}).toTensor().sum().backward();
  expect_equal_names_in_ten_steps(net);
}

TEST(JitModules, frozen_has_no_parameters_and_shows_its_activations) {
  torch::jit::Module net = scripted_network();
  const torch::jit::Module frozen = torch::jit::freeze(net);
  torch::jit::Module callable = frozen;
  OperatorRecorder recorder;
  recorder.watch(callable);
  for (int call = 0; call < 3; ++call)
    EXPECT_THAT(recorder.during([&] {
      callable.forward({torch::rand({4, 1, 8, 8})});
    }),
                ElementsAre("relu_input_0", "relu_output_0"));
}

TEST(JitModules, attention_in_one_operator_has_the_path_of_the_module) {
  torch::jit::Module net("__torch__.Net"), attention("__torch__.Attention");
  attention.register_parameter("in_proj_weight", torch::rand({12, 4}), false);
  attention.register_parameter("in_proj_bias", torch::rand({12}), false);
  attention.register_module("out_proj",
                            scripted_module("Linear", torch::rand({4, 4}), torch::rand({4})));
  attention.define(
      "def forward(self, x):\n"
      "  return torch._native_multi_head_attention(x, x, x, 4, 2, self.in_proj_weight,\n"
      "      self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)[0]\n");
  net.register_module("att", attention);
  net.define("def forward(self, x):\n  return self.att.forward(x)\n");
  const at::NoGradGuard no_gradients;
  OperatorRecorder recorder;
  recorder.watch(net);
  at::Tensor output;
  const Names names = recorder.during([&] {
    output = net.forward({torch::rand({2, 3, 4})}).toTensor();
  });
  EXPECT_THAT(names, ElementsAre("att_input_0", "att_input_1", "att_input_2", "att_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("att_output_0"), output));
}

// The parameters of the scripted network after some steps, as bytes. No operator of it is one that
// the executor would merge with others.
std::string trained_parameters(libtorch::Watch* watch) {
  torch::jit::Module net = scripted_network();
  torch::manual_seed(3);
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : net.parameters()) parameters.push_back(parameter);
  torch::optim::Adam optimizer(parameters, torch::optim::AdamOptions(0.01));
  if (watch != nullptr) watch->register_module(net);
  for (int step = 0; step < 12; ++step) {
    if (watch != nullptr) watch->next_step();
    optimizer.zero_grad();
    const at::Tensor output = net.forward({torch::rand({4, 1, 8, 8})}).toTensor();
    torch::cross_entropy_loss(output, torch::tensor({0, 3, 1, 4})).backward();
    optimizer.step();
  }
  std::string bytes;
  for (const at::Tensor& parameter : parameters) bytes += testing::bytes_of(parameter);
  return bytes;
}

TEST(JitModules, of_operators_that_are_not_merged_train_to_the_same_bits_with_a_watch) {
  HookOptions options{.save_all = true};
  options.save_config = {.save_interval = 2};
  Hook hook(options, std::make_shared<MemoryStore>());
  libtorch::Watch watch(hook);
  EXPECT_EQ(trained_parameters(&watch), trained_parameters(nullptr));
  EXPECT_EQ(hook.close().steps_committed, 6);
}

TEST(JitOptimisation, is_off_for_the_thread_that_listens_and_as_before_behind_it) {
  for (const bool before : {true, false}) {
    torch::jit::setGraphExecutorOptimize(before);
    OperatorRecorder one, two;
    one.during([&] {
      EXPECT_FALSE(torch::jit::getGraphExecutorOptimize());
      two.during([] {});
      EXPECT_FALSE(torch::jit::getGraphExecutorOptimize());
      one.capture().pause();
      one.capture().listen(true);
      EXPECT_FALSE(torch::jit::getGraphExecutorOptimize());
      std::thread([] { EXPECT_TRUE(torch::jit::getGraphExecutorOptimize()); }).join();
    });
    EXPECT_EQ(torch::jit::getGraphExecutorOptimize(), before);
    {
      OperatorRecorder ends_while_it_listens;
      ends_while_it_listens.capture().listen(true);
    }
    EXPECT_EQ(torch::jit::getGraphExecutorOptimize(), before);
  }
  torch::jit::setGraphExecutorOptimize(true);
}

}  // namespace
}  // namespace cupel::libtorch_test
