#pragma once

#include <cstddef>

namespace cupel::testing {

/// The most bytes that were asked for at once since the last reset.
std::size_t largest_allocation();
void reset_largest_allocation();

}  // namespace cupel::testing
