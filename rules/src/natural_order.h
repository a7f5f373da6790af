#pragma once

#include <string_view>

namespace cupel {

/// Orders names by their text and the numbers in it: worker_2 before worker_10.
bool natural_less(std::string_view a, std::string_view b) noexcept;

}  // namespace cupel
