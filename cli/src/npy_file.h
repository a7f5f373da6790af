#pragma once

#include <string>

#include "cupel/trial/tensor_value.h"

namespace cupel {

/// Writes a value as a NumPy file (format 1.0). bf16, which NumPy lacks, is widened to f32. Throws
/// UsageError for text and Error when the file cannot be written.
void write_npy(const std::string& file, const TensorValue& value);

}  // namespace cupel
