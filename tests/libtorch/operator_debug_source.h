#pragma once

#include <ATen/record_function.h>

#include <cstddef>

namespace cupel::libtorch_test {

/// Calls RecordFunction::inputs() with its assertion, which may throw.
std::size_t inputs_as_a_debug_source_reads_them(const at::RecordFunction& function);

}  // namespace cupel::libtorch_test
