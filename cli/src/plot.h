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
  bool log = false;        ///< A logarithmic scale; every finite value is then above 0.
};
inline constexpr std::size_t kLeastPlotWidth = 40;

/// Draws numbers over steps in braille dots, two across and four down in each character:
///
///     1.995e-07 ┤⠑⠢⢄
///               │   ⠉⠒⠤⡀          ⢀⠤⠒⠉
///               │      ⠈⠑⠢⣀    ⣀⠔⠊⠁
///     1.003e-07 ┤          ⠉⠒⠊⠉
///           NaN │                     ×
///               └────────────────────────────
///                0                         40
///
/// `points` are ordered by step. Neighbours are joined by lines, so that no peak is lost however
/// many points a column has; a NaN or an infinity interrupts the line and is marked below. No line
/// is wider than `options.width`. Of no points there is nothing to draw: no lines.
std::vector<std::string> plot(const std::vector<PlotPoint>& points,
                              const PlotOptions& options = {});

/// Where `value` lies between `low` and `high`, as a share: 0.5 if they are equal. Exact enough for
/// any finite numbers, also where their difference overflows.
double share_between(double low, double high, double value);

/// Numbers as labels of one scale, from low to high: four digits, and more only where two that
/// differ would look the same.
std::vector<std::string> scale_labels(const std::vector<double>& numbers);

}  // namespace cupel
