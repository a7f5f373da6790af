#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel {

/// A number of an axis and its text.
struct Tick {
  double value = 0;
  std::string label;
};

/// Round numbers from `low` to `high`, in this order, about as many as `most`: 1, 2 or 5 times a
/// power of ten apart; with `log`, powers of ten where the range has several of them. Both ends,
/// where the range is too narrow, or too wide, for round numbers. `low` is less than `high`, both
/// are finite, and with `log` above 0.
std::vector<Tick> round_ticks(double low, double high, std::size_t most, bool log = false);

/// Round steps from `first` to `last`, at most `most`, 1, 2 or 5 times a power of ten apart; both
/// ends, where there are less than two of them. `first` is not negative, `most` at least 2.
std::vector<std::int64_t> round_steps(std::int64_t first, std::int64_t last, std::size_t most);

/// Numbers as labels of one scale, from low to high: four digits, and more only where two that
/// differ would look the same.
std::vector<std::string> scale_labels(const std::vector<double>& numbers);

}  // namespace cupel
