#pragma once

#include <cstdint>

namespace cupel {

// What HookOptions may say, in code or in a file.
inline constexpr std::int64_t kLeastSpoolBytes = 1 << 20;
inline constexpr std::int64_t kMostUploads = 64;

}  // namespace cupel
