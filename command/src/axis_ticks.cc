// Chooses the numbers at an axis. Ticks are multiples of a distance, which is the least of 1, 2, 5,
// 10, 20 … (and of their fractions) that gives few enough ticks. All functions are pure; nothing
// fails.

#include "axis_ticks.h"

#include <algorithm>
#include <cmath>

#include "cupel/core/number_text.h"

namespace cupel::command_detail {
namespace {

constexpr int kFewestDigits = 4;
constexpr int kMostDigits = 17;

// Returns the multiples of `distance` in a range. Whole numbers are exact as doubles.
std::vector<double> multiples(double low, double high, double distance) {
  // The error of a division.
  constexpr double kSlack = 1e-9;
  const double first = std::ceil(low / distance - kSlack);
  const double last = std::floor(high / distance + kSlack);
  std::vector<double> numbers;
  for (double i = first; i <= last; ++i) numbers.push_back(i == 0 ? 0 : i * distance);
  return numbers;
}

// Returns a text with as many digits as the tick needs, and as make neighbours different.
std::vector<Tick> labelled(const std::vector<double>& numbers, double distance) {
  const double greatest = std::max(std::abs(numbers.front()), std::abs(numbers.back()));
  const int digits =
      1 + static_cast<int>(std::floor(std::log10(greatest)) - std::floor(std::log10(distance)));
  std::vector<Tick> ticks;
  for (const double number : numbers)
    ticks.push_back({number, rounded_text(number, std::clamp(digits, kFewestDigits, kMostDigits))});
  return ticks;
}

std::vector<Tick> linear_ticks(double low, double high, std::size_t most) {
  // Computed from half the range, which does not overflow.
  const double half = high / 2 - low / 2;
  constexpr double kLeastHalf = 1e-300;
  constexpr double kLeastShare =
      1e-12;  // of the numbers; a smaller range has too few digits of a double
  if (half < kLeastHalf || half < kLeastShare * std::max(std::abs(low), std::abs(high))) return {};
  std::vector<Tick> ticks;
  for (double power = std::pow(10, std::floor(std::log10(half)) - 1);; power *= 10) {
    for (const double times : {1, 2, 5}) {
      const double distance = times * power;
      if (half / distance * 2 > static_cast<double>(most) + 2) continue;
      const std::vector<double> numbers = multiples(low, high, distance);
      // A few ticks too many are better than one tick.
      if (numbers.size() < 2) return ticks;
      ticks = labelled(numbers, distance);
      if (numbers.size() <= most) return ticks;
    }
  }
}

std::vector<Tick> logarithmic_ticks(double low, double high, std::size_t most) {
  const double first = std::ceil(std::log10(low) - 1e-9);
  const double last = std::floor(std::log10(high) + 1e-9);
  if (last - first < 1) return {};
  std::vector<Tick> ticks;
  const double every = std::ceil((last - first + 1) / static_cast<double>(most));
  for (double exponent = std::ceil(first / every) * every; exponent <= last; exponent += every)
    ticks.push_back({std::clamp(std::pow(10, exponent), low, high),
                     rounded_text(std::pow(10, exponent), kFewestDigits)});
  return ticks;
}

}  // namespace

std::vector<Tick> round_ticks(double low, double high, std::size_t most, bool log) {
  std::vector<Tick> ticks;
  if (log) ticks = logarithmic_ticks(low, high, most);
  if (ticks.size() < 2) ticks = linear_ticks(low, high, most);
  if (ticks.size() >= 2) return ticks;
  const std::vector<std::string> ends = scale_labels({low, high});
  return {{low, ends[0]}, {high, ends[1]}};
}

std::vector<std::int64_t> round_steps(std::int64_t first, std::int64_t last, std::size_t most) {
  const auto gaps = static_cast<std::int64_t>(most - 1);
  const std::int64_t between = (last - first) / gaps + ((last - first) % gaps > 0 ? 1 : 0);
  std::int64_t distance = 1;
  for (int i = 0; distance < between; ++i) {
    // 1, 2, 5, 10: times 2, 2.5 and 2.
    const bool fits = i % 3 == 1 ? !__builtin_mul_overflow(distance / 2, std::int64_t{5}, &distance)
                                 : !__builtin_mul_overflow(distance, std::int64_t{2}, &distance);
    if (!fits) return {first, last};
  }
  std::vector<std::int64_t> steps;
  const std::int64_t before = first % distance;
  std::int64_t beyond = before > 0 ? distance - before : 0;  // the first step
  for (; beyond <= last - first; beyond += distance) {
    steps.push_back(first + beyond);
    if (last - steps.back() < distance) break;
  }
  if (steps.size() < 2 && first < last) return {first, last};
  return steps.empty() ? std::vector{first} : steps;
}

std::vector<std::string> scale_labels(const std::vector<double>& numbers) {
  std::vector<std::string> labels;
  for (int digits = kFewestDigits; digits <= kMostDigits; ++digits) {
    labels.clear();
    bool told_apart = true;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      labels.push_back(rounded_text(numbers[i], digits));
      if (i > 0 && numbers[i] != numbers[i - 1] && labels[i] == labels[i - 1]) told_apart = false;
    }
    if (told_apart) break;
  }
  return labels;
}

}  // namespace cupel::command_detail
