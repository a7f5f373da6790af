#include "gradient_hook.h"

#include "cupel/core/log.h"

namespace cupel::libtorch_detail {

GradientHook::GradientHook(const at::Tensor& parameter, TensorHandle gradient, ValueSaver& saver)
    : parameter_(parameter), target_(new Target{gradient, &saver}) {
  position_ = parameter_.register_hook([target = target_](const at::Tensor& value) {
    ValueSaver* const to = target->saver.load(std::memory_order_acquire);
    // A pass that does not reach the parameter has no tensor.
    if (to == nullptr || !value.defined()) return;
    to->guard([&] { to->save_if_due(target->gradient, value); });
  });
}

GradientHook::~GradientHook() {
  target_->saver.store(nullptr, std::memory_order_release);
  try {
    parameter_.remove_hook(position_);
  } catch (const std::exception& error) {  // the hook stays, and does nothing
    log(LogLevel::Warning, error.what());
  }
}

}  // namespace cupel::libtorch_detail
