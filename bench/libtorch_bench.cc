// What a watch costs a training with libtorch: steps of one network with and without it, in turn,
// in blocks that are so short that both see the same machine.
//
//   libtorch_bench [--steps N] [--repetitions N] [--only TEXT]
//
// Two networks are trained: `conv`, two convolutions and a linear layer over 32 images, and
// `small`, 50 linear layers of 64 with relu over 32 rows. A row gives the ratio of the processor
// times of the training thread, with to without: the median of the blocks, and the quartiles. The
// last case is the listener's switch.
//
// The runs lie in CUPEL_BENCH_DIR, else on tmpfs.

#include <malloc.h>
#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench_directory.h"
#include "cupel/core/log.h"
#include "cupel/libtorch/watch.h"
#include "cupel/writer/hook.h"
#include "paired.h"
#include "read_arguments.h"

namespace cupel {
namespace {

struct Settings {
  int steps = 20;        // of a block
  int repetitions = 31;  // pairs of blocks
  std::string only;      // a part of the names of what is run
};

struct ConvImpl : torch::nn::Module {
  ConvImpl() {
    first =
        register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)));
    second = register_module("second",
                             torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3).padding(1)));
    last = register_module("last", torch::nn::Linear(32 * 7 * 7, 10));
  }
  at::Tensor forward(at::Tensor x) {
    x = torch::max_pool2d(torch::relu(first(x)), 2);
    x = torch::max_pool2d(torch::relu(second(x)), 2);
    return last(x.flatten(1));
  }
  torch::nn::Conv2d first{nullptr}, second{nullptr};
  torch::nn::Linear last{nullptr};
};

struct SmallImpl : torch::nn::Module {
  SmallImpl() {
    for (int i = 0; i < 50; ++i) layers->push_back(torch::nn::Linear(64, 64));
    register_module("layers", layers);
  }
  at::Tensor forward(at::Tensor x) {
    for (const auto& layer : *layers) x = torch::relu(layer->as<torch::nn::Linear>()->forward(x));
    return x;
  }
  torch::nn::ModuleList layers;
};

// A network with what it is trained on.
template <class Network>
class Training {
 public:
  explicit Training(const at::Tensor& input)
      : network(std::make_shared<Network>()),
        input_(input),
        target_(torch::arange(input.size(0)) % 10),
        optimizer_(network->parameters(), 0.01) {}

  void step(libtorch::Watch* watch) {
    if (watch != nullptr) watch->next_step();
    optimizer_.zero_grad();
    torch::nn::functional::cross_entropy(network->forward(input_), target_).backward();
    optimizer_.step();
  }

  std::shared_ptr<Network> network;

 private:
  at::Tensor input_, target_;
  torch::optim::SGD optimizer_;
};

enum class What { Nothing, Listening, Reductions, Everything };

struct Case {
  std::string_view name;
  What what;
  std::int64_t interval;
  double conv_budget, small_budget;
};

constexpr std::array<Case, 5> kCases = {{
    {"nothing_due", What::Nothing, 1, 1.01, 1.03},
    {"listening", What::Listening, 1, 1.05, 1.4},
    {"reductions/1", What::Reductions, 1, 1.06, 1.35},
    {"reductions/10", What::Reductions, 10, 1.01, 1.05},
    {"save_all", What::Everything, 1, 1.25, 2.2},
}};

