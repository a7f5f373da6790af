#pragma once

#include "cupel/core/tensor_view.h"

namespace cupel::stats_detail {

/// The median of the elements, or of their magnitudes. The view is valid, numeric, not empty and
/// without NaNs. Throws std::bad_alloc.
double median(const TensorView& view, bool magnitudes);

}  // namespace cupel::stats_detail
