#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::format_detail {

// JSON that is written piece by piece: an object of the JSON library allocates when it is
// destroyed, which would end the process where memory is short.

// A text in quotes, as ASCII.
std::string quoted_text(std::string_view text);

inline std::string text_of(bool value) { return value ? "true" : "false"; }
inline std::string text_of(std::int64_t value) { return std::to_string(value); }
inline std::string text_of(std::string_view value) { return quoted_text(value); }

template <class Range>
std::string list_of(const Range& values) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ',';
    text += text_of(value);
  }
  return text + ']';
}

class ObjectText {
 public:
  ObjectText& add(std::string_view key, std::string_view value) {
    if (text_.size() > 1) text_ += ',';
    text_ += quoted_text(key);
    text_ += ':';
    text_ += value;
    return *this;
  }
  std::string text() const { return text_ + '}'; }

 private:
  std::string text_ = "{";
};

}  // namespace cupel::format_detail
