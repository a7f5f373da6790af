#include "cupel/core/printer.h"

#include <algorithm>
#include <string>

#include "cupel/core/printable.h"

namespace cupel {
namespace {

// Returns the length of a colour (ESC [ digits and semicolons m) at the front of a text, or 0.
std::size_t colour_length(std::string_view text) noexcept {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

const Printer& Printer::operator<<(std::string_view text) const {
  const std::string shown = printable(text, std::string_view::npos);
  stream_->write(shown.data(), static_cast<std::streamsize>(shown.size()));
  return *this;
}

const Printer& Printer::operator<<(char character) const {
  if (character == '\n' || character == '\t') {
    stream_->put(character);
    return *this;
  }
  return *this << std::string_view(&character, 1);
}

const Printer& Printer::operator<<(Composed composed) const {
  std::string shown;
  for (std::string_view rest = composed.text; !rest.empty();) {
    const std::size_t own = std::min(rest.find_first_of("\n\t\x1b"), rest.size());
    shown += printable(rest.substr(0, own), std::string_view::npos);
    rest.remove_prefix(own);
    if (rest.empty()) break;
    const std::size_t length = rest.front() == '\x1b' ? colour_length(rest) : 1;
    shown += length > 0 ? std::string(rest.substr(0, length)) : printable(rest.substr(0, 1));
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  stream_->write(shown.data(), static_cast<std::streamsize>(shown.size()));
  return *this;
}

}  // namespace cupel
