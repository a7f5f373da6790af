#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace cupel::python {

// Texts of objects for messages, in UTF-8. What is no Unicode is escaped. An exception of the
// object's own __repr__ or __str__ gives a text that says so; KeyboardInterrupt and the like pass.

/// The repr() of an object.
std::string repr_of(nanobind::handle object);
/// The str() of what Python raised.
std::string message_of(const nanobind::python_error& error);

/// The bytes of a text. What is no Unicode becomes what `errors` makes of it, "surrogatepass" for
/// example. Raises SMDebugTypeError for an object that is no text; `what` names it.
std::string read_text(nanobind::handle object, const char* what, const char* errors = "strict");

}  // namespace cupel::python
