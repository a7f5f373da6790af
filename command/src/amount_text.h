#pragma once

#include <cstdint>
#include <string>

namespace cupel::command_detail {

/// Returns an amount of bytes for people: "17 bytes", "1.2 GiB".
std::string bytes_text(std::uint64_t bytes);

/// Returns "1 tensor" or "2 tensors".
std::string count_text(std::uint64_t count, const std::string& what);

}  // namespace cupel::command_detail
