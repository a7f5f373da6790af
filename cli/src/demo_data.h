#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace cupel::demo {

/// Random numbers that are the same with every standard library: the engine is specified to the
/// bit, the library's distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform();                     ///< A number in [0, 1).
  double normal();                      ///< A number of mean 0 and standard deviation 1.
  std::size_t index(std::size_t size);  ///< A number in [0, size).

 private:
  std::mt19937_64 engine_;
};

/// Points of the plane, each in one of three classes.
struct Examples {
  static constexpr std::size_t kInputs = 2;
  static constexpr std::size_t kClasses = 3;

  std::vector<float> inputs;  ///< x and y of each example.
  std::vector<std::size_t> classes;

  std::size_t size() const noexcept { return classes.size(); }
  void add(std::span<const float> point, std::size_t its_class);
};

/// Draws points from three intertwined spiral arms, a whole turn each, blurred by noise. No
/// straight line separates the classes: a linear model classifies two fifths of the points
/// correctly.
Examples make_spirals(std::size_t size, Random& random);

/// Draws a batch of the examples, with replacement.
Examples draw_batch(const Examples& examples, std::size_t size, Random& random);

}  // namespace cupel::demo
