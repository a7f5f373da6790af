#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cupel/writer/hook.h"

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}
namespace torch::jit {
struct Module;
}

namespace cupel::libtorch {

struct WatchOptions {
  bool gradients = true;
  bool layers = true;
  bool activations = true;
  bool losses = true;
};

class Watch {
 public:
  explicit Watch(Hook& hook, WatchOptions options = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void register_module(torch::nn::Module& root, std::string_view name = {});
  void register_module(torch::jit::Module& root, std::string_view name = {});
  void next_step();
  void record_tensor_value(std::string_view name, const at::Tensor& value);
  void save_tensor(std::string_view name, const at::Tensor& value,
                   const CollectionNames& collections = {});
  void save_inputs(std::string_view module, const std::vector<at::Tensor>& values);
  void save_outputs(std::string_view module, const std::vector<at::Tensor>& values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel::libtorch
