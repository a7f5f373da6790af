#pragma once

#include <utility>

#include "cupel/trial/tensor.h"
#include "trial_object.h"

namespace cupel::python {

/// A tensor for Python, which keeps its trial: the class `_native.Tensor`.
class TensorObject {
 public:
  TensorObject(TrialObject trial, Tensor tensor)
      : trial_(std::move(trial)), tensor_(std::move(tensor)) {}

  const Tensor& tensor() const noexcept { return tensor_; }
  /// As TrialObject::read().
  template <class Query>
  auto read(Query&& query) const {
    return trial_.read([&](const Trial&) { return query(tensor_); });
  }

 private:
  TrialObject trial_;  // destroyed behind the tensor
  Tensor tensor_;
};

}  // namespace cupel::python
