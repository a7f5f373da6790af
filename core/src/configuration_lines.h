#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/source_line.h"

namespace cupel::core_detail {

/// Where the values of a JSON text are. The text must be valid JSON, and `json` what was parsed
/// from it; both must outlive the object and must not change.
class ConfigurationLines {
 public:
  ConfigurationLines(std::string_view text, const nlohmann::json& json);

  /// The line, from 1 on, in which a value begins. Of a key that is given several times, the last
  /// one counts. 0 for an object that is no part of the JSON value.
  std::int64_t line_of(const nlohmann::json& value) const noexcept;

 private:
  std::vector<std::pair<const nlohmann::json*, std::uint32_t>> lines_;  // sorted by address
};

/// The value at a path such as "a.b[2].c", or the innermost one on the way to the path if there is
/// no such value. A key may itself contain '.' and '['.
const nlohmann::json& value_at_path(const nlohmann::json& json, std::string_view path);

}  // namespace cupel::core_detail
