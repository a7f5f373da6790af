// Values of a trial as numpy arrays. nanobind makes the array over memory that a capsule owns; the
// C API of numpy is not used, so that one extension serves every version of numpy.

#include "outgoing_value.h"

#include <nanobind/ndarray.h>

#include <array>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace nb = nanobind;

namespace cupel::python {
namespace {

nb::dlpack::dtype numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return nb::dtype<bool>();
    case DType::I8:
      return nb::dtype<std::int8_t>();
    case DType::I16:
      return nb::dtype<std::int16_t>();
    case DType::I32:
      return nb::dtype<std::int32_t>();
    case DType::I64:
      return nb::dtype<std::int64_t>();
    case DType::U8:
      return nb::dtype<std::uint8_t>();
    case DType::U16:
      return nb::dtype<std::uint16_t>();
    case DType::U32:
      return nb::dtype<std::uint32_t>();
    case DType::U64:
      return nb::dtype<std::uint64_t>();
    case DType::F16:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case DType::F64:
      return nb::dtype<double>();
    case DType::BF16:  // converted
    case DType::F32:
    case DType::Utf8:  // has an array of its own
      break;
  }
  return nb::dtype<float>();
}

// The upper half of a float has the bits of a bf16.
AlignedBuffer floats_of(const TensorValue& value) {
  const auto values = value.as<BFloat16>();
  AlignedBuffer floats(values.size() * sizeof(std::uint32_t));
  auto* out = reinterpret_cast<std::uint32_t*>(floats.data());
  for (const BFloat16 element : values) *out++ = std::uint32_t{element.bits} << 16U;
  return floats;
}

// An array over `data`, which lives as long as `owner`.
nb::object numpy_array(void* data, std::size_t rank, const std::size_t* shape, nb::handle owner,
                       nb::dlpack::dtype dtype) {
  nb::ndarray<nb::numpy> array(data, rank, shape, owner, nullptr, dtype, nb::device::cpu::value);
  return array.cast();
}

}  // namespace

OutgoingValue::OutgoingValue(TensorValue value) : value_(std::move(value)), dtype_(value_.dtype()) {
  if (dtype_ == DType::BF16)
    bytes_ = floats_of(value_);
  else if (dtype_ != DType::Utf8)
    bytes_ = std::move(value_).release();
}

nb::object OutgoingValue::text_array() const {
  nb::list texts;
  for (const std::string& text : value_.strings())
    texts.append(nb::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("array")(texts, numpy.attr("str_"))
      .attr("reshape")(shape_tuple(value_.shape()));
}

nb::object OutgoingValue::array() && {
  if (dtype_ == DType::Utf8) return text_array();
  std::array<std::size_t, Shape::kMaxRank> shape{};
  for (std::size_t axis = 0; axis < value_.shape().rank(); ++axis)
    shape.at(axis) = static_cast<std::size_t>(value_.shape()[axis]);
  // An array without elements has memory, too: numpy takes no null.
  if (bytes_.data() == nullptr) bytes_ = AlignedBuffer(1);
  auto bytes = std::make_unique<AlignedBuffer>(std::move(bytes_));
  void* const data = bytes->data();
  const nb::capsule owner(
      bytes.get(), [](void* memory) noexcept { delete static_cast<AlignedBuffer*>(memory); });
  static_cast<void>(bytes.release());
  return numpy_array(data, value_.shape().rank(), shape.data(), owner, numpy_dtype(dtype_));
}

nb::tuple shape_tuple(const Shape& shape) {
  nb::list extents;
  for (const std::int64_t extent : shape.extents()) extents.append(extent);
  return nb::tuple(extents);
}

template <class T>
nb::object column_array(TableColumn<T> column) {
  using Stored = std::conditional_t<std::is_enum_v<T>, std::uint8_t, T>;
  static_assert(sizeof(Stored) == sizeof(T));
  const std::size_t rows = column.size();
  if (rows == 0) column = TableColumn<T>(1);
  auto kept = std::make_unique<TableColumn<T>>(std::move(column));
  T* const data = kept->data();
  const nb::capsule owner(
      kept.get(), [](void* memory) noexcept { delete static_cast<TableColumn<T>*>(memory); });
  static_cast<void>(kept.release());
  return numpy_array(data, 1, &rows, owner, nb::dtype<Stored>());
}

template nb::object column_array(TableColumn<double>);
template nb::object column_array(TableColumn<std::int64_t>);
template nb::object column_array(TableColumn<std::uint32_t>);
template nb::object column_array(TableColumn<Mode>);

}  // namespace cupel::python
