#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "colour.h"
#include "cupel/core/printer.h"

namespace cupel::command_detail {

/// Rows of text in aligned columns, for people. Control characters in cells are escaped.
///
/// A table that is wider than the stream's terminal (terminal.h) breaks its header and the cells
/// aligned left into lines; where that is not enough, each row is a list of "NAME  cell" lines.
class Table {
 public:
  enum class Align { Left, Right };

  /// `header` may be empty strings; a table without any row prints the header alone.
  explicit Table(std::vector<std::string> header, std::vector<Align> alignment = {});
  void add(std::vector<std::string> cells);
  /// Gives a cell of the row added last a colour.
  void paint(std::size_t column, Colour colour) { colours_.back()[column] = colour; }
  void print(Printer out) const;
  /// Columns of a terminal that the widest line takes, with the blanks of empty cells at its end.
  std::size_t width() const;

 private:
  using Lines = std::vector<std::string>;  // of one cell
  std::vector<std::size_t> column_widths() const;
  bool narrow(std::vector<std::size_t>& widths, std::size_t columns) const;
  void print_row(Printer out, std::size_t row, const std::vector<std::size_t>& widths) const;
  void print_lists(Printer out, std::size_t columns) const;

  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::vector<Colour>> colours_;
};

}  // namespace cupel::command_detail
