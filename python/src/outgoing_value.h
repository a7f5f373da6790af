#pragma once

#include <nanobind/nanobind.h>

#include "cupel/core/shape.h"
#include "cupel/trial/reduction_table.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::python {

/// A value of a trial on its way to Python. Made without the GIL, since bf16 is converted here;
/// array() is called with it.
class OutgoingValue {
 public:
  explicit OutgoingValue(TensorValue value);
  /// A numpy array of the saved shape: of the saved dtype, float32 for bf16, str for text. The
  /// caller may change it. It has the memory of the value, where nobody else shares that.
  nanobind::object array() &&;

 private:
  nanobind::object text_array() const;
  TensorValue value_;
  DType dtype_;
  AlignedBuffer bytes_;
};

nanobind::tuple shape_tuple(const Shape& shape);

/// A numpy array over the memory of a column, which it keeps.
template <class T>
nanobind::object column_array(TableColumn<T> column);
extern template nanobind::object column_array(TableColumn<double>);
extern template nanobind::object column_array(TableColumn<std::int64_t>);
extern template nanobind::object column_array(TableColumn<std::uint32_t>);
extern template nanobind::object column_array(TableColumn<Mode>);

}  // namespace cupel::python
