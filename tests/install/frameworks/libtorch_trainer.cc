#include <cupel/libtorch/watch.h>
#include <torch/torch.h>

int main(int, char** arguments) {
  cupel::HookOptions options{.out_dir = arguments[1], .include_collections = {"gradients"}};
  options.save_config.save_interval = 1;
  cupel::Hook hook(options);
  cupel::libtorch::Watch watch(hook);
  torch::nn::Linear net(4, 2);
  watch.register_module(*net);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int step = 0; step < 3; ++step) {
    watch.next_step();
    torch::mse_loss(net(torch::ones({8, 4})), torch::zeros({8, 2})).backward();
    optimizer.step();
  }
  return hook.close().problems.empty() ? 0 : 1;
}
