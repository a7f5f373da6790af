#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <memory>

#include "value_saver.h"

namespace cupel::libtorch_detail {

// Saves what each backward pass contributes to the gradient of one parameter, by a hook of the
// parameter that is taken back by the destructor. Autograd calls the hook on its threads.
class GradientHook {
 public:
  // The parameter requires a gradient. Borrows the saver.
  GradientHook(const at::Tensor& parameter, TensorHandle gradient, ValueSaver& saver);
  ~GradientHook();
  GradientHook(const GradientHook&) = delete;
  GradientHook& operator=(const GradientHook&) = delete;

 private:
  struct Target {
    TensorHandle gradient;
    std::atomic<ValueSaver*> saver;  // null: taken back
  };
  at::Tensor parameter_;
  std::shared_ptr<Target> target_;
  unsigned position_;
};

}  // namespace cupel::libtorch_detail
