#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/libtorch/watch.h"
#include "cupel/store/memory_store.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"

namespace cupel::testing {

/// The network of the tables: a convolution, a block without a class of its own, a norm.
struct NetImpl : torch::nn::Module {
  NetImpl() {
    conv1 = register_module("conv1", torch::nn::Conv2d(1, 2, 3));
    body = register_module("body", torch::nn::Sequential(torch::nn::ReLU(), torch::nn::Flatten(),
                                                         torch::nn::Linear(72, 5)));
    bn = register_module("bn", torch::nn::BatchNorm1d(5));
  }
  at::Tensor forward(const at::Tensor& x) { return bn(body->forward(conv1(x))); }

  torch::nn::Conv2d conv1{nullptr};
  torch::nn::Sequential body{nullptr};
  torch::nn::BatchNorm1d bn{nullptr};
};
TORCH_MODULE(Net);

/// The elements in row-major order, as bytes.
inline std::string bytes_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().contiguous();
  return {static_cast<const char*>(plain.data_ptr()),
          static_cast<std::size_t>(plain.numel()) * plain.element_size()};
}

/// A watch over a hook that writes into memory and saves at every step.
class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    torch::manual_seed(7);
    options.save_config = {.save_interval = 1};
    set_log_sink(
        [this](LogLevel, std::string_view message) { logged += std::string(message) + '\n'; });
  }
  ~WatchTest() override { set_log_sink({}); }

  Hook& hook() {
    if (!hook_) hook_ = std::make_unique<Hook>(options, store);
    return *hook_;
  }
  libtorch::Watch& watch() {
    if (!watch_) watch_ = std::make_unique<libtorch::Watch>(hook(), watch_options);
    return *watch_;
  }
  void end_watch() { watch_.reset(); }
  const HookReport& close() {
    if (!report_) report_ = hook().close();
    return *report_;
  }

  // What is in the run; the hook is closed.
  Trial& trial() {
    if (!trial_) {
      close();
      trial_ = std::make_unique<Trial>(store);
    }
    return *trial_;
  }
  std::vector<std::string> names(std::int64_t step = 0) {
    return trial().tensor_names({.step = step});
  }
  std::vector<std::string> names_in(const char* collection) {
    return trial().tensor_names({.collection = collection});
  }
  TensorValue value(std::string_view name, std::int64_t step = 0) {
    return trial().tensor(name).value(step);
  }
  std::string saved_bytes(std::string_view name, std::int64_t step = 0) {
    const TensorValue found = value(name, step);
    return {reinterpret_cast<const char*>(found.bytes().data()), found.bytes().size()};
  }
  std::vector<double> numbers(std::string_view name, std::int64_t step = 0) {
    const TensorValue found = value(name, step);
    std::vector<double> all;
    for (std::int64_t i = 0; i < found.elements(); ++i) all.push_back(found.at(i));
    return all;
  }
  // "f32 (2, 3)"
  std::string kind(std::string_view name, std::int64_t step = 0) {
    const TensorValue found = value(name, step);
    return std::string(to_string(found.dtype())) + " " + to_string(found.shape());
  }

  // One step of a training of any module.
  template <class Module>
  void train_step(Module& module, const at::Tensor& input, const at::Tensor& target) {
    watch().next_step();
    torch::nn::functional::cross_entropy(module->forward(input), target).backward();
  }
  static at::Tensor images() { return torch::randn({4, 1, 8, 8}); }
  static at::Tensor targets() { return torch::tensor({0, 1, 2, 3}, torch::kLong); }

  HookOptions options;
  libtorch::WatchOptions watch_options;
  std::shared_ptr<Store> store = std::make_shared<MemoryStore>();
  std::string logged;

 private:
  std::unique_ptr<Hook> hook_;
  std::unique_ptr<libtorch::Watch> watch_;
  std::optional<HookReport> report_;
  std::unique_ptr<Trial> trial_;
};

}  // namespace cupel::testing
