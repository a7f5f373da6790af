#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "configuration_lines.h"
#include "cupel/core/configuration_reading.h"

namespace cupel {

/// The JSON behind a value. A friend of the public class, which is why it is not in core_detail.
struct ConfigurationJson {
  static const nlohmann::json& of(const ConfigurationValue& value) noexcept {
    return *static_cast<const nlohmann::json*>(value.json_);
  }
  static ConfigurationValue at(const nlohmann::json& json, std::string path,
                               ConfigurationReport& report) noexcept {
    return {&json, &json, std::move(path), report};
  }
};

struct ConfigurationDocument::Parsed {
  std::string text;
  nlohmann::json json;
  // Computed for the first mistake.
  mutable std::optional<core_detail::ConfigurationLines> lines = {};
};

namespace core_detail {

/// Returns a JSON value as messages show it, as ASCII.
std::string shown_json(const nlohmann::json& value);

}  // namespace core_detail

}  // namespace cupel
