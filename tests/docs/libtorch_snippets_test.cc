// The snippets of docs/frameworks.md about libtorch that are not in examples/libtorch_mnist.cc,
// each inside a test that runs it in a scratch directory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <memory>

#include "cupel/cupel.h"
#include "cupel/libtorch/watch.h"
#include "scratch.h"

namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

// Scales what the operator with its parameter gives: what the listener sees is not its result.
struct AttentionImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return 0.5 * query(x); }
  torch::nn::Linear query = register_module("query", torch::nn::Linear(2, 2));
};
TORCH_MODULE(Attention);

class LibtorchSnippets : public ::testing::Test {
 protected:
  static cupel::HookOptions all() {
    cupel::HookOptions options{.out_dir = "runs/net", .save_all = true};
    options.save_config.save_interval = 1;
    return options;
  }
  cupel_docs::Scratch scratch_;
};

TEST_F(LibtorchSnippets, what_the_watch_cannot_see) {
  Attention attention;
  cupel::Hook hook(all());
  cupel::libtorch::Watch watch(hook);
  watch.register_module(*attention);
  watch.next_step();
  const torch::Tensor x = torch::ones({3, 2});

  const torch::Tensor attended = attention->forward(x);
  watch.save_outputs("attention", {attended});
  watch.record_tensor_value("penalty_loss", attended.pow(2).mean());

  EXPECT_THAT(hook.close().problems, ElementsAre());
  const auto trial = cupel::create_trial("runs/net");
  EXPECT_EQ(trial->tensor("attention_output_0").value(0).at(0), attended[0][0].item<float>());
  EXPECT_EQ(trial->tensor("query_output_0").value(0).at(0), 2 * attended[0][0].item<float>());
  EXPECT_THAT(trial->tensor_names({.collection = "losses"}), ElementsAre("penalty_loss_output_0"));
}

TEST_F(LibtorchSnippets, a_module_of_TorchScript) {
  {
    torch::jit::Module model("Model");
    model.register_parameter("scale_weight", torch::ones({2, 2}), false);
    model.define("def forward(self, x):\n  return torch.mm(x, self.scale_weight)\n");
    model.save("model.pt");
  }
  cupel::Hook hook(all());
  cupel::libtorch::Watch watch(hook);

  torch::jit::Module scripted = torch::jit::load("model.pt");
  watch.register_module(scripted, "Model");

  watch.next_step();
  scripted.forward({torch::ones({3, 2})});
  EXPECT_THAT(hook.close().problems, ElementsAre());
  EXPECT_THAT(cupel::create_trial("runs/net")->tensor_names(),
              IsSupersetOf({"Model_scale_weight"}));
}

}  // namespace
