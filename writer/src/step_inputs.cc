#include "step_inputs.h"

#include <utility>

#include "value_bytes.h"

namespace cupel::writer_detail {

KeptValue::KeptValue(NamedTensor& tensor, const TensorView& view)
    : tensor_(&tensor), dtype_(view.dtype()), shape_(view.shape()) {
  if (dtype_ == DType::Utf8) {
    const auto* const first = static_cast<const std::string*>(view.data());
    strings_.assign(first, first + view.elements());
  } else {
    bytes_.resize(static_cast<std::size_t>(value_length(view)));
    write_value(view, bytes_.data());
  }
}

TensorView KeptValue::view() const noexcept {
  if (dtype_ == DType::Utf8) return {strings_.data(), shape_};
  return {bytes_.data(), dtype_, shape_};
}

bool StepInputs::keep(NamedTensor& tensor, const TensorView& view) {
  const std::uint64_t bytes = sizeof(KeptValue) + value_length(view);
  const MutexLock lock(mutex_);
  if (bytes > most_bytes_ - kept_bytes_) return false;
  kept_.emplace_back(tensor, view);
  kept_bytes_ += bytes;
  return true;
}

bool StepInputs::has_kept() const {
  const MutexLock lock(mutex_);
  return !kept_.empty();
}

std::vector<KeptValue> StepInputs::begin_step() {
  const MutexLock lock(mutex_);
  numbers_.clear();
  kept_bytes_ = 0;
  return std::exchange(kept_, {});
}

std::string StepInputs::next_name(std::string_view module, const char* side) {
  std::string name = std::string(module) + side;
  const MutexLock lock(mutex_);
  return name + std::to_string(numbers_[name]++);
}

}  // namespace cupel::writer_detail
