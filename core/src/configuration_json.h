#pragma once

#include <nlohmann/json.hpp>

#include "cupel/core/configuration_reading.h"

namespace cupel {

struct ConfigurationJson {
  static const nlohmann::json& of(const ConfigurationValue& value) noexcept {
    return *static_cast<const nlohmann::json*>(value.json_);
  }
  static ConfigurationValue at(const nlohmann::json& json, std::string path,
                               ConfigurationReport& report) noexcept {
    return {&json, std::move(path), report};
  }
};

struct ConfigurationDocument::Parsed {
  nlohmann::json json;
};

// A JSON value as messages show it, as ASCII.
std::string shown_json(const nlohmann::json& value);

}  // namespace cupel
