#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <cstring>
#include <initializer_list>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../../libtorch/src/operator_capture.h"

namespace cupel::libtorch_test {

using libtorch_detail::CapturedValues;
using libtorch_detail::OperatorCapture;
using Names = std::vector<std::string>;

inline bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const at::Tensor x = a.detach().resolve_conj().resolve_neg().contiguous();
  const at::Tensor y = b.detach().resolve_conj().resolve_neg().contiguous();
  return std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

/// A receiver that copies what it gets, and numbers it as a step does.
class OperatorRecorder {
 public:
  struct Value {
    std::string name;  // "body.2_input_0"
    at::Tensor tensor;
    CapturedValues::Kind kind;
    std::thread::id thread;
  };

  explicit OperatorRecorder(OperatorCapture::Options options = {})
      : capture_(options, [this](const CapturedValues& values) { receive(values); }) {}

  OperatorCapture& capture() { return capture_; }

  at::Tensor parameter(at::Tensor tensor, std::string_view module = "m",
                       std::string_view own_name = "weight") {
    capture_.add_parameter(tensor, module, own_name, "Net");
    return tensor;
  }

  void watch(torch::nn::Module& root) {
    for (const auto& parameter : root.named_parameters()) {
      const std::string& path = parameter.key();  // "body.1.weight"
      const std::size_t dot = path.rfind('.');
      const bool is_of_root = dot == std::string::npos;
      capture_.add_parameter(parameter.value(), is_of_root ? "Net" : path.substr(0, dot),
                             is_of_root ? path : path.substr(dot + 1), "Net");
    }
  }
  void watch(torch::jit::Module& root) {
    for (const auto& module : root.named_modules())
      for (const auto& parameter : module.value.named_parameters(false))
        capture_.add_parameter(parameter.value, module.name.empty() ? "Net" : module.name,
                               parameter.name, "Net");
  }

  /// The names of what `work` lets the capture see, in order; values() has the rest.
  template <typename Work>
  Names during(const Work& work) {
    values_.clear();
    counters_.clear();
    capture_.listen(true);
    work();
    capture_.listen(false);
    return names();
  }

  Names names() const {
    Names names;
    for (const Value& value : values_) names.push_back(value.name);
    return names;
  }
  const std::vector<Value>& values() const { return values_; }
  const at::Tensor& value(std::string_view name) const {
    for (const Value& value : values_)
      if (value.name == name) return value.tensor;
    throw std::out_of_range("nothing was delivered as " + std::string(name));
  }

 private:
  void receive(const CapturedValues& values) {
    const bool is_input = values.side == CapturedValues::Side::Inputs;
    for (const at::Tensor& tensor : values.tensors) {
      const std::string name = std::string(values.module) + (is_input ? "_input_" : "_output_");
      values_.push_back({name + std::to_string(counters_[name]++), tensor.detach().clone(),
                         values.kind, std::this_thread::get_id()});
    }
  }

  std::vector<Value> values_;
  std::map<std::string, int> counters_;
  OperatorCapture capture_;  // goes first
};

/// Whether this torch has the operator.
inline bool has_operator(const std::string& name, const std::string& overload = "") {
  return c10::Dispatcher::singleton().findSchema({"aten::" + name, overload}).has_value();
}

/// Calls an operator as the executor of jit does. Missing arguments have their defaults.
inline std::vector<c10::IValue> call_operator(const std::string& name, const std::string& overload,
                                              std::vector<c10::IValue> arguments) {
  const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow(("aten::" + name).c_str(), overload.c_str());
  const auto& schema = handle.schema().arguments();
  for (std::size_t k = arguments.size(); k < schema.size(); ++k)
    arguments.push_back(schema[k].default_value().value());
  handle.callBoxed(&arguments);
  return arguments;
}

/// The tensors among results, as they are now.
inline std::vector<at::Tensor> copies(const std::vector<c10::IValue>& results) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& result : results)
    if (result.isTensor()) tensors.push_back(result.toTensor().detach().clone());
  return tensors;
}

}  // namespace cupel::libtorch_test
