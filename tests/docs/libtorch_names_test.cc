// A run that the watch of libtorch saved feeds every rule with a default pattern: `check` finds no
// gap in it, in each profile that the watch takes (docs/naming.md).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "check/found_names.h"
#include "cupel/cupel.h"
#include "cupel/libtorch/watch.h"
#include "scratch.h"

namespace {

using ::testing::IsEmpty;

constexpr int kStepsOfTraining = 12;

// Judges images and words.
struct ReaderImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& images, const torch::Tensor& words) {
    const torch::Tensor seen = torch::relu(conv(images)).flatten(1);
    const torch::Tensor read = torch::tanh(embedding(words)).flatten(1);
    return out(torch::cat({seen, torch::sigmoid(read)}, 1));
  }
  torch::nn::Conv2d conv = register_module("conv", torch::nn::Conv2d(3, 2, 3));
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(10, 4));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(2 * 6 * 6 + 6 * 4, 5));
};
TORCH_MODULE(Reader);

class LibtorchNames : public ::testing::TestWithParam<cupel::Profile> {
 protected:
  // Trains, and saves everything.
  static void save_run(const std::string& directory) {
    torch::manual_seed(1);
    cupel::HookOptions options{.out_dir = directory, .save_all = true};
    options.profile = GetParam();
    options.save_config.save_interval = 1;
    cupel::Hook hook(options);
    cupel::libtorch::Watch watch(hook);
    Reader net;
    watch.register_module(*net);
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    for (int step = 0; step < kStepsOfTraining; ++step) {
      watch.next_step();
      optimizer.zero_grad();
      const torch::Tensor guess =
          net->forward(torch::rand({4, 3, 8, 8}), torch::randint(0, 10, {4, 6}));
      torch::nn::functional::cross_entropy(guess, torch::randint(0, 5, {4})).backward();
      optimizer.step();
    }
    EXPECT_THAT(hook.close().problems, IsEmpty());
  }
  cupel_docs::Scratch scratch_;
};

TEST_P(LibtorchNames, are_found_and_judged_by_the_rules_with_default_patterns) {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"DeadRelu", {"relu_output_0"}},
      {"SaturatedActivation", {"sigmoid_input_0", "tanh_input_0"}},
      {"CheckInputImages", {"conv_input_0"}},
      {"NLPSequenceRatio", {"embedding_input_0"}},
      {"PoorWeightInitialization", {"relu_input_0"}}};
  save_run("runs/reader");
  const auto run = cupel::create_trial("runs/reader");
  for (const auto& [rule, names] : expected) {
    SCOPED_TRACE(rule);
    EXPECT_EQ(cupel::testing::found_names(rule, *run), names);
    EXPECT_THAT(cupel::testing::gaps_of(rule, *run), IsEmpty());
    EXPECT_TRUE(cupel::testing::judges(rule, *run));
  }
}

INSTANTIATE_TEST_SUITE_P(Profile, LibtorchNames,
                         ::testing::Values(cupel::Profile::Generic, cupel::Profile::PyTorch),
                         [](const auto& profile) {
                           return std::string(profile.param == cupel::Profile::Generic ? "generic"
                                                                                       : "pytorch");
                         });

}  // namespace
