// Three networks of the demo, trained by libtorch in a child process each. The program is
// examples/libtorch_mnist.cc. The thread of the command waits for the child, while the judge reads
// the run in its own thread and asks a training that explodes to stop. The results come from the
// run. A child that cannot be started, is killed or fails is an Error, and its judge is stopped.

#include "demo_torch.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"
#include "demo_child.h"

namespace cupel::demo {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 400;
// The exploding training is meant to be stopped long before.
constexpr std::int64_t kMostSteps = 2000;

Result result_of(const std::string& run) {
  const auto trial = create_trial(run);
  const Tensor loss = trial->tensor("loss");
  const std::vector<std::int64_t> steps = loss.steps();
  Result result{.steps = static_cast<std::int64_t>(steps.size()),
                .first_loss = loss.value(steps.front()).at(0),
                .last_loss = loss.value(steps.back()).at(0)};
  const Tensor accuracy = trial->tensor("accuracy");
  result.held_out_accuracy = accuracy.value(accuracy.steps().back()).at(0);
  return result;
}

Training training(std::string name, std::string story, std::vector<Announced> announced,
                  std::int64_t steps, std::vector<std::string> command) {
  const auto train = [steps, command = std::move(command)](const std::string& run, Judge& judge) {
    std::vector<std::string> with_run = command;
    with_run.insert(with_run.end(), {"--steps", std::to_string(steps), run});
    ChildProcess child(std::move(with_run));
    child.wait_for_a_line();  // an earlier run is gone by then
    judge.begin(run);
    child.finish();
    Result result = result_of(run);
    result.stopped_early = judge.found_explosion() && result.steps < steps;
    return result;
  };
  return {std::move(name), std::move(story), std::move(announced), train};
}

}  // namespace

std::string torch_program_beside_this() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / "cupel-demo-torch").string();
}

Programme torch_programme(const std::string& program, std::uint64_t seed) {
  if (!fs::exists(program))
    throw Error("The demo on libtorch is a program of its own, and " + program +
                " is not there. A build with libtorch makes it "
                "(scripts/bootstrap.sh torch, then the target cupel_demo_torch); a demo without "
                "--torch needs nothing");
  const std::vector<std::string> healthy = {program, "--seed", std::to_string(seed)};
  const auto sick = [&healthy](const std::string& disease) {
    std::vector<std::string> command = healthy;
    command.insert(command.end(), {"--sick", disease});
    return command;
  };
  return {
      .title = "Three convolution networks",
      .trainings = {
          training("healthy", "two convolutions and two linear layers learn to read digits", {},
                   kSteps, healthy),
          training("vanishing", "ten layers of sigmoids behind the convolutions",
                   {{"VanishingGradient", "gradient/Net_conv1.weight"}, {"LossPlateau", "loss"}},
                   kSteps, sick("vanishing")),
          // The loss stays NaN until the training has seen the request to stop.
          training("exploding", "the healthy network, the sign of its loss turned round",
                   {{"ExplodingTensor"}, {.rule = "LossPlateau", .is_certain = false}}, kMostSteps,
                   sick("exploding")),
      }};
}

}  // namespace cupel::demo
