#include "training/numeric.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace cupel::training {
namespace {

constexpr double kLn2 = 0.693147180559945309417;

}  // namespace

double Random::normal() {
  // The sum of twelve uniform numbers is near enough to a normal one.
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

void Random::shuffle(std::span<std::size_t> values) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[index(i)]);
}

// e^x = 2^n e^r with |r| <= ln 2 / 2, where the power series needs few terms.
double exponential(double x) {
  if (std::isnan(x)) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -708) return 0;
  const double n = std::floor(x / kLn2 + 0.5);
  const double r = x - n * kLn2;
  double sum = 1;
  for (int k = 11; k > 0; --k) sum = 1 + sum * r / k;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023);
  return sum * std::bit_cast<double>(exponent << 52U);
}

// ln(m 2^n) = n ln 2 + 2 artanh((m - 1) / (m + 1)) with m in [0.5, 1).
double logarithm(double x) {
  if (!(x > 0) || std::isinf(x)) return x == 0 ? -std::numeric_limits<double>::infinity() : x;
  int n = 0;
  const double m = std::frexp(x, &n);
  const double z = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 31; k > 0; k -= 2) sum = 1.0 / k + sum * z * z;
  return n * kLn2 + 2 * z * sum;
}

double hyperbolic_tangent(double x) {
  const double e = exponential(-2 * std::abs(x));
  return std::copysign((1 - e) / (1 + e), x);
}

double sigmoid(double x) { return 1 / (1 + exponential(-x)); }

}  // namespace cupel::training
