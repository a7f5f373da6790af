// Breaks the lines of a stream at the columns of its terminal. The stream buffer gathers a line
// until its end and writes it in pieces. Text that is flushed without a line end, such as a status
// line, is passed on unchanged. A mutex makes each write of a thread one; a failed write is
// reported to the stream, as by any buffer.

#include "wrapped_lines.h"

#include <algorithm>
#include <utility>

#include "terminal.h"
#include "text_width.h"

namespace cupel::command_detail {
namespace {

constexpr std::string_view kEscape = "\x1b[";

// Returns the columns of a text without the escape sequences of colours.
std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (;;) {
    const std::size_t escape = text.find(kEscape);
    width += text_width(text.substr(0, escape));
    if (escape == std::string_view::npos) return width;
    text.remove_prefix(std::min(text.size(), text.find('m', escape)));
    text.remove_prefix(text.empty() ? 0 : 1);
  }
}

// Returns the column at which the pieces after the first begin.
std::size_t indent_of(std::string_view line, std::size_t columns) {
  const std::size_t margin = std::min(line.find_first_not_of(' '), line.size());
  std::size_t indent = margin + 2;
  for (std::size_t at = margin; (at = line.find("  ", at)) != std::string_view::npos;) {
    at = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t column = shown_width(line.substr(0, at));
    if (column > columns / 2) break;
    indent = column;
  }
  return std::min(indent, columns / 2);
}

}  // namespace

std::string wrapped(std::string_view line, std::size_t columns, std::string_view program) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text_of_line = line.substr(begin);
  const bool is_command = begin > 0 && !program.empty() && text_of_line.starts_with(program) &&
                          text_of_line.substr(program.size()).starts_with(' ');
  if (columns == 0 || is_command || shown_width(line) <= columns)
    return std::string(line).append(1, '\n');
  const std::string margin(indent_of(line, columns), ' ');
  std::string text;
  std::string piece;
  for (std::size_t at = 0; at < line.size();) {
    // The next word, with the blanks before it.
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::string_view next = line.substr(at, end - at);
    const bool is_first = piece.find_first_not_of(' ') == std::string::npos;
    // A word that is too long for any piece does not begin a new one.
    const bool has_room = shown_width(piece) + shown_width(next) <= columns ||
                          margin.size() + shown_width(line.substr(word, end - word)) > columns;
    if (is_first || has_room) {
      piece += next;
    } else {
      // The words of a column stay together, where a piece has room for them.
      const std::size_t gap = piece.rfind("  ");
      std::string column;
      if (gap != std::string::npos && shown_width(piece.substr(0, gap + 2)) > margin.size())
        column = piece.substr(gap + 2);
      if (next.starts_with("  ") ||
          margin.size() + shown_width(column) + shown_width(next) > columns)
        column.clear();
      piece.resize(piece.size() - column.size());
      piece.resize(piece.find_last_not_of(' ') + 1);
      text += piece + '\n';
      piece = margin + column;
      piece += column.empty() ? line.substr(word, end - word) : next;
    }
    at = end;
  }
  return text + piece + '\n';
}

WrappedLines::WrappedLines(std::ostream& stream, std::string program)
    : program_(std::move(program)), stream_(stream), behind_(stream.rdbuf(this)) {}

WrappedLines::~WrappedLines() {
  flush_line();
  stream_.rdbuf(behind_);
}

WrappedLines::int_type WrappedLines::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof()))
    return traits_type::not_eof(character);
  const char text = traits_type::to_char_type(character);
  return WrappedLines::xsputn(&text, 1) == 1 ? character : traits_type::eof();
}

std::streamsize WrappedLines::xsputn(const char* text, std::streamsize size) {
  const std::lock_guard lock(mutex_);
  std::string_view rest(text, static_cast<std::size_t>(size));
  for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
    line_ += rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (!end_line()) return 0;
  }
  line_ += rest;
  return size;
}

int WrappedLines::sync() {
  const std::lock_guard lock(mutex_);
  return flush_line();
}

int WrappedLines::flush_line() {
  // A line that begins with a carriage return begins anew.
  if (!line_.empty()) is_begun_ = !line_.starts_with('\r');
  const bool done = pass_on(line_);
  line_.clear();
  return done && behind_->pubsync() == 0 ? 0 : -1;
}

bool WrappedLines::end_line() {
  const bool as_it_is = is_begun_ || line_.find('\r') != std::string::npos;
  const bool done =
      pass_on(as_it_is ? line_ + '\n' : wrapped(line_, terminal_of(stream_).columns, program_));
  line_.clear();
  is_begun_ = false;
  return done;
}

bool WrappedLines::pass_on(std::string_view text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return behind_->sputn(text.data(), size) == size;
}

}  // namespace cupel::command_detail
