#pragma once

#include <cstddef>
#include <span>

#include "cupel/core/dtype.h"
#include "cupel/core/shape.h"

namespace cupel::trial_detail {

/// Why `bytes` cannot be a value of this type and shape, as a phrase; null when they can.
const char* value_defect(DType dtype, const Shape& shape,
                         std::span<const std::byte> bytes) noexcept;

}  // namespace cupel::trial_detail
