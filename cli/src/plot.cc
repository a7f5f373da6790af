#include "plot.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "text_width.h"

namespace cupel {
namespace {

std::string number_text(double number, int digits) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::general, digits)
                       .ptr;
  return {text.data(), end};
}

std::string repeated(const char* character, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += character;
  return text;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text_width(text)), ' ') + text;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Where a dot is: columns to the right, rows down.
struct Dot {
  std::int64_t x = 0, y = 0;
};

// Characters of two by four dots.
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
      // U+2800 and the bits, as UTF-8.
      text += '\xe2';
      text += static_cast<char>(0xa0U | bits >> 6U);
      text += static_cast<char>(0x80U | (bits & 0x3fU));
    }
    return text;
  }

 private:
  const std::size_t columns_;
  std::vector<std::uint8_t> cells_;
};

// The numbers from the lowest to the highest of the finite values, as shares of the height.
class Scale {
 public:
  Scale(const std::vector<PlotPoint>& points, bool log) : log_(log) {
    for (const PlotPoint& point : points) {
      if (!std::isfinite(point.value)) continue;
      low_ = std::min(low_, point.value);
      high_ = std::max(high_, point.value);
    }
  }

  bool is_empty() const { return low_ > high_; }
  bool is_constant() const { return low_ == high_; }
  double low() const { return low_; }
  double high() const { return high_; }

  double share(double value) const {
    return log_ ? share_between(std::log10(low_), std::log10(high_), std::log10(value))
                : share_between(low_, high_, value);
  }
  double value_at(double share) const {
    return log_ ? std::pow(10, std::log10(low_) * (1 - share) + std::log10(high_) * share)
                : low_ * (1 - share) + high_ * share;
  }

 private:
  const bool log_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

// What stands left of each row of the drawing: the highest, a middle and the lowest number.
std::vector<std::string> row_labels(const Scale& scale, std::size_t rows) {
  std::vector<std::string> labels(rows);
  if (scale.is_empty()) return labels;
  const std::size_t middle = rows / 2;
  if (scale.is_constant()) {
    labels[middle] = scale_labels({scale.low()}).front();
    return labels;
  }
  // The middle of its row, where the dots of that number are.
  const double share =
      1 - (4 * static_cast<double>(middle) + 1.5) / (4 * static_cast<double>(rows) - 1);
  const auto texts = scale_labels({scale.low(), scale.value_at(share), scale.high()});
  labels.back() = texts[0];
  labels[middle] = texts[1];
  labels.front() = texts[2];
  return labels;
}

// The kinds of values that no scale has a place for, each marked on a line of its own.
struct Special {
  const char* name;
  bool (*is)(double);
};
constexpr std::array<Special, 3> kSpecials = {
    {{"NaN", [](double value) { return std::isnan(value); }},
     {"inf", [](double value) { return std::isinf(value) && value > 0; }},
     {"-inf", [](double value) { return std::isinf(value) && value < 0; }}}};

// The first and the last step under the ends of the axis.
std::string step_labels(const std::vector<PlotPoint>& points, std::size_t columns) {
  const std::string first = std::to_string(points.front().step);
  if (points.front().step == points.back().step) return first;
  const std::string last = std::to_string(points.back().step);
  const std::size_t taken = first.size() + last.size();
  return first + std::string(taken < columns ? columns - taken : 1, ' ') + last;
}

}  // namespace

double share_between(double low, double high, double value) {
  if (low == high) return 0.5;
  const double range = high - low;
  if (std::isfinite(range)) return (value - low) / range;
  return (value / 2 - low / 2) / (high / 2 - low / 2);
}

std::vector<std::string> scale_labels(const std::vector<double>& numbers) {
  constexpr int kFewestDigits = 4;
  constexpr int kMostDigits = 17;
  std::vector<std::string> labels;
  for (int digits = kFewestDigits; digits <= kMostDigits; ++digits) {
    labels.clear();
    bool told_apart = true;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      labels.push_back(number_text(numbers[i], digits));
      if (i > 0 && numbers[i] != numbers[i - 1] && labels[i] == labels[i - 1]) told_apart = false;
    }
    if (told_apart) break;
  }
  return labels;
}

std::vector<std::string> plot(const std::vector<PlotPoint>& points, const PlotOptions& options) {
  if (points.empty()) return {};
  const Scale scale(points, options.log);
  const std::vector<std::string> labels = row_labels(scale, options.rows);
  std::vector<Special> specials;
  std::size_t label_width = 0;
  for (const std::string& label : labels) label_width = std::max(label_width, label.size());
  for (const Special& special : kSpecials) {
    const bool occurs = std::any_of(points.begin(), points.end(), [&](const PlotPoint& point) {
      return special.is(point.value);
    });
    if (!occurs) continue;
    specials.push_back(special);
    label_width = std::max(label_width, std::string(special.name).size());
  }
  constexpr std::size_t kAxis = 2;  // a blank and the axis
  const std::size_t columns = options.width - std::min(options.width - 1, label_width + kAxis);

  const auto first = static_cast<double>(points.front().step);
  const auto last = static_cast<double>(points.back().step);
  const auto x_of = [&](const PlotPoint& point) {
    if (first == last) return std::int64_t{0};
    const double share = share_between(first, last, static_cast<double>(point.step));
    return static_cast<std::int64_t>(std::lround(share * static_cast<double>(2 * columns - 1)));
  };
  const auto bottom = static_cast<double>(4 * options.rows - 1);
  Canvas canvas(columns, options.rows);
  std::vector<std::vector<bool>> marks(specials.size(), std::vector<bool>(columns));
  Dot before;
  bool goes_on = false;  // the line from the point before
  for (const PlotPoint& point : points) {
    const std::int64_t x = x_of(point);
    if (!std::isfinite(point.value)) {
      for (std::size_t i = 0; i < specials.size(); ++i)
        if (specials[i].is(point.value)) marks[i][static_cast<std::size_t>(x) / 2] = true;
      goes_on = false;
      continue;
    }
    const double share = std::clamp(scale.share(point.value), 0.0, 1.0);
    const Dot dot{x, static_cast<std::int64_t>(std::lround((1 - share) * bottom))};
    canvas.line(goes_on ? before : dot, dot);
    before = dot;
    goes_on = true;
  }

  std::vector<std::string> lines;
  if (!scale.is_empty())
    for (std::size_t row = 0; row < options.rows; ++row)
      lines.push_back(right_aligned(labels[row], label_width) +
                      (labels[row].empty() ? " │" : " ┤") + canvas.row(row));
  for (std::size_t i = 0; i < specials.size(); ++i) {
    std::string line = right_aligned(specials[i].name, label_width) + " │";
    for (const bool marked : marks[i]) line += marked ? "×" : " ";
    lines.push_back(std::move(line));
  }
  lines.push_back(std::string(label_width + 1, ' ') + "└" + repeated("─", columns));
  const std::string steps = step_labels(points, columns);
  const std::size_t indent =
      std::min(label_width + kAxis, options.width - std::min(options.width, steps.size()));
  lines.push_back(std::string(indent, ' ') + steps);
  for (std::string& line : lines) line = without_trailing_blanks(std::move(line));
  return lines;
}

}  // namespace cupel
