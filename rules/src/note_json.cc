#include "cupel/rules/note_json.h"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "cupel/core/printable.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr int kMostLevels = 32;

// Counted before parsing: what parses, copies and prints JSON goes down a level by calling itself.
bool is_nested_too_deeply(std::string_view text) {
  int level = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++level > kMostLevels) return true;
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
  return false;
}

}  // namespace

std::string note_json(std::string_view text) {
  if (text.size() <= kMostBytes && !is_nested_too_deeply(text)) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_discarded()) return json_text(json);
  }
  return json_text(Json(text));
}

}  // namespace cupel
