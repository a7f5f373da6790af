#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel {

/// A number at a step; NaN and infinities are numbers like others.
struct PlotPoint {
  std::int64_t step = 0;
  double value = 0;
};

struct PlotOptions {
  std::size_t width = 80;  ///< Columns of the terminal; at least kLeastPlotWidth.
  std::size_t rows = 12;   ///< Of the drawing; at least 3.
  bool log = false;        ///< A logarithmic scale: what is not above 0 is marked below.
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
/// many points a column has. What the scale has no place for is marked on lines of its own: NaN
/// and infinities, and with `log` what is not above 0, all of which interrupt the line; and the few
/// numbers, at most one of 20, that are so far above or below all others that the others would all
/// be in a row. No line is wider than `options.width`. Of no points there is nothing to draw: no
/// lines.
std::vector<std::string> plot(const std::vector<PlotPoint>& points,
                              const PlotOptions& options = {});

/// Where `value` lies between `low` and `high`, as a share: 0.5 if they are equal. Exact enough for
/// any finite numbers, also where their difference overflows.
double share_between(double low, double high, double value);

}  // namespace cupel
