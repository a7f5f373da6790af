// The facade. The training thread registers roots and begins steps; autograd's threads bring
// gradients (gradient_hook.cc), and threads that run operators bring what a module took and
// returned (operator_capture.h). All of them save by a ValueSaver, which keeps errors away from
// torch. The hook has what is pending delivered when a step, a mode or itself ends, on whichever
// thread that is.
//
// A step begins in this order: listening pauses, so that what is pending goes into the step before;
// the hook begins the step; parameters are saved; listening goes on or ends. So it does not see how
// parameters are copied. The first step of a root is listened to in any case where a module has a
// class of the user's own: what it is, its operator shows.

#include "cupel/libtorch/watch.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cupel/core/collection.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/core/printable.h"
#include "gradient_hook.h"
#include "operator_capture.h"
#include "unknown_modules.h"
#include "value_saver.h"
#include "watched_roots.h"

namespace cupel::libtorch {

using namespace libtorch_detail;

namespace {

// Collections beyond so many are taken for such that operators may feed.
constexpr std::size_t kMostCollections = 256;
constexpr std::array<std::string_view, 3> kOfParameters = {"norms", "embeddings", "frozen"};
// Operators of the kind Activation that are no activation.
constexpr std::string_view kAttentionOperator = "scaled_dot_product_attention";

bool has_no_content(const Collection& collection) {
  return collection.include_regex().empty() && collection.tensor_names().empty();
}

// Whether it is a built-in collection that nobody has changed.
bool is_untouched(const Collection& collection, Profile profile) {
  const Collections builtin = builtin_collections(profile);
  const auto found = builtin.find(collection.name());
  return found != builtin.end() && collection.tensor_names().empty() &&
         found->second.include_regex().texts() == collection.include_regex().texts();
}

// Whether operators never give the collection a tensor.
bool has_no_operators(const Collection& collection, Profile profile, const WatchOptions& options) {
  const std::string& name = collection.name();
  if (name == "activations" || name == "attention") return false;
  if (name == "losses") return !options.losses && is_untouched(collection, profile);
  if (name == "weights" || name == "biases" || name == "gradients")
    return is_untouched(collection, profile);
  return has_no_content(collection);
}

bool ends_in_loss(std::string_view name) {
  return name.ends_with("loss") || name.ends_with("Loss");
}

std::vector<std::string> collections_of(const NamedParameter& parameter,
                                        const NamedModule& module) {
  std::vector<std::string> collections;
  const bool has_pattern = parameter.name.find("weight") != std::string::npos ||
                           parameter.name.find("bias") != std::string::npos;
  if (!has_pattern && parameter.tensor.dim() >= 2) collections.emplace_back("weights");
  if (module.role.is_norm) collections.emplace_back("norms");
  if (module.role.is_embedding) collections.emplace_back("embeddings");
  if (module.is_in_attention) collections.emplace_back("attention");
  return collections;
}

CollectionNames collections_of_outputs(const NamedModule& module) {
  if (module.role.is_activation && module.role.is_attention) return {"activations", "attention"};
  if (module.role.is_activation) return {"activations"};
  if (module.role.is_attention) return {"attention"};
  return {};
}

}  // namespace

struct Watch::State {
  State(Hook& watched, WatchOptions chosen) : hook(watched), options(chosen), saver(watched) {
    if (options.layers || options.activations || options.losses) {
      capture.emplace(
          OperatorCapture::Options{options.layers, options.activations, options.losses},
          [this](const CapturedValues& values) { saver.guard([&] { receive(values); }); });
    }
    // The outputs of the last operator wait for the next one, which may not come. Listening goes
    // on, as a step goes on where set_mode() changes nothing. Last, as nothing may throw behind it.
    hook.deliver_before_step_ends([this] { deliver(); });
  }
  ~State() {
    listen(false);
    hook.deliver_before_step_ends({});
  }

  struct Parameter {
    std::string name;
    at::Tensor tensor;
    TensorHandle value;
    std::unique_ptr<GradientHook> gradient;  // null: frozen so far, or not wanted
  };

