#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cupel/core/printable.h"

namespace cupel {

/// JSON for a line or a file: one line, or indented by `indent`. What is not UTF-8 is replaced, and
/// characters that printable() escapes are \u escapes.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace cupel
