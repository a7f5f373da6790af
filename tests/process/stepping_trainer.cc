// A training loop that goes on by one step for each character it reads: stepping_trainer DIR. 'v'
// saves vanishing gradients, 'x' exploding ones, anything else healthy ones. At the end of its
// input it closes the run.

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "cupel/writer/hook.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cupel::HookOptions options;
  options.out_dir = argv[1];
  options.include_collections = {"gradients"};
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);
  hook.set_mode(cupel::Mode::Train);
  for (int key = std::getchar(); key != EOF; key = std::getchar()) {
    hook.next_step();
    const float value = key == 'v'   ? 1e-9F
                        : key == 'x' ? std::numeric_limits<float>::infinity()
                                     : 0.5F;
    for (const char* layer : {"fc1", "fc2", "fc3"}) {
      const std::vector<float> gradient(100, value);
      hook.save_tensor(std::string("gradient/") + layer + ".weight",
                       cupel::TensorView(gradient.data(), {10, 10}));
    }
    std::putchar(key);  // the step before is committed
    std::fflush(stdout);
  }
  return hook.close().problems.empty() ? 0 : 1;
}
