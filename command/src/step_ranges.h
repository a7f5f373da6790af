#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::command_detail {

/// Returns rising steps as few pieces of text: "0 to 990 by 10", "0 to 49", and "7" for a step that
/// is in no range of three.
std::vector<std::string> step_ranges(const std::vector<std::int64_t>& steps);

}  // namespace cupel::command_detail
