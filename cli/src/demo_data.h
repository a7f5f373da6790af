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

  double uniform();                     ///< In [0, 1).
  double normal();                      ///< Mean 0, standard deviation 1.
  std::size_t index(std::size_t size);  ///< In [0, size).

 private:
  std::mt19937_64 engine_;
};

/// Points of the plane, each of one of three classes.
struct Examples {
  static constexpr std::size_t kInputs = 2;
  static constexpr std::size_t kClasses = 3;

  std::vector<float> inputs;  ///< x and y of each example.
  std::vector<std::size_t> classes;

  std::size_t size() const noexcept { return classes.size(); }
  void add(std::span<const float> point, std::size_t its_class);
};

/// Draws points from three intertwined spiral arms, a whole turn each, blurred by noise. No
/// straight line separates them: a linear model gets two fifths of them right.
Examples make_spirals(std::size_t size, Random& random);

/// Draws a batch, with replacement.
Examples draw_batch(const Examples& examples, std::size_t size, Random& random);

}  // namespace cupel::demo
