// How values come in from Python. A tensor of torch on the CPU gives its address, shape and strides
// by the DLPack functions of its type, or as attributes where torch has none; arrays give a buffer.
// None of these copies elements. Whatever is no plain array of numbers (sparse or quantized
// tensors, other devices, texts, lists, types of other libraries) is converted in Python first, and
// the result comes back to the same paths. The types of torch are looked up once, when torch has
// been imported by somebody else. Everything here runs with the GIL held.

#include "incoming_value.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "dlpack.h"
#include "object_text.h"
#include "type_error.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

std::optional<DType> integer(bool is_signed, std::int64_t bytes) {
  switch (bytes) {
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

std::optional<DType> floating(std::int64_t bytes) {
  switch (bytes) {
    case 2:
      return DType::F16;
    case 4:
      return DType::F32;
    case 8:
      return DType::F64;
    default:
      return std::nullopt;
  }
}

// The type of an element, which may be a pair of numbers.
struct Element {
  DType dtype;
  bool is_complex = false;
};

std::optional<Element> element(std::optional<DType> dtype, bool is_complex = false) {
  if (!dtype) return std::nullopt;
  return Element{*dtype, is_complex};
}

// The element of a format of the module `struct`, in native byte order.
std::optional<Element> element_of_format(std::string_view format, Py_ssize_t size) {
  if (!format.empty() && (format.front() == '@' || format.front() == '=' || format.front() == '<'))
    format.remove_prefix(1);
  const bool is_complex = format.size() == 2 && format.front() == 'Z';
  if (is_complex) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  if (is_complex)
    return format == "f" || format == "d" ? element(floating(size / 2), true) : std::nullopt;
  constexpr std::string_view kSigned = "bhilqn";
  constexpr std::string_view kUnsigned = "BHILQN";
  if (format == "?") return element(DType::Bool);
  if (kSigned.find(format) != std::string_view::npos) return element(integer(true, size));
  if (kUnsigned.find(format) != std::string_view::npos) return element(integer(false, size));
  if (format == "e" || format == "f" || format == "d") return element(floating(size));
  return std::nullopt;
}

std::optional<Element> element_of_dlpack(dlpack::DataType type) {
  if (type.lanes != 1 || type.bits % 8 != 0) return std::nullopt;
  const std::int64_t bytes = type.bits / 8;
  switch (type.code) {
    case dlpack::kInt:
      return element(integer(true, bytes));
    case dlpack::kUInt:
      return element(integer(false, bytes));
    case dlpack::kFloat:
      return element(floating(bytes));
    case dlpack::kBFloat:
      return bytes == 2 ? element(DType::BF16) : std::nullopt;
    case dlpack::kComplex:
      return bytes == 8 || bytes == 16 ? element(floating(bytes / 2), true) : std::nullopt;
    case dlpack::kBool:
      return bytes == 1 ? element(DType::Bool) : std::nullopt;
    default:
      return std::nullopt;
  }
}

using Extents = std::vector<std::int64_t>;

// A complex number is a last axis of two.
TensorView view_of(const void* data, Element element, Extents shape, Extents strides) {
  if (element.is_complex) {
    for (std::int64_t& stride : strides) stride *= 2;
    if (!strides.empty() || shape.empty()) strides.push_back(1);
    shape.push_back(2);
  }
  return {data, element.dtype, shape, strides};
}

std::optional<TensorView> view_of(const dlpack::Tensor& tensor) {
  if (tensor.device.type != dlpack::kCpu && tensor.device.type != dlpack::kPinned)
    return std::nullopt;
  const auto element = element_of_dlpack(tensor.dtype);
  if (!element || tensor.ndim < 0) return std::nullopt;
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  const std::span shape(tensor.shape, rank);
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  const void* const first = data == nullptr ? nullptr : data + tensor.byte_offset;
  const std::span strides(tensor.strides, tensor.strides == nullptr ? 0 : rank);
  if (!element->is_complex) return TensorView(first, element->dtype, shape, strides);
  return view_of(first, *element, {shape.begin(), shape.end()}, {strides.begin(), strides.end()});
}

// Whether the view has what it needs; the memory of some tensors is hidden.
bool has_memory(const TensorView& view) { return view.data() != nullptr || view.elements() == 0; }

// The classes, the dtypes and the functions of torch. They live as long as the interpreter.
struct Torch {
  nb::handle tensor;
  nb::handle parameter;
  const dlpack::ExchangeApi* api = nullptr;  // null where torch has none
  std::vector<std::pair<nb::handle, Element>> dtypes;
};

const dlpack::ExchangeApi* exchange_api(nb::handle tensor) {
  const nb::object capsule = nb::getattr(tensor, "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kExchangeApi) == 0) return nullptr;
  const auto* api = static_cast<const dlpack::ExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), dlpack::kExchangeApi));
  while (api != nullptr && api->version.major != dlpack::kMajorVersion) api = api->previous;
  return api != nullptr && api->tensor_from_object != nullptr ? api : nullptr;
}

