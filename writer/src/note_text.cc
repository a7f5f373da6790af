#include "note_text.h"

namespace cupel::writer_detail {

std::string note_text(
    std::initializer_list<std::pair<const char*, nlohmann::ordered_json>> fields) {
  using Value = nlohmann::ordered_json;
  std::string text = "{";
  for (const auto& [key, value] : fields) {
    if (text.size() > 1) text += ',';
    text += Value(key).dump() + ':' + value.dump(-1, ' ', false, Value::error_handler_t::replace);
  }
  return text + '}';
}

}  // namespace cupel::writer_detail
