#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/writer/hook.h"

namespace cupel::libtorch_detail {

// Saves torch's tensors by a hook, from any thread, and keeps errors away from torch.
//
// A hook throws only if its user wants that. The first error that cannot be thrown where it is met
// is kept for the next step.
class ValueSaver {
 public:
  // Borrows the hook.
  explicit ValueSaver(Hook& hook) noexcept : hook_(hook) {}

  Hook& hook() const noexcept { return hook_; }

  // Saves the tensor, or reports why it cannot be saved; does nothing if it is not due.
  void save_if_due(TensorHandle handle, const at::Tensor& tensor);
  // The same for a call of the user's, which is reported when it comes too late for its step.
  void save(TensorHandle handle, const at::Tensor& tensor);

  // Runs what torch calls, or what must not end a loop. Errors of the hook are kept, others are
  // logged once.
  template <class F>
  void guard(F&& call) noexcept {
    try {
      call();
    } catch (...) {
      keep(std::current_exception());
    }
  }
  // Throws what was kept, once.
  void throw_kept();

 private:
  void keep(std::exception_ptr error) noexcept;

  Hook& hook_;
  Mutex mutex_;
  std::exception_ptr kept_ CUPEL_GUARDED_BY(mutex_);
  bool has_logged_ CUPEL_GUARDED_BY(mutex_) = false;
};

}  // namespace cupel::libtorch_detail