  void add(NamedRoot root);
  Parameter watched(const NamedParameter& parameter, const NamedModule& module);
  void hook_gradient(Parameter& parameter);
  void look_at_new_parameters();
  void find_collections_without_operators();
  bool has_to_listen();
  void learn(const CapturedValues& values);
  void deliver();
  void pause();
  void listen(bool on);
  void save_parameters();
  void receive(const CapturedValues& values);
  CollectionNames collections_of_outputs_of(std::string_view module);
  // What a call of the user's does: it throws what a hook throws, and nothing else.
  template <class F>
  void call(F&& work) {
    saver.guard(work);
    saver.throw_kept();
  }

  Hook& hook;
  const WatchOptions options;
  ValueSaver saver;
  WatchedRoots roots;
  UnknownModules unknown;
  std::vector<Parameter> parameters;
  std::size_t looked_at = 0;               // of the parameters, those that a step has looked at
  bool has_warned = false;                 // about a name that is taken
  std::atomic<bool> wants_values = false;  // at this step; else it listens for unknown modules only
  bool is_listening = false;               // of the thread that uses the watch
  std::vector<std::string> without_operators;
  std::vector<std::string_view> without_operators_views;
  Mutex mutex;
  // Of modules whose outputs are in some collection.
  std::map<std::string, CollectionNames, std::less<>> output_collections CUPEL_GUARDED_BY(mutex);
  std::optional<OperatorCapture> capture;  // last: it calls what is above
};

Watch::State::Parameter Watch::State::watched(const NamedParameter& parameter,
                                              const NamedModule& module) {
  Parameter watched{parameter.name, parameter.tensor,
                    hook.handle(parameter.name, collections_of(parameter, module)), nullptr};
  hook_gradient(watched);
  return watched;
}

void Watch::State::hook_gradient(Parameter& parameter) {
  if (!options.gradients || parameter.gradient || !parameter.tensor.requires_grad()) return;
  parameter.gradient = std::make_unique<GradientHook>(
      parameter.tensor, hook.handle("gradient/" + parameter.name), saver);
}

void Watch::State::add(NamedRoot root) {
  if (root.name != root.wanted_name && !std::exchange(has_warned, true)) {
    log(LogLevel::Warning, "the name of a root is taken: \"" + printable(root.wanted_name) +
                               "\" is called \"" + printable(root.name) + "\" (logged once)");
  }
  if (root.parameters.empty())
    log(LogLevel::Info, "a root has no parameters of its own: " + printable(root.name));
  std::vector<Parameter> added;
  for (const NamedParameter& parameter : root.parameters)
    saver.guard([&] { added.push_back(watched(parameter, root.modules[parameter.module])); });
  parameters.insert(parameters.end(), std::make_move_iterator(added.begin()),
                    std::make_move_iterator(added.end()));
  if (capture)
    for (const NamedParameter& parameter : root.parameters)
      capture->add_parameter(parameter.tensor, root.modules[parameter.module].name,
                             parameter.own_name, root.name);
  if (options.layers) unknown.add(root);
  {
    const MutexLock lock(mutex);
    for (const NamedModule& module : root.modules)
      if (auto collections = collections_of_outputs(module); !collections.empty())
        output_collections.insert_or_assign(module.name, std::move(collections));
  }
  saver.throw_kept();
}

// A parameter may be given back its gradient later.
void Watch::State::look_at_new_parameters() {
  for (; looked_at < parameters.size(); ++looked_at)
    if (!parameters[looked_at].tensor.requires_grad())
      hook.handle(parameters[looked_at].name, {"frozen"});
  for (Parameter& parameter : parameters) hook_gradient(parameter);
}

// When the first step begins: later changes of collections have no effect.
void Watch::State::find_collections_without_operators() {
  if (!without_operators.empty()) return;
  const Collections collections = hook.collections_as_configured();
  for (const auto& [name, collection] : collections)
    if (without_operators.size() < kMostCollections &&
        has_no_operators(collection, hook.profile(), options))
      without_operators.push_back(name);
  for (const std::string_view name : kOfParameters)
    if (!collections.contains(name)) without_operators.emplace_back(name);
  without_operators_views.assign(without_operators.begin(), without_operators.end());
}

bool Watch::State::has_to_listen() {
  const bool has_unknown = unknown.begin_step();
  if (!capture) return false;
  wants_values = hook.due() && hook.due_beyond(without_operators_views);
  return wants_values || has_unknown;
}

// Saves the parameters, too: none has changed since the step began.
void Watch::State::learn(const CapturedValues& values) {
  const UnknownModules::Shown shown = unknown.show(values);
  for (const UnknownModules::Parameter& parameter : shown.parameters)
    saver.save_if_due(hook.handle(parameter.name, shown.collection), parameter.tensor);
}

void Watch::State::deliver() {
  if (capture) saver.guard([&] { capture->deliver(); });
}

void Watch::State::pause() {
  if (is_listening) saver.guard([&] { capture->pause(); });
}

void Watch::State::listen(bool on) {
  if (!on && !is_listening) return;
  saver.guard([&] { capture->listen(on); });
  is_listening = on;
}

void Watch::State::save_parameters() {
  if (!hook.due()) return;
  for (const Parameter& parameter : parameters)
    saver.guard([&] { saver.save_if_due(parameter.value, parameter.tensor); });
}

CollectionNames Watch::State::collections_of_outputs_of(std::string_view module) {
  const MutexLock lock(mutex);
  const auto found = output_collections.find(module);
  return found == output_collections.end() ? CollectionNames() : found->second;
}

void Watch::State::receive(const CapturedValues& values) {
  learn(values);
  if (!wants_values || !hook.due()) return;  // the mode has changed, or the step has ended
  static const CollectionNames kActivations = {"activations"};
  static const CollectionNames kAttention = {"attention"};
  static const CollectionNames kLosses = {"losses"};
  const bool is_output = values.side == CapturedValues::Side::Outputs;
  CollectionNames collections;
  if (is_output && values.kind == CapturedValues::Kind::Loss) {
    collections = kLosses;
  } else if (is_output && values.kind == CapturedValues::Kind::Activation) {
    collections = values.module == kAttentionOperator ? kAttention : kActivations;
  } else if (is_output) {
    collections = collections_of_outputs_of(values.owner);
  }
  for (const at::Tensor& tensor : values.tensors) {
    if (!tensor.defined()) continue;  // an argument that was not given
    saver.save_if_due(
        is_output ? hook.next_output(values.module, collections) : hook.next_input(values.module),
        tensor);
  }
}

Watch::Watch(Hook& hook, WatchOptions options) {
  if (hook.profile() != Profile::Generic && hook.profile() != Profile::PyTorch)
    throw UsageError("libtorch::Watch: the profile of the hook must be Generic or PyTorch");
  state_ = std::make_unique<State>(hook, options);
}

Watch::~Watch() = default;

void Watch::register_module(torch::nn::Module& root, std::string_view name) {
  state_->add(state_->roots.add(tree_of(root), name));
}

void Watch::register_module(torch::jit::Module& root, std::string_view name) {
  state_->add(state_->roots.add(tree_of(std::as_const(root)), name));
}

void Watch::next_step() {
  State& s = *state_;
  s.pause();
  s.saver.guard([&] { s.look_at_new_parameters(); });
  s.saver.guard([&] { s.find_collections_without_operators(); });
  std::exception_ptr error;
  try {
    s.hook.next_step();
  } catch (...) {  // of a hook that is to throw
    error = std::current_exception();
  }
  s.save_parameters();
  s.listen(s.has_to_listen());
  if (error) std::rethrow_exception(error);
  s.saver.throw_kept();
}

void Watch::record_tensor_value(std::string_view name, const at::Tensor& value) {
  State& s = *state_;
  const CollectionNames collections =
      ends_in_loss(name) ? CollectionNames("losses") : CollectionNames();
  s.call([&] { s.saver.save(s.hook.next_output(name, collections), value); });
}

void Watch::save_tensor(std::string_view name, const at::Tensor& value,
                        const CollectionNames& collections) {
  State& s = *state_;
  s.call([&] { s.saver.save(s.hook.handle(name, collections), value); });
}

void Watch::save_inputs(std::string_view module, const std::vector<at::Tensor>& values) {
  State& s = *state_;
  for (const at::Tensor& value : values)
    s.saver.guard([&] { s.saver.save(s.hook.next_input(module), value); });
  s.saver.throw_kept();
}

void Watch::save_outputs(std::string_view module, const std::vector<at::Tensor>& values) {
  State& s = *state_;
  const CollectionNames collections = s.collections_of_outputs_of(module);
  for (const at::Tensor& value : values)
    s.saver.guard([&] { s.saver.save(s.hook.next_output(module, collections), value); });
  s.saver.throw_kept();
}

}  // namespace cupel::libtorch
