#include "cupel/rules/printable.h"

#include <cstddef>

namespace cupel {

std::string printable(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  const auto escape = [&shown](unsigned char byte) {
    shown += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte < 0x20 || byte == 0x7f) {
      escape(byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      escape(static_cast<unsigned char>(next));
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace cupel
