#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "operator_table.h"

namespace at {
class Tensor;
}

namespace cupel::libtorch_detail {

class OperatorListener;

/// What a module, an activation or a loss took or returned, as the listener saw it.
struct CapturedValues {
  enum class Side { Inputs, Outputs };
  enum class Kind { Layer, Activation, Loss };
  /// "body.2", "relu", "CrossEntropyLoss": the name before "_input_k". Valid as long as the
  /// capture.
  std::string_view module;
  /// The module whose parameters were read: "att" where `module` is "att.in_proj". Empty for
  /// activations and losses.
  std::string_view owner;
  Side side = Side::Inputs;
  Kind kind = Kind::Layer;
  /// The kind of the operator.
  OperatorKind operator_kind = OperatorKind::OtherLayer;
  /// The tensors in order; the receiver numbers them. They may be views of any kind and may require
  /// gradients. Valid during the call.
  std::span<const at::Tensor> tensors;
};

/// Turns the outermost operators of the process into inputs and outputs of modules, activations and
/// losses.
///
/// An operator belongs to the module whose parameter shares its storage with one of the operator's
/// inputs. Inputs are delivered when the operator begins, outputs when the thread's next operator
/// begins; so a bias that is added afterwards is in them, and an activation in place is not.
///
/// Operators of all threads are seen while the capture listens. The receiver is called on the
/// thread that runs the operator, or on the one that calls listen() or pause(), with gradients off;
/// one call at a time for a capture. Operators that the receiver itself runs are ignored. The
/// receiver must not throw (an exception is logged once, and the values are lost), and must not
/// call the capture. Other calls may come from any thread, but only one thread at a time changes
/// parameters.
///
/// In the child of a fork, captures of the parent are silent; the child may make its own.
class OperatorCapture {
 public:
  struct Options {
    bool layers = true;       ///< Operators that read parameters are delivered.
    bool activations = true;  ///< Activation operators are delivered.
    bool losses = true;       ///< Loss operators are delivered.
  };
  using Receiver = std::function<void(const CapturedValues&)>;

  OperatorCapture(Options options, Receiver receiver);
  /// Ends listening; what is pending is dropped. The receiver is not called afterwards.
  ~OperatorCapture();
  OperatorCapture(const OperatorCapture&) = delete;
  OperatorCapture& operator=(const OperatorCapture&) = delete;

  /// Adds the parameter `own_name` of the module `module`: its dotted path below the root, or the
  /// name of the root for a parameter of the root itself. `root` is the name of the root, and the
  /// module of an operator whose parameters have no module in common but the root. A tensor that
  /// was added before keeps its first name. The capture holds the tensor; when the tensor later
  /// gets other data (`set_data`, `to`), the capture finds the new storage by itself.
  void add_parameter(const at::Tensor& parameter, std::string_view module,
                     std::string_view own_name, std::string_view root);

  /// Switches listening of this capture on or off. What is pending, on whatever thread, is
  /// delivered first. While it is on, the optimisation of jit's executor is off for the calling
  /// thread: call listen(false), or the destructor, on the same thread.
  void listen(bool on);

  /// Delivers what is pending, on whatever thread. Listening goes on.
  void deliver();

  /// Delivers what is pending, on whatever thread. Afterwards the receiver is not called until
  /// listen(true). Cheaper than listen(false) between two steps that both listen.
  void pause();

 private:
  class State;
  bool is_of_this_process() const noexcept;
  std::shared_ptr<State> state_;
  OperatorListener* listener_;  // of the process that made the capture
};

/// While it lives, operators of its thread are ignored by all captures: for copies of our own.
class IgnoredOperators {
 public:
  IgnoredOperators() noexcept;
  ~IgnoredOperators();
  IgnoredOperators(const IgnoredOperators&) = delete;
  IgnoredOperators& operator=(const IgnoredOperators&) = delete;
};

}  // namespace cupel::libtorch_detail
