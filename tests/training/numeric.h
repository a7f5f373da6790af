#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

namespace cupel::training {

/// Random numbers that are the same with every standard library: the engine is specified to the
/// bit, the library's distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }  ///< In [0, 1).
  double uniform(double from, double to) { return from + (to - from) * uniform(); }
  double normal();  ///< Mean 0, standard deviation 1, never beyond 6.
  std::size_t index(std::size_t size) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(size));
  }
  void shuffle(std::span<std::size_t> values);

 private:
  std::mt19937_64 engine_;
};

// The C library's functions may differ in the last bit from machine to machine, and training makes
// much of a bit. These are sums and products only, so that a run is the same everywhere.
double exponential(double x);
double logarithm(double x);
double hyperbolic_tangent(double x);
double sigmoid(double x);

}  // namespace cupel::training
