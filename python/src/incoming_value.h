#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/tensor_view.h"

namespace cupel::python {

/// The object has no values that can be saved. The text says why, as a phrase.
struct UnsavableValue : UsageError {
  using UsageError::UsageError;
};

/// The values of a Python object as a view: of a torch tensor, of an array with the buffer protocol
/// or DLPack, of text, of numbers and lists. The object keeps the bytes as long as it lives. Made
/// and destroyed with the GIL held; the view may be read without it.
class IncomingValue {
 public:
  /// Raises SMDebugTypeError for an object of a kind that cannot be saved, and throws UsageError
  /// for one that has no values to save.
  explicit IncomingValue(nanobind::handle object);
  ~IncomingValue();
  IncomingValue(const IncomingValue&) = delete;
  IncomingValue& operator=(const IncomingValue&) = delete;

  const TensorView& view() const noexcept { return view_; }

 private:
  // Each takes the object if it is of the kind, without a copy of its elements.
  bool take_number(nanobind::handle object);
  bool take_text(nanobind::handle object);
  bool take_tensor(nanobind::handle object);
  bool take_buffer(nanobind::handle object);
  bool take_view_of_buffer();
  bool take_dlpack(nanobind::handle object);
  // Converts other objects in Python (cupel/core/incoming.py).
  void take_converted(nanobind::handle object);
  void take_texts(nanobind::handle array);

  TensorView view_{nullptr, DType::F32, {}};
  Py_buffer buffer_{};
  bool has_buffer_ = false;
  std::array<std::byte, 8> number_{};  // of a Python number
  std::vector<std::string> texts_;
  nanobind::object kept_;  // whose memory the view borrows, where that is not the caller's object
};

}  // namespace cupel::python
