#include "object_text.h"

#include "cupel/core/error.h"
#include "type_error.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

// Null where Python has raised.
nb::object encoded(nb::handle text, const char* errors) {
  return nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", errors));
}

std::string bytes_of(nb::handle encoded) {
  const nb::bytes bytes(nb::borrow<nb::bytes>(encoded));
  return {bytes.c_str(), bytes.size()};
}

// `text` is null where Python has raised.
std::string shown(const nb::object& text) {
  const nb::object bytes = text.is_valid() ? encoded(text, "backslashreplace") : nb::object();
  if (bytes.is_valid()) return bytes_of(bytes);
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw nb::python_error();
  PyErr_Clear();
  return "an object whose text cannot be read";
}

}  // namespace

std::string repr_of(nb::handle object) { return shown(nb::steal(PyObject_Repr(object.ptr()))); }

std::string message_of(const nb::python_error& error) {
  return shown(nb::steal(PyObject_Str(error.value().ptr())));
}

std::string read_text(nb::handle object, const char* what, const char* errors) {
  if (!PyUnicode_Check(object.ptr()))
    raise_type_error(std::string(what) + " is a text, not " + repr_of(object));
  const nb::object bytes = encoded(object, errors);
  if (bytes.is_valid()) return bytes_of(bytes);
  PyErr_Clear();
  throw UsageError(std::string(what) + " is no valid Unicode: " + repr_of(object));
}

}  // namespace cupel::python
