// A training loop that goes on by one step for each character it reads: watched_trainer DIR. What
// it saves depends on the step alone, and calls the rules of killed_watch_test.cc again and again,
// each at steps of its own. At the end of its input it closes the run; one that was killed is gone
// on from, at the checkpoint if there is one, else from step 0.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "cupel/writer/hook.h"

namespace {

void save(cupel::Hook& hook, const std::string& name, float value) {
  const std::vector<float> values(20, value);
  hook.save_tensor(name, cupel::TensorView(values.data(), {4, 5}));
}

void save_step(cupel::Hook& hook, std::int64_t step) {
  const auto time = static_cast<float>(step);
  const bool explodes = step % 5 == 2 || step % 5 == 3;
  save(hook, "gradient/fc.weight", explodes ? std::numeric_limits<float>::infinity() : 0.5F);
  save(hook, "fc.weight", step % 6 == 4 ? 1000 + time : 1 + time / 1000);
  save(hook, "frozen", static_cast<float>(step % 8 < 4 ? step : step - step % 8 + 4));
  const std::int64_t stuck = step % 7 < 4 ? step : step - step % 7 + 3;
  hook.save_scalar("loss", std::pow(0.99, stuck));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cupel::HookOptions options;
  options.out_dir = argv[1];
  options.include_collections = {"gradients", "weights"};
  options.include_regex = {"frozen"};
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);
  hook.set_mode(cupel::Mode::Train);
  for (int key = std::getchar(); key != EOF; key = std::getchar()) {
    hook.next_step();
    save_step(hook, hook.step());
    std::putchar(key);  // the step before is committed
    std::fflush(stdout);
  }
  return hook.close().problems.empty() ? 0 : 1;
}
