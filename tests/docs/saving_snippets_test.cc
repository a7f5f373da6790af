// The snippets of docs/resuming.md and docs/overhead.md, and those of docs/api.md about a hook's
// options, each inside a test that runs it in a scratch directory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cupel/cupel.h"
#include "scratch.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SavingSnippets : public ::testing::Test {
 protected:
  static std::vector<std::int64_t> saved_steps() {
    return cupel::create_trial("runs/mnist")->steps();
  }

  cupel_docs::Scratch scratch_;
};

TEST_F(SavingSnippets, inputs_and_outputs) {
  const std::vector<float> batch(6);
  const std::vector<float> hidden(8);
  const std::vector<float> attention(4);
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.save_all = true;
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);
  hook.next_step();

  hook.save_inputs("fc1", std::array{cupel::TensorView(batch.data(), {2, 3})});
  hook.save_outputs("fc1", std::array{cupel::TensorView(hidden.data(), {2, 4}),
                                      cupel::TensorView(attention.data(), {2, 2})});

  hook.close();
  EXPECT_THAT(cupel::create_trial("runs/mnist")->tensor_names(),
              ElementsAre("fc1_input_0", "fc1_output_0", "fc1_output_1"));
}

TEST_F(SavingSnippets, a_configuration_file) {
  std::ofstream("hook.json") << R"({"LocalPath": "runs/mnist",
    "CollectionConfigurations": [{"CollectionName": "weights"}]})";

  cupel::HookOptions base;
  base.commit = cupel::Commit::Background;
  cupel::Hook hook = cupel::Hook::create_from_json_file("hook.json", base);

  const std::vector<float> weights(12);
  hook.next_step();
  hook.save_tensor("fc1.weight", cupel::TensorView(weights.data(), {3, 4}));
  EXPECT_EQ(hook.close().tensors_saved, 1);
}

// Trains up to `steps`, in a new run or behind the last step of the one that is there.
void train(std::int64_t steps) {
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.existing = cupel::Existing::Continue;
  options.save_config = {.save_interval = 10};
  cupel::Hook hook(options);
  for (std::int64_t step = hook.step() + 1; step < steps; ++step) {
    hook.next_step();
    hook.save_scalar("loss", 1.0 / static_cast<double>(1 + step));
  }
}

TEST_F(SavingSnippets, going_on_behind_the_last_step) {
  train(5);
  train(8);
  EXPECT_THAT(saved_steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

void write_checkpoint(const std::string& directory, std::int64_t step) {
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/model-" + std::to_string(step)) << "weights";
}

void train_with_checkpoints(std::int64_t steps) {
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.existing = cupel::Existing::Continue;
  cupel::Hook hook(options);
  for (std::int64_t step = hook.step() + 1; step < steps; ++step) {
    hook.next_step();
    hook.save_scalar("loss", 1.0 / static_cast<double>(1 + step));
    if (step % 5 == 0) write_checkpoint("checkpoints", step);
  }
}

TEST_F(SavingSnippets, going_on_from_a_checkpoint) {
  std::ofstream("checkpoints.json") << R"({"LocalPath": "checkpoints"})";
  ::setenv("CHECKPOINT_CONFIG_FILE_PATH", "checkpoints.json", 1);
  train_with_checkpoints(9);
  {
    // Goes on behind the checkpoint of step 5, and not behind step 8.
    cupel::HookOptions options;
    options.out_dir = "runs/mnist";
    options.existing = cupel::Existing::Continue;
    const cupel::Hook hook(options);
    EXPECT_EQ(hook.step(), 5);
  }
  train_with_checkpoints(12);
  ::unsetenv("CHECKPOINT_CONFIG_FILE_PATH");
  EXPECT_THAT(saved_steps(), SizeIs(12));
}

TEST_F(SavingSnippets, a_limit_for_the_overhead) {
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.overhead_budget = 0.01;
  cupel::Hook hook(options);
  hook.next_step();
  std::ostringstream told;
  std::streambuf* const before = std::cerr.rdbuf(told.rdbuf());

  const cupel::HookReport report = hook.close();
  std::cerr << "saving took " << 100 * report.overhead << " % of the time\n";
  if (report.steps_left_out > 0) std::cerr << report.steps_left_out << " due steps were left out\n";
  for (const std::string& note : report.notes) std::cerr << note << '\n';

  std::cerr.rdbuf(before);
  EXPECT_THAT(told.str(), HasSubstr("saving took "));
  EXPECT_THAT(report.problems, IsEmpty());
}

}  // namespace
