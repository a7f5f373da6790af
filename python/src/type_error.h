#pragma once

#include <string>

namespace cupel::python {

/// Raises SMDebugTypeError.
[[noreturn]] void raise_type_error(const std::string& message);

}  // namespace cupel::python
