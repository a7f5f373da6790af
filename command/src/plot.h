#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel::command_detail {

/// A number at a step, which may be NaN or infinite.
struct PlotPoint {
  std::int64_t step = 0;
  double value = 0;
};

struct PlotOptions {
  std::size_t width = 80;  ///< The columns of the terminal, at least kLeastPlotWidth.
  std::size_t rows = 12;   ///< The rows of the drawing, at least 3.
  bool log =
      false;  ///< The scale is logarithmic; numbers that are not above 0 are marked below it.
};
inline constexpr std::size_t kLeastPlotWidth = 40;

/// Draws numbers over steps in braille dots, two across and four down in each character:
///
///     2e-07 ┤⠑⠢⢄
///           │   ⠉⠒⠤⡀          ⢀⠤⠒⠉
///     1e-07 ┤      ⠈⠑⠢⣀    ⣀⠔⠊⠁
///           │          ⠉⠒⠊⠉
///       NaN │                     ×
///           └┬─────────┬─────────┬───────
///            0         20        40
///
/// `points` are ordered by step. Neighbours are joined by lines, so that no peak is lost however
/// many points a column has. Numbers that the scale does not have are marked on lines of their own:
/// NaN and infinities, and with `log` numbers that are not above 0, all of which interrupt the
/// line; and a few numbers, at most one of 20, so far above or below all others that the others
/// would be in one row. No line is wider than `options.width`. Without points there are no lines.
std::vector<std::string> plot(const std::vector<PlotPoint>& points,
                              const PlotOptions& options = {});

/// Returns the position of `value` between `low` and `high` as a share; 0.5 if the two are equal.
/// Exact enough for any finite numbers, also where their difference overflows.
double share_between(double low, double high, double value);

}  // namespace cupel::command_detail
