#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace cupel::writer_detail {

// JSON that others wrote, or that others may have written over: how much of it is read.
inline constexpr std::size_t kMostForeignJson = std::size_t{16} << 20U;

// Parses such a text. Throws UsageError for what is no JSON or is nested deeper than 32 levels.
nlohmann::ordered_json parse_foreign_json(std::string_view text);

// The number, if it is an integer from `least` to one below what 64 bits hold, so that the next one
// fits, too.
std::optional<std::int64_t> counter_of(const nlohmann::ordered_json& json, std::int64_t least);

}  // namespace cupel::writer_detail
