#include "value_saver.h"

#include <string>

#include "converted_tensor.h"
#include "cupel/core/log.h"

namespace cupel::libtorch_detail {

void ValueSaver::save_if_due(TensorHandle handle, const at::Tensor& tensor) {
  if (!hook_.wants(handle)) return;
  const ConvertedTensor converted(tensor);
  if (converted.defect().empty()) {
    hook_.save_tensor(handle, converted.view());
  } else {
    hook_.leave_out(handle, converted.defect());
  }
}

void ValueSaver::save(TensorHandle handle, const at::Tensor& tensor) {
  if (hook_.wants(handle)) return save_if_due(handle, tensor);
  hook_.report_outside_step(handle);
}

void ValueSaver::throw_kept() {
  std::exception_ptr error;
  {
    const MutexLock lock(mutex_);
    error = std::exchange(kept_, nullptr);
  }
  if (error) std::rethrow_exception(error);
}

void ValueSaver::keep(std::exception_ptr error) noexcept {
  bool is_first = false;
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    const MutexLock lock(mutex_);
    if (!kept_) kept_ = std::move(error);
  } catch (const std::exception& other) {
    {
      const MutexLock lock(mutex_);
      is_first = !std::exchange(has_logged_, true);
    }
    if (is_first) log(LogLevel::Error, other.what());
  } catch (...) {
    {
      const MutexLock lock(mutex_);
      is_first = !std::exchange(has_logged_, true);
    }
    if (is_first) log(LogLevel::Error, "something was thrown that is no std::exception");
  }
}

}  // namespace cupel::libtorch_detail
