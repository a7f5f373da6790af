#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cupel/core/tensor_view.h"

namespace cupel::writer_detail {

// How a tensor's value is laid out in files: elements in row-major order; of Utf8 n + 1 offsets,
// then the bytes.

// Why `view` cannot be saved, as a phrase; null when it can.
const char* value_defect(const TensorView& view) noexcept;
// Why `name` cannot name a tensor of the user's, as a phrase; null when it can.
const char* tensor_name_defect(std::string_view name) noexcept;
// The same of a collection.
const char* collection_name_defect(std::string_view name) noexcept;

std::uint64_t value_length(const TensorView& view) noexcept;
// Writes value_length(view) bytes.
void write_value(const TensorView& view, std::byte* out) noexcept;

}  // namespace cupel::writer_detail
