#pragma once

#include <cstdint>

namespace cupel::writer_detail {

// Bounds of HookOptions, in code or in a file.
inline constexpr std::int64_t kLeastSpoolBytes = 1 << 20;
inline constexpr std::int64_t kMostUploads = 64;

}  // namespace cupel::writer_detail
