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

/// What a Watch takes from the modules by itself. Which of it is saved, and when, the collections
/// of the hook decide.
struct WatchOptions {
  /// Whether gradients of parameters are taken, by a hook on each parameter that requires one.
  bool gradients = true;
  /// Whether inputs and outputs of modules that have parameters are taken.
  bool layers = true;
  /// Whether inputs and outputs of functions without parameters are taken, such as relu.
  bool activations = true;
  /// Whether inputs and outputs of loss functions are taken. The collection `losses` is saved by
  /// default: where it is due at every step, operators are listened to at every step. Without this
  /// option losses come by record_tensor_value() and Hook::save_scalar() only.
  bool losses = true;
};

/// Saves parameters, gradients, layers, activations and losses of PyTorch modules by a hook,
/// without changes in the modules:
///
///     cupel::libtorch::Watch watch(hook);
///     watch.register_module(*net);
///     for (auto& batch : *loader) { watch.next_step(); train(net, optimizer, batch); }
///
/// A module that is registered is a root. Its name R is its class, without namespace and `Impl`.
/// Names of tensors, where q is the dotted path of a parameter and p that of a module:
///
///     R_q, gradient/R_q            a parameter when the step begins; its gradient in each backward
///                                  pass, of which the last one of a step stays
///     p_input_0, p_output_0 …      of a module with parameters; of the root itself R_input_0
///     relu_input_0, relu_output_0  of a function, by the name of its operator
///     CrossEntropyLoss_output_0    of a loss function
///
/// Parameters are in `weights` or `biases` by their names; of the others those of two and more
/// dimensions are in `weights`. Collections that save nothing unless they are included list what a
/// tensor is, by the class of its module: `norms`, `embeddings` and `attention` have parameters,
/// `frozen` those without a gradient when the first step begins; `activations` has outputs of
/// activations, and `attention` those of attention modules, too. A class whose name does not say it
/// is known by the operators that read its parameters in the first step, which is listened to.
///
/// Layers, activations and losses are seen as operators, and the first column of the table in
/// docs/frameworks.md lists which. Operators are listened to only at steps at which a collection is
/// due that may want one: not where all that is due is parameters, gradients and collections that
/// only calls fill.
///
/// A tensor of any layout, device and kind is saved as row-major values of the CPU: sparse ones
/// dense up to 64 MiB, complex ones as pairs, quantized ones as numbers. A tensor that cannot be
/// saved, as one without values, is left out; the hook's report has one problem for each name.
///
/// Activations and losses belong to no module: a watch sees those of every network and every thread
/// of the process, also of networks that are not registered.
///
/// The hook is borrowed: it must outlive the watch, and has at most one. Its profile is Generic or
/// PyTorch. The watch keeps registered parameters alive, and sees no others. A module may be
/// destroyed before the watch or after it; of one that no shared_ptr owns (on the stack) the watch
/// does not see that, and takes a later module at its address for the same.
///
/// One thread uses a watch. Backward passes and operators may run on any threads, but not beside
/// next_step(), register_module() and the destructor, nor Hook::set_mode() and Hook::end_step().
/// Where the hook throws (OnError::Throw), an error that a gradient or an operator meets leaves the
/// next call of the watch; otherwise nothing is thrown after register_module(). What the last
/// operator returned is saved when the step ends, and lost if the program exits without
/// Hook::close().
///
/// The values that training computes are the same with and without a watch, to the bit, also when
/// saving fails; with one exception. At steps at which the watch listens, the executor of
/// TorchScript does not merge operators: the last bits of what merged element-wise operators would
/// have computed may differ.
class Watch {
 public:
  /// Throws UsageError for a hook of another profile, or that has a watch. Touches nothing but
  /// memory.
  explicit Watch(Hook& hook, WatchOptions options = {});
  /// Ends listening, and takes the hooks of the parameters back.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Watches the parameters and modules of `root` from the next step on. `name` is R in place of
  /// the class. A second root of the same name is called R_1, the next R_2; a module below it whose
  /// path is taken by a module of a former root is called R.p. A parameter that several modules
  /// share has one name, the first. Throws UsageError naming both modules if `root` is registered
  /// already, is below a registered root or contains one; then nothing has changed.
  void register_module(torch::nn::Module& root, std::string_view name = {});
  /// The same for a TorchScript module.
  void register_module(torch::jit::Module& root, std::string_view name = {});

  /// Begins a step by Hook::next_step(), saves the parameters that are due, and listens to
  /// operators if they are. If an error is thrown, all that has been done nevertheless.
  void next_step();

  /// Saves `value` as "<name>_output_<k>", where k counts the calls of the step; it is in `losses`
  /// if the name ends in `loss` or `Loss`.
  void record_tensor_value(std::string_view name, const at::Tensor& value);
  /// Saves `value` under this name, as Hook::save_tensor() does.
  void save_tensor(std::string_view name, const at::Tensor& value,
                   const CollectionNames& collections = {});
  /// Saves what a module took, as "<module>_input_0" …; for modules whose parameters no single
  /// operator shows. Called again in the step, the numbers go on.
  void save_inputs(std::string_view module, const std::vector<at::Tensor>& values);
  /// Saves what a module returned, as "<module>_output_0" …
  void save_outputs(std::string_view module, const std::vector<at::Tensor>& values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel::libtorch
