#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace cupel {

/// Rows of text in aligned columns, for people. Control characters in cells are escaped.
class Table {
 public:
  enum class Align { Left, Right };

  /// `header` may be empty strings; a table without any row prints the header alone.
  explicit Table(std::vector<std::string> header, std::vector<Align> alignment = {});
  void add(std::vector<std::string> cells);
  void print(std::ostream& out) const;
  /// Columns of a terminal that the widest line takes, with the blanks of empty cells at its end.
  std::size_t width() const;

 private:
  std::vector<std::size_t> column_widths() const;
  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cupel
