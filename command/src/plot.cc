// Draws numbers over steps. The scale goes from the least to the greatest number. If a few numbers,
// such as a spike, would leave all others in a row or two, the scale is that of the others. Numbers
// that are not on the scale are marked on lines of their own: the few above or below it, NaN and
// infinities, and on a logarithmic scale numbers that are not above 0. Any doubles are legal; all
// functions are pure.

#include "plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "axis_ticks.h"
#include "cupel/core/utf8.h"
#include "text_width.h"

namespace cupel::command_detail {
namespace {

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text_width(text)), ' ') + text;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The position of a dot: columns to the right, rows down.
struct Dot {
  std::int64_t x = 0, y = 0;
};

// A drawing of characters, each of two by four dots.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows) : columns_(columns), cells_(columns * rows) {}

  void set(Dot dot) {
    // The bits of a braille character, by row and column of the dot.
    static constexpr std::uint8_t kBits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    const auto x = static_cast<std::size_t>(dot.x);
    const auto y = static_cast<std::size_t>(dot.y);
    cells_[y / 4 * columns_ + x / 2] |= kBits[y % 4][x % 2];
  }

  // Bresenham's line, both ends included.
  void line(Dot from, Dot to) {
    const std::int64_t across = std::abs(to.x - from.x);
    const std::int64_t down = -std::abs(to.y - from.y);
    const std::int64_t right = from.x < to.x ? 1 : -1;
    const std::int64_t below = from.y < to.y ? 1 : -1;
    std::int64_t error = across + down;
    for (;;) {
      set(from);
      if (from.x == to.x && from.y == to.y) return;
      const std::int64_t twice = 2 * error;
      if (twice >= down) {
        error += down;
        from.x += right;
      }
      if (twice <= across) {
        error += across;
        from.y += below;
      }
    }
  }

  std::string row(std::size_t row) const {
    std::string text;
    for (std::size_t column = 0; column < columns_; ++column) {
      const std::uint8_t bits = cells_[row * columns_ + column];
      if (bits == 0) {
        text += ' ';
        continue;
      }
      append_utf8(text, 0x2800U + bits);  // Braille
    }
    return text;
  }

 private:
  const std::size_t columns_;
  std::vector<std::uint8_t> cells_;
};

// Returns the range of the other numbers where a few are far from all others. `sorted` has all.
std::optional<std::pair<double, double>> range_without_few(const std::vector<double>& sorted) {
  constexpr std::size_t kFewest = 8;  // from this many numbers on, one may be left out
  constexpr std::size_t kOneOf = 20;  // one of this many may be left out
  constexpr double kFar = 8;          // those are this many ranges of the others away
  if (sorted.size() < kFewest) return std::nullopt;
  const std::size_t others = sorted.size() - std::max<std::size_t>(1, sorted.size() / kOneOf);
  double low = sorted.front(), high = sorted.back();
  for (std::size_t i = 0; i + others <= sorted.size(); ++i) {
    if (sorted[i + others - 1] - sorted[i] > high - low) continue;
    low = sorted[i];
    high = sorted[i + others - 1];
  }
  const double range = high - low;
  if (range == 0) return std::nullopt;  // the others are a line on any scale
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), low - range);
  const auto end = std::upper_bound(sorted.begin(), sorted.end(), high + range);
  if (sorted.back() / kFar - sorted.front() / kFar <= *(end - 1) - *first) return std::nullopt;
  return std::pair(*first, *(end - 1));
}

// Returns the range of a linear scale. Of numbers that grow by powers a few are always far from all
// others; for them no range is better than the whole.
std::pair<double, double> linear_range(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const auto range = range_without_few(numbers);
  if (!range) return {numbers.front(), numbers.back()};
  const std::vector<double> others(std::lower_bound(numbers.begin(), numbers.end(), range->first),
                                   std::upper_bound(numbers.begin(), numbers.end(), range->second));
  return range_without_few(others) ? std::pair(numbers.front(), numbers.back()) : *range;
}

