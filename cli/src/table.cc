#include "table.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "cupel/rules/printable.h"
#include "text_width.h"

namespace cupel {
namespace {

constexpr std::size_t kColumnGap = 2;  // blanks between columns

}  // namespace

Table::Table(std::vector<std::string> header, std::vector<Align> alignment)
    : alignment_(std::move(alignment)) {
  alignment_.resize(header.size(), Align::Left);
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  cells.resize(alignment_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::column_widths() const {
  std::vector<std::size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], text_width(row[i]));
  return widths;
}

std::size_t Table::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : column_widths()) sum += width;
  return sum + kColumnGap * (alignment_.empty() ? 0 : alignment_.size() - 1);
}

void Table::print(std::ostream& out) const {
  const std::vector<std::size_t> widths = column_widths();
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - text_width(row[i]), ' ');
      if (i > 0) line.append(kColumnGap, ' ');
      line += alignment_[i] == Align::Left ? row[i] + blanks : blanks + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

}  // namespace cupel
