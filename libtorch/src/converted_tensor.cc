// How each kind of tensor becomes a view. Kinds of elements are compared by number: torch 1.13 has
// no enumerators for those that came later, and the numbers of a kind never change. Copies are made
// by torch's operators, without gradients, on the thread that saves; an operator that fails makes
// the tensor one that cannot be saved.

#include "converted_tensor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>  // clang++ compiles lists of it at the end of the source
#include <ATen/ops/view_as_real.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>

#include "operator_capture.h"

namespace cupel::libtorch_detail {
namespace {

constexpr std::int64_t kMostDenseBytes = std::int64_t{64} << 20U;

std::optional<DType> dtype_of(at::ScalarType type) noexcept {
  switch (static_cast<int>(type)) {
    case 0:
      return DType::U8;
    case 1:
      return DType::I8;
    case 2:
      return DType::I16;
    case 3:
      return DType::I32;
    case 4:
      return DType::I64;
    case 5:
      return DType::F16;
    case 6:
      return DType::F32;
    case 7:
      return DType::F64;
    case 11:
      return DType::Bool;
    case 15:
      return DType::BF16;
    case 27:
      return DType::U16;
    case 28:
      return DType::U32;
    case 29:
      return DType::U64;
    default:
      return std::nullopt;
  }
}

// e5m2, e4m3fn, e5m2fnuz, e4m3fnuz; and e8m0fnu, which has the scales of blocks.
bool is_float8(at::ScalarType type) noexcept {
  const int number = static_cast<int>(type);
  return (number >= 23 && number <= 26) || number == 44;
}

bool needs_no_copy(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.device().is_cpu() && !tensor.is_nested() &&
         !tensor.is_conj() && !tensor.is_neg() && dtype_of(tensor.scalar_type());
}

bool is_small_when_dense(const at::Tensor& tensor) {
  auto bytes = static_cast<std::int64_t>(tensor.itemsize());
  bool is_small = true;
  for (const std::int64_t extent : tensor.sizes()) {
    if (extent == 0) return true;
    is_small = is_small && !__builtin_mul_overflow(bytes, extent, &bytes);
  }
  return is_small && bytes <= kMostDenseBytes;
}

// Whether all elements lie in the storage, which may have become smaller than the tensor. Nothing
// overflows where torch made the tensor, and else it does not lie in the storage.
bool is_in_storage(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  std::int64_t end = tensor.storage_offset();  // in elements, later in bytes
  bool fits = end >= 0;
  for (std::int64_t axis = 0; axis < tensor.dim(); ++axis) {
    std::int64_t reach = 0;
    fits = fits && tensor.stride(axis) >= 0 &&
           !__builtin_mul_overflow(tensor.size(axis) - 1, tensor.stride(axis), &reach) &&
           !__builtin_add_overflow(end, reach, &end);
  }
  return fits && !__builtin_add_overflow(end, std::int64_t{1}, &end) &&
         !__builtin_mul_overflow(end, static_cast<std::int64_t>(tensor.itemsize()), &end) &&
         static_cast<std::uint64_t>(end) <= tensor.storage().nbytes();
}

// Torch's messages may be followed by pages about where it was called from.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string name_of(at::Layout layout) {
  std::ostringstream name;
  name << layout;
  return name.str();
}

}  // namespace

ConvertedTensor::ConvertedTensor(const at::Tensor& tensor)
    : view_(static_cast<const float*>(nullptr), {0}) {
  try {
    take(tensor);
  } catch (const c10::Error& error) {
    defect_ = "torch cannot convert it: " + first_line(error.what_without_backtrace());
  }
}

void ConvertedTensor::take(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    defect_ = "the tensor is undefined";
  } else if (tensor.is_meta()) {
    defect_ = "the tensor is on the device meta and has no values";
  } else if (tensor.is_nested()) {
    defect_ = "the tensor is a nested one";
  } else if (needs_no_copy(tensor)) {
    set_view(tensor);
  } else {
    const at::NoGradGuard no_gradients;
    const IgnoredOperators ignore;
    convert(tensor);
  }
}

void ConvertedTensor::convert(at::Tensor tensor) {
  if (tensor.is_quantized()) tensor = tensor.dequantize();
  if (tensor.layout() != at::kStrided) {
    if (!is_small_when_dense(tensor)) {
      defect_ = "the tensor is of the layout " + name_of(tensor.layout()) +
                " and would be larger than 64 MiB as a dense one";
      return;
    }
    tensor = tensor.to_dense();
  }
  if (!tensor.device().is_cpu()) tensor = tensor.cpu();
  tensor = tensor.resolve_conj().resolve_neg();
  if (tensor.is_complex()) tensor = at::view_as_real(tensor);
  if (is_float8(tensor.scalar_type())) tensor = tensor.to(at::kFloat);
  if (!dtype_of(tensor.scalar_type())) {
    defect_ =
        std::string("no dtype holds the values of torch's ") + c10::toString(tensor.scalar_type());
    return;
  }
  held_ = std::move(tensor);
  set_view(held_);
}

void ConvertedTensor::set_view(const at::Tensor& tensor) {
  if (!tensor.has_storage()) {
    defect_ = "the tensor has no storage";
    return;
  }
  if (!is_in_storage(tensor)) {
    defect_ = "the tensor reaches beyond its storage";
    return;
  }
  const Shape strides = tensor.is_contiguous() ? Shape() : Shape(tensor.strides());
  view_ = TensorView(tensor.data_ptr(), *dtype_of(tensor.scalar_type()), Shape(tensor.sizes()),
                     strides);
}

}  // namespace cupel::libtorch_detail
