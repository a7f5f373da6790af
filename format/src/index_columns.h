#pragma once

#include <string_view>

namespace cupel::format_detail::column {

// The names of the index file's columns. The columns of reductions have the reductions' names.
inline constexpr const char* kStep = "step";
inline constexpr const char* kMode = "mode";
inline constexpr const char* kModeStep = "mode_step";
inline constexpr const char* kWorker = "worker";
inline constexpr const char* kTensor = "tensor";
inline constexpr const char* kDType = "dtype";
inline constexpr const char* kShape = "shape";
inline constexpr const char* kElements = "elements";
inline constexpr const char* kOffset = "offset";
inline constexpr const char* kLength = "length";
inline constexpr const char* kCrc32c = "crc32c";
inline constexpr const char* kInline = "inline";
inline constexpr const char* kTime = "time";
inline constexpr const char* kNan = "nan";
inline constexpr const char* kPosInf = "pos_inf";
inline constexpr const char* kNegInf = "neg_inf";
inline constexpr const char* kZero = "zero";
inline constexpr const char* kCollections = "collections";

}  // namespace cupel::format_detail::column
