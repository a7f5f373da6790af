#pragma once

#include <cstddef>

#include "cupel/core/dtype.h"
#include "cupel/core/value_counts.h"

namespace cupel {

/// Adds the number of special elements of one piece of a tensor to `counts`: what
/// Statistics::counts has after all pieces, in less time than the whole statistics take. Integers
/// and bools have no special elements.
///
/// `data` holds `elements` elements at any alignment; it may be null if there are none. Numeric
/// dtypes only.
void count_values(DType dtype, const void* data, std::size_t elements,
                  ValueCounts& counts) noexcept;

}  // namespace cupel