// Null where nobody has imported torch.
const Torch* torch() {
  static const Torch* known = nullptr;
  if (known != nullptr) return known;
  static const nb::handle name = nb::str("torch").release();
  const nb::object module = nb::steal(PyImport_GetModule(name.ptr()));
  if (!module.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  // While torch is being imported, it has not everything yet.
  if (!nb::hasattr(module, "Tensor") || !nb::hasattr(module, "nn")) return nullptr;
  if (!nb::hasattr(module.attr("nn"), "Parameter")) return nullptr;
  auto* const made = new Torch;
  made->tensor = nb::object(module.attr("Tensor")).release();
  made->parameter = nb::object(module.attr("nn").attr("Parameter")).release();
  made->api = exchange_api(made->tensor);
  constexpr auto kNames = std::to_array<std::pair<const char*, Element>>({
      {"float32", {DType::F32}},
      {"float64", {DType::F64}},
      {"float16", {DType::F16}},
      {"bfloat16", {DType::BF16}},
      {"int64", {DType::I64}},
      {"int32", {DType::I32}},
      {"int16", {DType::I16}},
      {"int8", {DType::I8}},
      {"uint8", {DType::U8}},
      {"uint16", {DType::U16}},
      {"uint32", {DType::U32}},
      {"uint64", {DType::U64}},
      {"bool", {DType::Bool}},
      {"complex64", {DType::F32, true}},
      {"complex128", {DType::F64, true}},
  });
  for (const auto& [dtype, element] : kNames)
    if (nb::hasattr(module, dtype))  // old versions have no uint16
      made->dtypes.emplace_back(nb::object(module.attr(dtype)).release(), element);
  known = made;
  return known;
}

struct Attributes {
  nb::handle is_neg = nb::str("is_neg").release();
  nb::handle is_conj = nb::str("is_conj").release();
  nb::handle is_cpu = nb::str("is_cpu").release();
  nb::handle data_ptr = nb::str("data_ptr").release();
  nb::handle dtype = nb::str("dtype").release();
  nb::handle shape = nb::str("shape").release();
  nb::handle stride = nb::str("stride").release();
};
const Attributes& attributes() {
  static const Attributes& names = *new Attributes;
  return names;
}

Extents extents_of(nb::handle numbers) {
  Extents extents;
  for (const nb::handle number : numbers) extents.push_back(nb::cast<std::int64_t>(number));
  return extents;
}

std::optional<TensorView> view_by_attributes(const Torch& torch, nb::handle tensor) {
  const Attributes& names = attributes();
  if (!nb::object(tensor.attr(names.is_cpu)).is(Py_True)) return std::nullopt;
  const nb::object dtype = tensor.attr(names.dtype);
  for (const auto& [known, element] : torch.dtypes) {
    if (!dtype.is(known)) continue;
    const auto address = nb::cast<std::uintptr_t>(tensor.attr(names.data_ptr)());
    return view_of(reinterpret_cast<const void*>(address), element,  // NOLINT
                   extents_of(tensor.attr(names.shape)), extents_of(tensor.attr(names.stride)()));
  }
  return std::nullopt;
}

std::optional<TensorView> view_of_tensor(const Torch& torch, nb::handle tensor) {
  const Attributes& names = attributes();
  // The memory of a negative or conjugated view does not have its values.
  if (nb::object(tensor.attr(names.is_neg)()).is(Py_True)) return std::nullopt;
  std::optional<TensorView> view;
  if (torch.api != nullptr) {
    dlpack::Tensor borrowed{};
    if (torch.api->tensor_from_object(tensor.ptr(), &borrowed) != 0) {
      if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw nb::python_error();
      PyErr_Clear();
      return std::nullopt;
    }
    if (borrowed.dtype.code == dlpack::kComplex &&
        nb::object(tensor.attr(names.is_conj)()).is(Py_True))
      return std::nullopt;
    view = view_of(borrowed);
  } else {
    if (nb::object(tensor.attr(names.is_conj)()).is(Py_True)) return std::nullopt;
    view = view_by_attributes(torch, tensor);
  }
  return view && has_memory(*view) ? view : std::nullopt;
}

}  // namespace

