// Prints a table. Where it does not fit the terminal, the widest columns are made narrower, break
// by break: columns of numbers down to their widest number, with the words of the header below each
// other, and columns of text down to a few characters. Where that is not enough, each row is a list
// of names and cells. Cells are escaped; any UTF-8 and any bytes are legal. One thread.

#include "table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/core/printable.h"
#include "cupel/core/utf8.h"
#include "terminal.h"
#include "text_width.h"

namespace cupel::command_detail {
namespace {

constexpr std::size_t kColumnGap = 2;  // blanks between columns
constexpr std::size_t kLeastText = 8;  // the least width of a column of text

// Returns the end of the character at `at`, which may have several bytes.
std::size_t next_character(std::string_view text, std::size_t at) {
  do {
    ++at;
  } while (at < text.size() && is_continuation(text[at]));
  return at;
}

// Returns whether a name may be broken before the character at `at`.
bool is_joint(std::string_view text, std::size_t at) {
  const char before = text[at - 1];
  return std::string_view("/_.,:-").find(before) != std::string_view::npos ||
         (is_upper(text[at]) && !is_upper(before));
}

// Returns the length of the first of several lines of `width`: up to a blank, else up to a place
// where a name may be broken, else as many characters as there is room for.
std::size_t first_line(std::string_view text, std::size_t width) {
  std::size_t blank = 0, joint = 0, end = 0;
  for (std::size_t used = 0; end < text.size();) {
    const std::size_t next = next_character(text, end);
    if (text[end] == ' ') blank = end;
    if (end > 0 && is_joint(text, end)) joint = end;
    used += text_width(text.substr(end, next - end));
    if (used > width && text[end] != ' ' && end > 0) break;
    end = next;
  }
  return blank > 0 ? blank : joint > 0 ? joint : end;
}

std::vector<std::string> broken(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (text_width(text) > width) {
    const std::size_t end = first_line(text, std::max<std::size_t>(1, width));
    const std::string_view line = text.substr(0, end);
    lines.emplace_back(line.substr(0, line.find_last_not_of(' ') + 1));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::size_t width_of(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, text_width(line));
  return width;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    longest = std::max(longest, text_width(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return longest;
}

std::size_t sum(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width;
  return sum + kColumnGap * (widths.empty() ? 0 : widths.size() - 1);
}

// Removes empty columns at the end.
std::size_t sum_of_filled(std::vector<std::size_t> widths) {
  while (!widths.empty() && widths.back() == 0) widths.pop_back();
  return sum(widths);
}

}  // namespace

Table::Table(std::vector<std::string> header, std::vector<Align> alignment)
    : alignment_(std::move(alignment)) {
  alignment_.resize(header.size(), Align::Left);
  colours_.emplace_back(header.size(), Colour::None);
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell, std::string_view::npos);
  cells.resize(alignment_.size());
  rows_.push_back(std::move(cells));
  colours_.emplace_back(alignment_.size(), Colour::None);
}

std::vector<std::size_t> Table::column_widths() const {
  std::vector<std::size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], text_width(row[i]));
  return widths;
}

std::size_t Table::width() const { return sum(column_widths()); }

// Makes columns narrower until they fit. Returns whether they do.
bool Table::narrow(std::vector<std::size_t>& widths, std::size_t columns) const {
  std::vector<std::size_t> least(widths.size(), 0);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (alignment_[i] == Align::Left) {
      least[i] = std::min(widths[i], kLeastText);
    } else {
      least[i] = longest_word(rows_.front()[i]);
      for (std::size_t row = 1; row < rows_.size(); ++row)
        least[i] = std::max(least[i], text_width(rows_[row][i]));
    }
  }
  while (sum_of_filled(widths) > columns) {
    // The headers of numbers are broken first.
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] <= least[i]) continue;
      const auto rank = [&](std::size_t column) {
        return std::pair(alignment_[column] == Align::Right, widths[column]);
      };
      if (widest == widths.size() || rank(i) > rank(widest)) widest = i;
    }
    if (widest == widths.size()) return false;
    const std::size_t narrower = --widths[widest];
    std::size_t used = 0;  // the part of the header that is used
    for (const auto& row : rows_) {
      if (used >= narrower) break;
      const std::size_t width = text_width(row[widest]);
      used = std::max(used, width <= narrower ? width : width_of(broken(row[widest], narrower)));
    }
    widths[widest] = std::min(narrower, used);
  }
  return true;
}

void Table::print(Printer out) const {
  const std::size_t columns = terminal_of(out).columns;
  std::vector<std::size_t> widths = column_widths();
  if (columns > 0 && sum_of_filled(widths) > columns && !narrow(widths, columns))
    return print_lists(out, columns);
  for (std::size_t row = 0; row < rows_.size(); ++row) print_row(out, row, widths);
}

void Table::print_row(Printer out, std::size_t row, const std::vector<std::size_t>& widths) const {
  std::vector<Lines> cells;
  std::size_t height = 1;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    cells.push_back(broken(rows_[row][i], widths[i]));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    std::size_t blanks = 0;  // not printed yet, because no line ends with blanks
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = line < cells[i].size() ? cells[i][line] : std::string();
      const std::size_t left = widths[i] - std::min(widths[i], text_width(cell));
      if (i > 0) blanks += kColumnGap;
      if (alignment_[i] == Align::Right) blanks += left;
      if (!cell.empty())
        text.append(std::exchange(blanks, 0), ' ') += painted(out, colours_[row][i], cell);
      if (alignment_[i] == Align::Left) blanks += left;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << Composed{text} << '\n';
  }
}

void Table::print_lists(Printer out, std::size_t columns) const {
  std::size_t name_width = 0;
  for (const std::string& name : rows_.front()) name_width = std::max(name_width, text_width(name));
  const std::size_t taken = name_width + kColumnGap;
  const std::size_t rest = columns > taken + kLeastText ? columns - taken : kLeastText;
  for (std::size_t row = 1; row < rows_.size(); ++row) {
    if (row > 1) out << '\n';
    for (std::size_t i = 0; i < alignment_.size(); ++i) {
      if (rows_[row][i].empty()) continue;
      std::string name = rows_.front()[i];
      for (const std::string& line : broken(rows_[row][i], rest)) {
        out << name << std::string(taken - text_width(name), ' ')
            << Composed{painted(out, colours_[row][i], line)} << '\n';
        name.clear();
      }
    }
  }
}

}  // namespace cupel::command_detail
