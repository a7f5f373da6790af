// A training loop that saves to a bucket: trainer OUT_DIR SPOOL_DIR SECONDS SEGMENT_MS [TIMES].
//
// It prints every acknowledged step that saved something, and "closed" at the end, which comes when
// the time is over. TIMES is a file that then has a line for each step: when it began, on the
// system's monotonic clock, and how long it took, in nanoseconds. The exit code is 4 where the
// report of the hook tells of any problem.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crash/saved_values.h"
#include "cupel/writer/hook.h"
#include "demo_data.h"
#include "demo_network.h"
#include "outage/saving.h"

namespace cupel::outage {
namespace {

using Clock = std::chrono::steady_clock;

HookOptions options_of(char** arguments) {
  HookOptions options;
  options.out_dir = arguments[1];
  options.spool_dir = arguments[2];
  options.segment_age = std::chrono::milliseconds(std::atoll(arguments[4]));
  options.include_collections = {"weights"};
  options.save_config = {.save_interval = kInterval};
  options.reduction_config = {.abs_reductions = {"mean"}, .save_raw_tensor = true};
  return options;
}

// What a step does without a hook, which takes some milliseconds. Most of them pass waiting, as for
// a device that computes.
class Training {
 public:
  void step() {
    const demo::Examples batch = demo::draw_batch(examples_, 1, random_);
    network_.forward(batch);
    network_.backward(batch);
    network_.step(0.05);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }

 private:
  demo::Random random_{7};
  demo::Examples examples_ = demo::make_spirals(1500, random_);
  demo::Network network_{{demo::Examples::kInputs, 512, 512, 512, demo::Examples::kClasses},
                         demo::Activation::LeakyRelu,
                         random_};
};

void acknowledge(std::int64_t step) {
  static std::int64_t told = -1;
  if (step == std::exchange(told, step)) return;
  std::printf("%lld\n", static_cast<long long>(step));
  std::fflush(stdout);
}

std::vector<std::pair<Clock::time_point, Clock::duration>> train(Hook& hook, double seconds) {
  Training training;
  std::vector<std::pair<Clock::time_point, Clock::duration>> times;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  for (std::int64_t step = 0; Clock::now() < end; ++step) {
    const auto begin = Clock::now();
    hook.next_step();
    training.step();
    if (step % kInterval == 0) {
      for (const crash::SavedTensor& tensor : crash::saved_tensors()) {
        const std::vector<float> value = crash::value_of(tensor, step);
        hook.save_tensor(tensor.name, TensorView(value.data(), {value.size()}));
      }
    }
    times.emplace_back(begin, Clock::now() - begin);
    acknowledge(hook.committed_step());
  }
  return times;
}

int run(char** arguments, const char* times_file) {
  Hook hook(options_of(arguments));
  const auto times = train(hook, std::atof(arguments[3]));
  const HookReport report = hook.close();
  acknowledge(hook.committed_step());
  for (const std::string& problem : report.problems) std::fprintf(stderr, "%s\n", problem.c_str());
  if (!report.problems.empty()) return 4;
  if (times_file != nullptr) {
    std::FILE* const file = std::fopen(times_file, "w");
    if (file == nullptr) return 3;
    for (const auto& [begin, took] : times)
      std::fprintf(file, "%lld %lld\n", static_cast<long long>(begin.time_since_epoch().count()),
                   static_cast<long long>(took.count()));
    std::fclose(file);
  }
  std::printf("closed\n");
  return 0;
}

}  // namespace
}  // namespace cupel::outage

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  return cupel::outage::run(argv, argc > 5 ? argv[5] : nullptr);
}