// The scale: it gives numbers their positions as shares of the height.
class Scale {
 public:
  Scale(const std::vector<PlotPoint>& points, bool log) : log_(log) {
    std::vector<double> numbers;
    for (const PlotPoint& point : points)
      if (std::isfinite(point.value) && (!log || point.value > 0)) numbers.push_back(point.value);
    if (numbers.empty()) return;
    const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
    least_ = *least;
    greatest_ = *greatest;
    std::tie(low_, high_) = log ? std::pair(least_, greatest_) : linear_range(std::move(numbers));
  }

  bool is_empty() const { return low_ > high_; }
  bool is_log() const { return log_; }
  double least() const { return least_; }  // of all numbers
  double greatest() const { return greatest_; }
  double low() const { return low_; }  // of the scale
  double high() const { return high_; }

  double share(double value) const {
    const double share = log_
                             ? share_between(std::log10(low_), std::log10(high_), std::log10(value))
                             : share_between(low_, high_, value);
    return std::clamp(share, 0.0, 1.0);
  }

 private:
  const bool log_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  double least_ = 0, greatest_ = 0;
};

// Returns the row of dots of a number, counted from above.
std::int64_t dot_row(const Scale& scale, double value, std::size_t rows) {
  return std::lround((1 - scale.share(value)) * static_cast<double>(4 * rows - 1));
}

// Returns the labels left of the rows of the drawing: round numbers.
std::vector<std::string> row_labels(const Scale& scale, std::size_t rows) {
  std::vector<std::string> labels(rows);
  if (scale.is_empty()) return labels;
  if (scale.low() == scale.high()) {
    labels[rows / 2] = scale_labels({scale.low()}).front();
    return labels;
  }
  const std::size_t most = std::max<std::size_t>(3, rows * 2 / 5);
  for (const Tick& tick : round_ticks(scale.low(), scale.high(), most, scale.is_log()))
    labels[static_cast<std::size_t>(dot_row(scale, tick.value, rows)) / 4] = tick.label;
  return labels;
}

// A line of marks for points that are not on the scale.
struct MarkedLine {
  std::string label;
  const char* axis;
  const char* mark;
  bool (*is)(const Scale&, double);
};

bool is_above(const Scale& scale, double value) {
  return std::isfinite(value) && !scale.is_empty() && value > scale.high();
}
bool is_below(const Scale& scale, double value) {
  return std::isfinite(value) && !scale.is_empty() && value < scale.low() && !scale.is_log();
}

std::vector<MarkedLine> marked_lines(const Scale& scale, const std::vector<PlotPoint>& points) {
  using S = const Scale&;
  std::vector<MarkedLine> lines = {
      {scale_labels({scale.greatest()}).front(), " ┊", "▲", is_above},
      {scale_labels({scale.least()}).front(), " ┊", "▼", is_below},
      {"0", " │", "×", [](S in, double value) { return in.is_log() && value == 0; }},
      {"< 0", " │", "×",
       [](S in, double value) { return in.is_log() && std::isfinite(value) && value < 0; }},
      {"NaN", " │", "×", [](S, double value) { return std::isnan(value); }},
      {"inf", " │", "×", [](S, double value) { return std::isinf(value) && value > 0; }},
      {"-inf", " │", "×", [](S, double value) { return std::isinf(value) && value < 0; }}};
  std::erase_if(lines, [&](const MarkedLine& line) {
    return std::none_of(points.begin(), points.end(),
                        [&](const PlotPoint& point) { return line.is(scale, point.value); });
  });
  return lines;
}

// The axis of the steps: it gives points their columns of dots.
class StepAxis {
 public:
  StepAxis(const std::vector<PlotPoint>& points, std::size_t columns)
      : first_(points.front().step), last_(points.back().step), columns_(columns) {}

  std::int64_t dot_column(std::int64_t step) const {
    if (first_ == last_) return 0;
    const double share = share_between(static_cast<double>(first_), static_cast<double>(last_),
                                       static_cast<double>(step));
    return std::lround(share * static_cast<double>(2 * columns_ - 1));
  }

