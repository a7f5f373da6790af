#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cupel {

/// What a script may use. Memory is of all that lives in its state, the others of one call.
struct ScriptLimits {
  std::int64_t instructions = 10'000'000;  ///< Work of functions of ours counts as well.
  std::size_t memory = std::size_t{64} << 20U;
  std::chrono::milliseconds time = std::chrono::seconds(1);
};

}  // namespace cupel
