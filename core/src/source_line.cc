#include "cupel/core/source_line.h"

#include <cstddef>

#include "cupel/core/comma_list.h"
#include "cupel/core/utf8.h"

namespace cupel {
namespace {

constexpr std::size_t kMostSourceLine = 200;

}  // namespace

std::string source_line(std::string_view text, std::int64_t line) {
  for (std::int64_t i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  if (line < 1) return {};
  text = trimmed(text.substr(0, text.find('\n')));
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  std::string shown(whole_characters(text, kMostSourceLine));
  if (shown.size() < text.size()) shown += "...";
  return shown;
}

}  // namespace cupel
