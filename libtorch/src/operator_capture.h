#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace at {
class Tensor;
}

namespace cupel::libtorch_detail {

/// What a module, an activation or a loss took and returned, as the listener saw it.
struct CapturedValues {
  enum class Side { Inputs, Outputs };
  enum class Kind { Layer, Activation, Loss };
  std::string_view module;  ///< "body.2", "relu", "CrossEntropyLoss": the name before "_input_k".
  Side side;
  Kind kind;
  std::span<const at::Tensor> tensors;  ///< In order; the receiver numbers them.
};

/// Turns the outermost operators of the process into inputs and outputs of modules, activations and
/// losses. The receiver is called on the thread that runs the operator, and must not throw.
class OperatorCapture {
 public:
  struct Options {
    bool layers = true, activations = true, losses = true;
  };
  using Receiver = std::function<void(const CapturedValues&)>;
  OperatorCapture(Options options, Receiver receiver);
  ~OperatorCapture();
  OperatorCapture(const OperatorCapture&) = delete;
  OperatorCapture& operator=(const OperatorCapture&) = delete;

  /// A parameter `own_name` of the module `module` (its dotted path, or the root's name); matched
  /// by its storage.
  void add_parameter(const at::Tensor& parameter, std::string_view module,
                     std::string_view own_name);
  /// Switches listening on or off for this capture; what is pending is delivered first.
  void listen(bool on);
};

}  // namespace cupel::libtorch_detail
