#pragma once

#include <cstdint>
#include <string>

namespace cupel {

/// An amount of bytes as a person reads it: "17 bytes", "1.2 GiB".
std::string bytes_text(std::uint64_t bytes);

/// "1 tensor", "2 tensors".
std::string count_text(std::uint64_t count, const std::string& what);

}  // namespace cupel
