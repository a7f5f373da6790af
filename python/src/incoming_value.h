#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cupel/core/tensor_view.h"

namespace cupel::python {

/// The values of a Python object as a view: of a torch tensor, of an array with the buffer protocol
/// or DLPack, of text, of numbers and lists. The object keeps the bytes as long as it lives. Made
/// and destroyed with the GIL held; the view may be read without it.
class IncomingValue {
 public:
  /// Throws UsageError, or an exception of Python, for an object that has no values which can be
  /// saved.
  explicit IncomingValue(nanobind::handle object);
  ~IncomingValue();
  IncomingValue(const IncomingValue&) = delete;
  IncomingValue& operator=(const IncomingValue&) = delete;

  const TensorView& view() const noexcept { return view_; }

 private:
  bool take_torch_tensor(nanobind::handle object);
  bool take_buffer(nanobind::handle object);
  TensorView view_{nullptr, DType::F32, {}};
  Py_buffer buffer_{};
  bool has_buffer_ = false;
  nanobind::object kept_;  // whose memory the view borrows, where that is not the caller's object
};

}  // namespace cupel::python
