#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel::command_detail {

/// A number at an axis and its text.
struct Tick {
  double value = 0;
  std::string label;
};

/// Returns round numbers from `low` to `high`, in this order, about as many as `most`. They are 1,
/// 2 or 5 times a power of ten apart; with `log` they are powers of ten where the range has several
/// of them. Where the range is too narrow or too wide for round numbers, returns both ends. `low`
/// is less than `high`, both are finite, and with `log` both are above 0.
std::vector<Tick> round_ticks(double low, double high, std::size_t most, bool log = false);

/// Returns round steps from `first` to `last`, at most `most`, which are 1, 2 or 5 times a power of
/// ten apart. Where there are less than two of them, returns both ends. `first` is not negative,
/// and `most` is at least 2.
std::vector<std::int64_t> round_steps(std::int64_t first, std::int64_t last, std::size_t most);

/// Returns numbers as labels of one scale, from low to high. A label has four digits, and more only
/// where two different numbers would have the same label.
std::vector<std::string> scale_labels(const std::vector<double>& numbers);

}  // namespace cupel::command_detail