IncomingValue::IncomingValue(nb::handle object) {
  if (take_tensor(object) || take_number(object) || take_text(object) || take_buffer(object) ||
      take_dlpack(object))
    return;
  take_converted(object);
}

IncomingValue::~IncomingValue() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

// Only the very classes of torch have memory that these ways show; a subclass may hold other
// tensors, and gives the address 0 without an error.
bool IncomingValue::take_tensor(nb::handle object) {
  const Torch* const known = torch();
  if (known == nullptr) return false;
  const nb::handle type = object.type();
  if (!type.is(known->tensor) && !type.is(known->parameter)) return false;
  try {
    const auto view = view_of_tensor(*known, object);
    if (view) view_ = *view;
    return view.has_value();
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return false;  // sparse, quantized: torch refuses an attribute
  } catch (const nb::cast_error&) {
    return false;  // an extent beyond 64 bits
  }
}

// A number of Python has the shape (1).
bool IncomingValue::take_number(nb::handle object) {
  const nb::handle type = object.type();
  DType dtype = DType::F64;
  if (type.is(&PyFloat_Type)) {
    const double value = PyFloat_AsDouble(object.ptr());
    std::memcpy(number_.data(), &value, sizeof value);
  } else if (type.is(&PyBool_Type)) {
    dtype = DType::Bool;
    number_.front() = std::byte{object.is(Py_True)};
  } else if (type.is(&PyLong_Type)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    if (overflow != 0) return false;
    dtype = DType::I64;
    std::memcpy(number_.data(), &value, sizeof value);
  } else {
    return false;
  }
  view_ = TensorView(number_.data(), dtype, {1});
  return true;
}

bool IncomingValue::take_text(nb::handle object) {
  if (!object.type().is(&PyUnicode_Type)) return false;
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(object.ptr(), "utf-8", "replace"));
  if (!bytes.is_valid()) throw nb::python_error();
  const nb::bytes text(nb::borrow<nb::bytes>(bytes));
  texts_.emplace_back(text.c_str(), text.size());
  view_ = TensorView(texts_.data(), DType::Utf8, {1});
  return true;
}

bool IncomingValue::take_buffer(nb::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0 || nb::isinstance<nb::bytes>(object)) return false;
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw nb::python_error();
    PyErr_Clear();
    return false;
  }
  has_buffer_ = true;
  if (take_view_of_buffer()) return true;
  PyBuffer_Release(&buffer_);
  has_buffer_ = false;
  return false;
}

