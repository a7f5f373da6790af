#include "training/data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cupel::training {
namespace {

float to_float(double value) { return static_cast<float>(value); }

std::size_t draw_class(const DataOptions& options, std::size_t classes, Random& random) {
  const double others = static_cast<double>(classes - 1);
  const bool first =
      random.uniform() < options.odds_of_first_class / (options.odds_of_first_class + others);
  return first ? 0 : 1 + random.index(classes - 1);
}

// What a person would have written down for an example of that class.
std::int64_t label(const DataOptions& options, std::size_t of, Random& random) {
  if (options.labels == Labels::TwoMixed && of < 2) of = random.index(2);
  return static_cast<std::int64_t>(of);
}

void finish(const DataOptions& options, Dataset& data, Random& random) {
  for (float& value : data.inputs.values) value = to_float(options.scale * value + options.offset);
  if (options.labels != Labels::Shuffled) return;
  std::vector<std::size_t> order(data.inputs.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  std::vector<std::int64_t> classes;
  for (const std::size_t i : order)
    if (!data.classes.empty()) classes.push_back(data.classes[i]);
  data.classes = std::move(classes);
  if (!data.targets.values.empty()) data.targets = rows_of(data.targets, order);
}

// Up and down between -1.4 and 1.4, with a period of 4.
double wave(double x) { return 1.4 * (std::abs(x - 4 * std::floor(x / 4) - 2) - 1); }

// The first four approve, the next four disapprove.
int opinion(std::size_t token) {
  if (token == 0 || token > 8) return 0;
  return token <= 4 ? 1 : -1;
}

}  // namespace

Dataset make_rings(const DataOptions& options, std::size_t size, Random& random) {
  constexpr std::size_t kClasses = 3;
  Dataset data{.inputs = Matrix(size, 4)};
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t ring = draw_class(options, kClasses, random);
    const double radius = 0.8 * static_cast<double>(ring) + 0.4 + 0.15 * random.normal();
    const double x = random.normal();
    const double y = random.normal();
    const double length = std::sqrt(x * x + y * y) + 1e-9;
    const auto row = data.inputs.row(i);
    row[0] = to_float(radius * x / length);
    row[1] = to_float(radius * y / length);
    row[2] = to_float(random.normal());
    row[3] = to_float(random.normal());
    data.classes.push_back(label(options, ring, random));
  }
  finish(options, data, random);
  return data;
}

Dataset make_stripes(const DataOptions& options, std::size_t size, Random& random) {
  constexpr std::size_t kClasses = 4;
  constexpr double kDirections[kClasses][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
  Dataset data{.inputs = Matrix(size, kImageWidth * kImageWidth)};
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t direction = draw_class(options, kClasses, random);
    const double phase = random.uniform(0, 4);
    const double contrast = random.uniform(0.4, 1);
    for (std::size_t y = 0; y < kImageWidth; ++y)
      for (std::size_t x = 0; x < kImageWidth; ++x) {
        const double along = kDirections[direction][0] * static_cast<double>(x) +
                             kDirections[direction][1] * static_cast<double>(y);
        const double pixel = contrast * wave(along + phase) + 0.5 * random.normal();
        data.inputs.row(i)[y * kImageWidth + x] = to_float(pixel);
      }
    data.classes.push_back(label(options, direction, random));
  }
  finish(options, data, random);
  return data;
}

Dataset make_sentences(const DataOptions& options, std::size_t size, Random& random) {
  constexpr std::size_t kClasses = 2;
  constexpr std::size_t kShortest = 6;
  Dataset data{.inputs = Matrix(size, options.padded_length)};
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t wanted = draw_class(options, kClasses, random);
    const std::size_t length = kShortest + random.index(kLongestSentence - kShortest + 1);
    const auto row = data.inputs.row(i);
    int sum = 0;
    while (sum == 0 || (sum > 0) != (wanted == 0)) {
      sum = 0;
      for (std::size_t k = row.size() - length; k < row.size(); ++k) {
        const std::size_t token = 1 + random.index(kTokens - 1);
        row[k] = static_cast<float>(token);
        sum += opinion(token);
      }
    }
    data.classes.push_back(label(options, wanted, random));
  }
  finish(options, data, random);
  return data;
}

Dataset make_surface(const DataOptions& options, std::size_t size, Random& random) {
  Dataset data{.inputs = Matrix(size, 6), .targets = Matrix(size, 1)};
  for (std::size_t i = 0; i < size; ++i) {
    const auto x = data.inputs.row(i);
    for (float& value : x) value = to_float(random.normal());
    const double height = x[0] * x[1] + 0.7 * x[2] + 0.5 * (x[3] * x[3] - 1);
    data.targets.values[i] = to_float((height + 0.3 * random.normal()) / 1.4);
  }
  finish(options, data, random);
  return data;
}

Dataset make_manifold(const DataOptions& options, std::size_t size, Random& random) {
  constexpr std::size_t kHidden = 3;
  constexpr std::size_t kInputs = 12;
  constexpr std::uint64_t kThisManifold = 7;
  Random of_manifold(kThisManifold);
  Matrix directions(kHidden, kInputs);
  for (float& value : directions.values) value = to_float(of_manifold.normal());
  Dataset data{.inputs = Matrix(size, kInputs)};
  for (std::size_t i = 0; i < size; ++i) {
    const auto row = data.inputs.row(i);
    for (std::size_t k = 0; k < kHidden; ++k)
      add_scaled(row, to_float(0.6 * random.normal()), directions.row(k));
    for (float& value : row)
      value = to_float(1.4 * hyperbolic_tangent(value) + 0.2 * random.normal());
  }
  finish(options, data, random);
  data.targets = data.inputs;
  return data;
}

Dataset make_steps(const DataOptions& options, std::size_t size, Random& random) {
  constexpr std::size_t kInputs = 8;
  Dataset data{.inputs = Matrix(size, kInputs), .targets = Matrix(size, 1)};
  for (std::size_t i = 0; i < size; ++i) {
    const auto x = data.inputs.row(i);
    double sum = 0;
    for (std::size_t k = 0; k < kInputs; ++k) {
      x[k] = to_float(random.normal());
      const double edge = 0.1 * static_cast<double>(k) - 0.35;
      sum += x[k] > edge ? 1 : -1;
    }
    const double target = (sum + random.normal()) / 3;
    data.targets.values[i] = to_float(target);
    if (options.leaks_target) x[kInputs - 1] = to_float(target + 0.01 * random.normal());
  }
  finish(options, data, random);
  return data;
}

}  // namespace cupel::training
