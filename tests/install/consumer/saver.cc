#include <vector>

#include "cupel/writer/hook.h"

int main(int, char** argv) {
  cupel::HookOptions options;
  options.out_dir = argv[1];
  options.include_collections = {"gradients"};
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);
  const std::vector<float> gradient(100, 1e-9F);
  for (int i = 0; i < 3; ++i) {
    hook.next_step();
    hook.save_tensor("gradient/fc1.weight", cupel::TensorView(gradient.data(), {10, 10}));
  }
  const cupel::HookReport report = hook.close();
  return report.steps_committed == 3 && report.problems.empty() ? 0 : 1;
}