  // Returns the axis and the numbers below it, behind `margin` blanks.
  std::array<std::string, 2> lines(std::size_t blanks) const {
    constexpr std::size_t kBetween = 3;
    const std::size_t width = std::to_string(last_).size() + kBetween;
    const std::size_t most = std::clamp<std::size_t>(columns_ / width, 2, 10);
    std::vector<bool> ticks(columns_);
    std::string labels;
    for (const std::int64_t step : round_steps(first_, last_, most)) {
      const auto column = static_cast<std::size_t>(dot_column(step)) / 2;
      ticks[column] = true;
      const std::string label = std::to_string(step);
      // The label is centred below its tick, as far as there is room.
      const std::size_t total = blanks + columns_;
      const std::size_t begin =
          std::min(blanks + column - std::min(blanks + column, (label.size() - 1) / 2),
                   total - std::min(total, label.size()));
      if (!labels.empty() && begin <= labels.size()) continue;
      labels += std::string(begin - labels.size(), ' ') + label;
    }
    std::string axis = std::string(blanks - 1, ' ') + "└";
    for (const bool is_tick : ticks) axis += is_tick ? "┬" : "─";
    return {axis, labels};
  }

 private:
  const std::int64_t first_, last_;
  const std::size_t columns_;
};

}  // namespace

double share_between(double low, double high, double value) {
  if (low == high) return 0.5;
  const double range = high - low;
  if (std::isfinite(range)) return (value - low) / range;
  return (value / 2 - low / 2) / (high / 2 - low / 2);
}

std::vector<std::string> plot(const std::vector<PlotPoint>& points, const PlotOptions& options) {
  if (points.empty()) return {};
  const Scale scale(points, options.log);
  const std::vector<std::string> labels = row_labels(scale, options.rows);
  const std::vector<MarkedLine> marked = marked_lines(scale, points);
  std::size_t label_width = 0;
  for (const std::string& label : labels) label_width = std::max(label_width, label.size());
  for (const MarkedLine& line : marked) label_width = std::max(label_width, line.label.size());
  constexpr std::size_t kAxis = 2;  // a blank and the axis
  const std::size_t columns = options.width - std::min(options.width - 1, label_width + kAxis);

  const StepAxis axis(points, columns);
  Canvas canvas(columns, options.rows);
  std::vector<std::vector<bool>> marks(marked.size(), std::vector<bool>(columns));
  Dot before{};             // the end of the line
  bool has_before = false;  // the line goes on from there
  for (const PlotPoint& point : points) {
    const std::int64_t x = axis.dot_column(point.step);
    for (std::size_t i = 0; i < marked.size(); ++i)
      if (marked[i].is(scale, point.value)) marks[i][static_cast<std::size_t>(x) / 2] = true;
    const bool is_drawn = std::isfinite(point.value) && (!options.log || point.value > 0);
    if (is_drawn) {
      const Dot dot{x, dot_row(scale, point.value, options.rows)};
      canvas.line(has_before ? before : dot, dot);
      before = dot;
    }
    has_before = is_drawn;
  }

  std::vector<std::string> lines;
  const auto add_marked = [&](bool above) {
    for (std::size_t i = 0; i < marked.size(); ++i) {
      if ((marked[i].is == is_above) != above) continue;
      std::string line = right_aligned(marked[i].label, label_width) + marked[i].axis;
      for (const bool is_marked : marks[i]) line += is_marked ? marked[i].mark : " ";
      lines.push_back(std::move(line));
    }
  };
  add_marked(true);
  for (std::size_t row = 0; row < options.rows && !scale.is_empty(); ++row)
    lines.push_back(right_aligned(labels[row], label_width) + (labels[row].empty() ? " │" : " ┤") +
                    canvas.row(row));
  add_marked(false);
  for (std::string& line : axis.lines(label_width + kAxis)) lines.push_back(std::move(line));
  for (std::string& line : lines) line = without_trailing_blanks(std::move(line));
  return lines;
}

}  // namespace cupel::command_detail