bool IncomingValue::take_view_of_buffer() {
  const Py_ssize_t size = buffer_.itemsize;
  const auto element = element_of_format(buffer_.format ? buffer_.format : "B", size);
  if (!element || buffer_.ndim < 0 || (buffer_.shape == nullptr && buffer_.ndim > 0)) return false;
  // Elements within structs may lie anywhere.
  const auto number_size = element_size(element->dtype);
  if (reinterpret_cast<std::uintptr_t>(buffer_.buf) % number_size != 0) return false;  // NOLINT
  const auto rank = static_cast<std::size_t>(buffer_.ndim);
  const std::span shape(buffer_.shape, rank);
  // Some exporters, such as ctypes, give a row-major array without strides.
  Extents strides;
  strides.reserve(rank + 1);
  for (std::size_t axis = 0; axis < rank && buffer_.strides != nullptr; ++axis) {
    if (buffer_.strides[axis] % size != 0) return false;
    strides.push_back(buffer_.strides[axis] / size);
  }
  if (element->is_complex) {
    view_ = view_of(buffer_.buf, *element, {shape.begin(), shape.end()}, std::move(strides));
  } else {
    view_ = TensorView(buffer_.buf, element->dtype, shape, strides);
  }
  return true;
}

bool IncomingValue::take_dlpack(nb::handle object) {
  const Torch* const known = torch();
  if (known != nullptr && PyObject_IsInstance(object.ptr(), known->tensor.ptr()) == 1) return false;
  PyErr_Clear();
  if (PyType_Check(object.ptr()) != 0 || !nb::hasattr(object, "__dlpack__") ||
      !nb::hasattr(object, "__dlpack_device__"))
    return false;
  nb::object capsule;
  try {
    const nb::object device = object.attr("__dlpack_device__")();
    std::int32_t type = 0;
    if (!nb::try_cast(nb::int_(nb::object(device[0])), type)) return false;
    if (type != dlpack::kCpu && type != dlpack::kPinned)
      raise_type_error("a value on another device than the CPU is brought there by .cpu() first");
    capsule = object.attr("__dlpack__")();
  } catch (const nb::python_error& error) {
    const nb::object own = nb::module_::import_("cupel.exceptions").attr("SMDebugTypeError");
    if (!error.matches(PyExc_Exception) || error.matches(own)) throw;
    return false;  // arrays of numpy with types that DLPack does not have
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0) return false;
  const auto* const managed =
      static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const auto view = view_of(managed->tensor);
  if (!view || !has_memory(*view)) return false;
  view_ = *view;
  kept_ = capsule;  // its destructor gives the memory back
  return true;
}

void IncomingValue::take_converted(nb::handle object) {
  nb::object made;
  try {
    made = nb::module_::import_("cupel.core.incoming").attr("converted")(object);
  } catch (const nb::python_error& error) {
    const nb::object own = nb::module_::import_("cupel.exceptions").attr("SMDebugError");
    if (!error.matches(PyExc_Exception) || error.matches(own)) throw;
    throw UnsavableValue(message_of(error));
  }
  const nb::tuple parts = nb::borrow<nb::tuple>(made);
  kept_ = parts[0];
  const auto kind = nb::cast<std::string>(parts[1]);
  if (kind == "text") return take_texts(kept_);
  if (!take_tensor(kept_) && !take_buffer(kept_))
    throw UnsavableValue("the value has no elements that can be saved");
  if (kind == "bf16") view_ = TensorView(view_.data(), DType::BF16, view_.shape(), view_.strides());
}

// An array of texts, whose elements are bytes in UTF-8.
void IncomingValue::take_texts(nb::handle array) {
  for (const nb::handle each : nb::object(array[nb::int_(0)])) {
    const nb::bytes text(nb::borrow<nb::bytes>(each));
    texts_.emplace_back(text.c_str(), text.size());
  }
  view_ = TensorView(texts_.data(), DType::Utf8, extents_of(array[nb::int_(1)]));
}

}  // namespace cupel::python
