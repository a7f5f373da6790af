#include "cupel/trial/tensor_value.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "cupel/core/error.h"
#include "value_defect.h"

namespace cupel {

namespace {

template <class T>
T load(const std::byte* bytes, std::int64_t index) noexcept {
  T value;
  std::memcpy(&value, bytes + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

TensorValue::TensorValue(DType dtype, const Shape& shape,
                         std::shared_ptr<const AlignedBuffer> bytes, std::string_view file,
                         std::uint64_t offset)
    : dtype_(dtype), elements_(shape.elements()), bytes_(std::move(bytes)) {
  if (const char* wrong = trial_detail::value_defect(dtype, shape, bytes_->span()))
    throw DamagedValue(std::string(file), offset, wrong);
  shape_.assign(shape);
}

AlignedBuffer TensorValue::release() && {
  const std::shared_ptr<const AlignedBuffer> bytes = std::move(bytes_);
  if (bytes.use_count() == 1) {
    // The last other owner has read the bytes before it let go of them.
    std::atomic_thread_fence(std::memory_order_acquire);
    // No buffer is made const: only values share it as such.
    return std::move(const_cast<AlignedBuffer&>(*bytes));
  }
  AlignedBuffer copy(bytes->size());
  if (bytes->size() > 0) std::memcpy(copy.data(), bytes->data(), bytes->size());
  return copy;
}

void TensorValue::require_dtype(DType wanted) const {
  if (wanted != dtype_)
    throw UsageError("A tensor value is not of the type asked for: it is " +
                     std::string(to_string(dtype_)) + ", not " + std::string(to_string(wanted)));
}

std::vector<std::string> TensorValue::strings() const {
  require_dtype(DType::Utf8);
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(elements_));
  const auto* text = reinterpret_cast<const char*>(bytes_->data()) +
                     (static_cast<std::size_t>(elements_) + 1) * sizeof(std::int64_t);
  for (std::int64_t i = 0; i < elements_; ++i) {
    const auto begin = load<std::int64_t>(bytes_->data(), i);
    const auto end = load<std::int64_t>(bytes_->data(), i + 1);
    strings.emplace_back(text + begin, static_cast<std::size_t>(end - begin));
  }
  return strings;
}

double TensorValue::at(std::int64_t index) const noexcept {
  const std::byte* bytes = bytes_->data();
  switch (dtype_) {
    case DType::Bool:
      return bytes[index] == std::byte{1} ? 1.0 : 0.0;
    case DType::I8:
      return load<std::int8_t>(bytes, index);
    case DType::I16:
      return load<std::int16_t>(bytes, index);
    case DType::I32:
      return load<std::int32_t>(bytes, index);
    case DType::I64:
      return static_cast<double>(load<std::int64_t>(bytes, index));
    case DType::U8:
      return load<std::uint8_t>(bytes, index);
    case DType::U16:
      return load<std::uint16_t>(bytes, index);
    case DType::U32:
      return load<std::uint32_t>(bytes, index);
    case DType::U64:
      return static_cast<double>(load<std::uint64_t>(bytes, index));
    case DType::F16:
      return static_cast<double>(static_cast<float>(load<Float16>(bytes, index)));
    case DType::BF16:
      return static_cast<double>(static_cast<float>(load<BFloat16>(bytes, index)));
    case DType::F32:
      return static_cast<double>(load<float>(bytes, index));
    case DType::F64:
      return load<double>(bytes, index);
    case DType::Utf8:
      break;
  }
  return 0;
}

}  // namespace cupel
