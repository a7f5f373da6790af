#include "demo_data.h"

#include <array>
#include <cmath>
#include <numbers>

namespace cupel::demo {

double Random::uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }

double Random::normal() {
  // The sum of twelve uniform numbers is close enough to a normal one, and needs no library
  // function.
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

std::size_t Random::index(std::size_t size) {
  return static_cast<std::size_t>(uniform() * static_cast<double>(size));
}

void Examples::add(std::span<const float> point, std::size_t its_class) {
  inputs.insert(inputs.end(), point.begin(), point.end());
  classes.push_back(its_class);
}

Examples make_spirals(std::size_t size, Random& random) {
  constexpr double kRadius = 2;
  constexpr double kNoise = 0.1;
  Examples examples;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t arm = i % Examples::kClasses;
    const double along = 0.1 + 0.9 * random.uniform();
    const double turns = along + static_cast<double>(arm) / Examples::kClasses;
    const double angle = 2 * std::numbers::pi * turns;
    const double x = kRadius * along * std::cos(angle) + kNoise * random.normal();
    const double y = kRadius * along * std::sin(angle) + kNoise * random.normal();
    examples.add(std::array{static_cast<float>(x), static_cast<float>(y)}, arm);
  }
  return examples;
}

Examples draw_batch(const Examples& examples, std::size_t size, Random& random) {
  Examples batch;
  const std::span<const float> inputs = examples.inputs;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t drawn = random.index(examples.size());
    batch.add(inputs.subspan(drawn * Examples::kInputs, Examples::kInputs),
              examples.classes[drawn]);
  }
  return batch;
}

}  // namespace cupel::demo