HookOptions options_of(const Case& measured, std::string out_dir) {
  HookOptions options;
  options.out_dir = std::move(out_dir);
  options.save_config = {.save_interval = measured.interval};
  options.reduction_config = ReductionConfig{
      .reductions = {"min", "max", "mean", "std"}, .abs_reductions = {"mean"}, .norms = {"l2"}};
  switch (measured.what) {
    case What::Nothing:
      // Due once, before anything is measured.
      options.save_config = {.save_interval = 1'000'000'000};
      options.include_collections = {"weights", "biases", "gradients"};
      break;
    case What::Listening:
      options.include_regex = {"^no tensor has this name$"};
      break;
    case What::Reductions:
      options.include_collections = {"weights", "biases", "gradients"};
      break;
    case What::Everything:
      options.save_all = true;
      break;
  }
  return options;
}

template <class Network>
void measure(const Settings& settings, std::string_view network, const at::Tensor& input,
             const Case& measured, double budget) {
  const std::string name = std::string(network) + "/" + std::string(measured.name);
  if (name.find(settings.only) == std::string::npos) return;
  const BenchDirectory directory;
  // One network in both ways: two copies of it differ by 2 % by where their memory lies.
  Training<Network> training(input);
  HookReport report;
  const auto block = [&](libtorch::Watch* watch) {
    training.step(watch);  // not measured: everything is due at the first step
    return processor_seconds_of([&] {
      for (int step = 0; step < settings.steps; ++step) training.step(watch);
    });
  };
  const auto watched_block = [&](int run) {
    Hook hook(options_of(measured, directory / std::to_string(run).c_str()));
    // The loss would be due at every step where parameters are: operators are then listened to.
    auto watch = std::make_unique<libtorch::Watch>(
        hook, libtorch::WatchOptions{.losses = measured.what == What::Everything});
    watch->register_module(*training.network);
    const double seconds = block(watch.get());
    watch.reset();
    report = hook.close();
    return seconds;
  };
  std::vector<double> plain, ratios;
  for (int i = 0; i < settings.repetitions + 2 && !report.disabled; ++i) {
    const double first = i % 2 == 0 ? block(nullptr) : watched_block(i);
    const double second = i % 2 == 0 ? watched_block(i) : block(nullptr);
    if (i < 2) continue;  // warms up
    plain.push_back(i % 2 == 0 ? first : second);
    ratios.push_back(i % 2 == 0 ? second / first : first / second);
  }
  std::printf("%-22s %8.3f %9.4f %9.4f %9.4f %8.2f%s\n", name.c_str(),
              quantile(plain, 0.5) / settings.steps * 1e3, quantile(ratios, 0.25),
              quantile(ratios, 0.5), quantile(ratios, 0.75), budget,
              quantile(ratios, 0.5) > budget ? "  over" : "");
  if (report.disabled) std::printf("saving ended: %s\n", report.problems[0].c_str());
  std::fflush(stdout);
}

// From one step that listens to the next that does not, and back.
void measure_switch(const Settings& settings) {
  const std::string name = "switch";
  if (name.find(settings.only) == std::string::npos) return;
  const BenchDirectory directory;
  const auto nanoseconds_of_a_step = [&](const char* run, std::int64_t interval) {
    HookOptions options;
    options.out_dir = directory / run;
    options.save_config = {.save_interval = interval};
    options.include_regex = {"^no tensor has this name$"};
    Hook hook(options);
    libtorch::Watch watch(hook);
    watch.next_step();
    std::vector<double> times;
    for (int i = 0; i < settings.repetitions; ++i)
      times.push_back(processor_seconds_of([&] {
        for (int step = 0; step < 1000; ++step) watch.next_step();
      }));
    return quantile(times, 0.5) * 1e6;
  };
  const double never = nanoseconds_of_a_step("never", 1'000'000'000);
  const double every_other = nanoseconds_of_a_step("other", 2);
  std::printf(
      "%-22s %.0f ns a step without, %.0f ns where every other step listens: a switch %.0f ns, "
      "budget 200\n",
      name.c_str(), never, every_other, every_other - never);
}

void measure_all(const Settings& settings) {
  std::printf("blocks of %d steps, %d pairs of blocks; ratio: with a watch to without\n",
              settings.steps, settings.repetitions);
  std::printf("%-22s %8s %9s %9s %9s %8s\n", "case", "ms/step", "ratio q1", "median", "q3",
              "budget");
  const at::Tensor images = torch::randn({64, 1, 28, 28}), rows = torch::randn({32, 64});
  for (const Case& measured : kCases) {
    measure<ConvImpl>(settings, "conv", images, measured, measured.conv_budget);
    measure<SmallImpl>(settings, "small", rows, measured, measured.small_budget);
  }
  measure_switch(settings);
}

}  // namespace
}  // namespace cupel

int main(int argc, char** argv) {
  cupel::Settings settings;
  if (!cupel::read_arguments(argc, argv,
                             "libtorch_bench [--steps N] [--repetitions N] [--only TEXT]",
                             {{"--steps", &settings.steps},
                              {"--repetitions", &settings.repetitions},
                              {"--only", &settings.only}}))
    return 2;
  cupel::set_log_sink([](cupel::LogLevel level, std::string_view message) {
    if (level >= cupel::LogLevel::Error)
      std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
  });
  // Freed memory stays here: else steps differ by twice in how often the system gives pages anew.
  ::mallopt(M_TRIM_THRESHOLD, -1);
  ::mallopt(M_MMAP_MAX, 0);
  torch::manual_seed(7);
  torch::set_num_threads(1);
  cupel::measure_all(settings);
  return 0;
}
