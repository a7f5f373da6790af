#include "filled_text.h"

#include <algorithm>
#include <vector>

#include "cupel/core/ascii.h"
#include "text_width.h"

namespace cupel::command_detail {
namespace {

constexpr std::string_view kVerbatim = "    ";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "-", "#", "3." and similar words have a meaning at the beginning of a line in Markdown.
bool may_begin_a_line(std::string_view word) {
  if (std::string_view("-+*=>#|").find(word.front()) != std::string_view::npos) return false;
  const bool ends_as_number = word.ends_with('.') || word.ends_with(')');
  word.remove_suffix(1);
  return !ends_as_number || word.empty() || !std::ranges::all_of(word, is_digit);
}

class Filler {
 public:
  explicit Filler(std::size_t width) : width_(width) {}

  void add(std::string_view line) {
    if (line.starts_with(kVerbatim)) {
      end_line();
      line_ = line;
      end_line();
    } else if (line.empty()) {
      end_line();
      text_ += '\n';
    } else {
      for (const std::string_view word : split(line, ' '))
        if (!word.empty()) add_word(word);
    }
  }
  std::string take() {
    end_line();
    return std::move(text_);
  }

 private:
  // A word that must not begin a line goes to the next line with the word before it.
  void add_word(std::string_view word) {
    const bool fits = line_.empty() || text_width(line_) + 1 + text_width(word) <= width_;
    if (!fits) {
      std::string carried;
      if (!may_begin_a_line(word)) {
        const std::size_t last = line_.rfind(' ');
        if (last != std::string::npos) {
          carried = line_.substr(last + 1);
          line_.resize(last);
        }
      }
      end_line();
      line_ = std::move(carried);
    }
    if (!line_.empty()) line_ += ' ';
    line_ += word;
  }
  void end_line() {
    if (line_.empty()) return;
    text_ += line_ + '\n';
    line_.clear();
  }

  std::size_t width_;
  std::string line_;
  std::string text_;
};

}  // namespace

std::string filled(std::string_view text, std::size_t width) {
  Filler filler(width);
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) filler.add(line);
  return filler.take();
}

}  // namespace cupel::command_detail
