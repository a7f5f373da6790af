// The first program that uses cupel: docs/install.md builds it in each of the ways that there are.

// trainer.cc
#include <cupel/writer/hook.h>
#include <cmath>

int main() {
  cupel::HookOptions options;
  options.out_dir = "runs/first";
  options.existing = cupel::Existing::Replace;
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);
  for (int step = 0; step < 50; ++step) {
    hook.next_step();
    hook.save_scalar("loss", std::exp(-0.1 * step));
  }
  return hook.close().problems.empty() ? 0 : 1;
}
