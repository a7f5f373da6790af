// How values come in from Python. A torch tensor gives its address, shape and strides as
// attributes; everything else gives a buffer, by itself or through numpy. No path copies the
// elements of a tensor on the CPU.

#include "incoming_value.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "cupel/core/error.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

std::optional<DType> integer(bool is_signed, Py_ssize_t size) {
  switch (size) {
    case 1:
      return is_signed ? DType::I8 : DType::U8;
    case 2:
      return is_signed ? DType::I16 : DType::U16;
    case 4:
      return is_signed ? DType::I32 : DType::U32;
    case 8:
      return is_signed ? DType::I64 : DType::U64;
    default:
      return std::nullopt;
  }
}

// The dtype of a format of the module `struct`, in native byte order.
std::optional<DType> dtype_of_format(std::string_view format, Py_ssize_t size) {
  if (!format.empty() && (format.front() == '@' || format.front() == '=' || format.front() == '<'))
    format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  switch (format.front()) {
    case '?':
      return DType::Bool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return integer(true, size);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return integer(false, size);
    case 'e':
      return DType::F16;
    case 'f':
      return DType::F32;
    case 'd':
      return DType::F64;
    default:
      return std::nullopt;
  }
}

std::optional<DType> dtype_of_torch(std::string_view name) {
  if (name == "torch.float32") return DType::F32;
  if (name == "torch.float64") return DType::F64;
  if (name == "torch.float16") return DType::F16;
  if (name == "torch.bfloat16") return DType::BF16;
  if (name == "torch.int64") return DType::I64;
  if (name == "torch.int32") return DType::I32;
  if (name == "torch.int16") return DType::I16;
  if (name == "torch.int8") return DType::I8;
  if (name == "torch.uint8") return DType::U8;
  if (name == "torch.bool") return DType::Bool;
  return std::nullopt;
}

}  // namespace

IncomingValue::IncomingValue(nb::handle object) {
  if (take_torch_tensor(object) || take_buffer(object)) return;
  kept_ = nb::module_::import_("numpy").attr("atleast_1d")(object);
  if (!take_buffer(kept_)) throw UsageError("the value has no elements that can be saved");
}

IncomingValue::~IncomingValue() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

bool IncomingValue::take_torch_tensor(nb::handle object) {
  if (!nb::hasattr(object, "data_ptr") || !nb::hasattr(object, "stride")) return false;
  const auto dtype = dtype_of_torch(nb::cast<std::string>(nb::str(object.attr("dtype"))));
  if (!dtype) throw UsageError("the tensor has elements of a type that cannot be saved");
  const auto shape = nb::cast<std::vector<std::int64_t>>(object.attr("shape"));
  const auto strides = nb::cast<std::vector<std::int64_t>>(object.attr("stride")());
  const auto address = nb::cast<std::uintptr_t>(object.attr("data_ptr")());
  view_ = TensorView(reinterpret_cast<const void*>(address), *dtype, shape, strides);  // NOLINT
  return true;
}

bool IncomingValue::take_buffer(nb::handle object) {
  if (!PyObject_CheckBuffer(object.ptr())) return false;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) throw nb::python_error();
  has_buffer_ = true;
  const auto dtype = dtype_of_format(buffer_.format ? buffer_.format : "B", buffer_.itemsize);
  if (!dtype) throw UsageError("the array has elements of a type that cannot be saved");
  const std::vector<std::int64_t> shape(buffer_.shape, buffer_.shape + buffer_.ndim);
  std::vector<std::int64_t> strides;
  for (int axis = 0; axis < buffer_.ndim; ++axis)
    strides.push_back(buffer_.strides[axis] / buffer_.itemsize);
  view_ = TensorView(buffer_.buf, *dtype, shape, strides);
  return true;
}

}  // namespace cupel::python
