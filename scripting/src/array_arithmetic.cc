// Arithmetic of arrays, element by element, as NumPy does it.
//
// Operands are read as doubles, some hundred elements at a time, and are broadcast to the common
// shape while they are read. Results are f64 or bool arrays. The thread of the Lua state runs it;
// the budget throws where a limit is reached.

#include "array_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "array_text.h"
#include "broadcast.h"
#include "cupel/stats/statistics.h"

namespace cupel::scripting_detail {
namespace {

Cost dearest(Cost a, Cost b, Cost c = Cost::Simple) { return std::max({a, b, c}); }

// Calls work(elements of a, of b, begin, count) for some hundred at a time, until it returns false.
template <class F>
void for_each_pair(Budget& budget, const Operand& a, const Operand& b, const Shape& shape,
                   Cost cost, F&& work) {
  Broadcast of_a(a, shape);
  Broadcast of_b(b, shape);
  bool goes_on = true;
  for_each_piece(budget, shape.elements(), dearest(cost, of_a.cost(), of_b.cost()),
                 [&](std::int64_t begin, std::int64_t count) {
                   for (std::int64_t done = 0; done < count && goes_on;) {
                     const std::int64_t now = std::min(kElementsAtOnce, count - done);
                     const double* const some_of_a = of_a.next(now);
                     goes_on = work(some_of_a, of_b.next(now), begin + done, now);
                     done += now;
                   }
                   return goes_on;
                 });
}

template <class Out, class F>
Array combine(Budget& budget, const Operand& a, const Operand& b, DType dtype, Cost cost, F f) {
  const Shape shape = *common_shape(a.shape(), b.shape());
  const Array::Blank result = Array::make(budget, dtype, shape);
  for_each_pair(budget, a, b, shape, cost,
                [&](const double* x, const double* y, std::int64_t begin, std::int64_t count) {
                  Out* const out = result.as<Out>() + begin;
                  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(f(x[i], y[i]));
                  return true;
                });
  return result.array;
}

template <class F>
Array numbers(Budget& budget, const Operand& a, const Operand& b, Cost cost, F f) {
  return combine<double>(budget, a, b, DType::F64, cost, f);
}

template <class F>
Array mask(Budget& budget, const Operand& a, const Operand& b, F f) {
  return combine<std::uint8_t>(budget, a, b, DType::Bool, Cost::Simple, f);
}

template <class F>
Array numbers(Budget& budget, const Array& a, Cost cost, F f) {
  return numbers(budget, Operand(a), Operand(0), cost, [f](double x, double) { return f(x); });
}

double sign(double x) noexcept { return std::isnan(x) ? x : (x > 0 ? 1.0 : 0.0) - (x < 0); }

double modulo(double x, double y) noexcept {
  const double rest = std::fmod(x, y);
  return (rest < 0 && y > 0) || (rest > 0 && y < 0) ? rest + y : rest;
}

double least(double x, double y) noexcept { return std::isnan(x) || x < y ? x : y; }
double most(double x, double y) noexcept { return std::isnan(x) || x > y ? x : y; }

bool close(double a, double b, const Closeness& closeness) noexcept {
  if (a == b) return true;
  if (std::isnan(a) || std::isnan(b)) return closeness.equal_nan && std::isnan(a) && std::isnan(b);
  return std::isfinite(a) && std::isfinite(b) &&
         std::abs(a - b) <= closeness.absolute + closeness.relative * std::abs(b);
}

// A bool array of the results of f for each index.
template <class F>
Array flags(Budget& budget, const Shape& shape, Cost cost, F f) {
  const Array::Blank result = Array::make(budget, DType::Bool, shape);
  for_each_piece(budget, shape.elements(), cost, [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = begin; i < begin + count; ++i)
      result.data[i] = static_cast<std::byte>(f(i));
  });
  return result.array;
}

// Of bool operands, whose bytes are combined.
template <class F>
Array combine_flags(Budget& budget, const Array& a, const Array& b, F f) {
  if (a.shape() != b.shape())
    return mask(budget, Operand(a), Operand(b),
                [f](double x, double y) { return f(x != 0, y != 0) != 0; });
  const auto* const of_a = reinterpret_cast<const std::uint8_t*>(a.data());
  const auto* const of_b = reinterpret_cast<const std::uint8_t*>(b.data());
  return flags(budget, a.shape(), Cost::Simple,
               [=](std::int64_t i) { return static_cast<std::uint8_t>(f(of_a[i], of_b[i])); });
}

}  // namespace

Array apply(Budget& budget, Unary operation, const Array& a) {
  switch (operation) {
    case Unary::Negative:
      return numbers(budget, a, Cost::Simple, [](double x) { return -x; });
    case Unary::Abs:
      return numbers(budget, a, Cost::Simple, [](double x) { return std::abs(x); });
    case Unary::Sqrt:
      return numbers(budget, a, Cost::Single, [](double x) { return std::sqrt(x); });
    case Unary::Exp:
      return numbers(budget, a, Cost::Function, [](double x) { return std::exp(x); });
    case Unary::Log:
      return numbers(budget, a, Cost::Function, [](double x) { return std::log(x); });
    case Unary::Sign:
      return numbers(budget, a, Cost::Simple, sign);
    case Unary::Floor:
      break;
  }
  return numbers(budget, a, Cost::Single, [](double x) { return std::floor(x); });
}

Array apply(Budget& budget, Binary operation, const Operand& a, const Operand& b) {
  switch (operation) {
    case Binary::Add:
      return numbers(budget, a, b, Cost::Simple, std::plus<>());
    case Binary::Subtract:
      return numbers(budget, a, b, Cost::Simple, std::minus<>());
    case Binary::Multiply:
      return numbers(budget, a, b, Cost::Simple, std::multiplies<>());
    case Binary::Divide:
      return numbers(budget, a, b, Cost::Simple, std::divides<>());
    case Binary::FloorDivide:
      return numbers(budget, a, b, Cost::Single,
                     [](double x, double y) { return std::floor(x / y); });
    case Binary::Modulo:
      return numbers(budget, a, b, Cost::Long, modulo);
    case Binary::Power:
      if (!b.array() && b.number() == 2)
        return numbers(budget, a, b, Cost::Simple, [](double x, double) { return x * x; });
      return numbers(budget, a, b, Cost::Function,
                     [](double x, double y) { return std::pow(x, y); });
    case Binary::Minimum:
      return numbers(budget, a, b, Cost::Simple, least);
    case Binary::Maximum:
      break;
  }
  return numbers(budget, a, b, Cost::Simple, most);
}

Array apply(Budget& budget, Comparison comparison, const Operand& a, const Operand& b) {
  switch (comparison) {
    case Comparison::Lt:
      return mask(budget, a, b, std::less<>());
    case Comparison::Le:
      return mask(budget, a, b, std::less_equal<>());
    case Comparison::Gt:
      return mask(budget, a, b, std::greater<>());
    case Comparison::Ge:
      return mask(budget, a, b, std::greater_equal<>());
    case Comparison::Eq:
      return mask(budget, a, b, std::equal_to<>());
    case Comparison::Ne:
      break;
  }
  return mask(budget, a, b, std::not_equal_to<>());
}

Array apply(Budget& budget, Test test, const Array& a) {
  switch (test) {
    case Test::IsNan:
      return mask(budget, Operand(a), Operand(0), [](double x, double) { return std::isnan(x); });
    case Test::IsInf:
      return mask(budget, Operand(a), Operand(0), [](double x, double) { return std::isinf(x); });
    case Test::IsFinite:
      break;
  }
  return mask(budget, Operand(a), Operand(0), [](double x, double) { return std::isfinite(x); });
}

Array is_close(Budget& budget, const Operand& a, const Operand& b, const Closeness& closeness) {
  return combine<std::uint8_t>(budget, a, b, DType::Bool, Cost::Single,
                               [closeness](double x, double y) { return close(x, y, closeness); });
}

bool all_close(Budget& budget, const Operand& a, const Operand& b, const Closeness& closeness) {
  const Shape shape = *common_shape(a.shape(), b.shape());
  bool all = true;
  for_each_pair(budget, a, b, shape, Cost::Single,
                [&](const double* x, const double* y, std::int64_t, std::int64_t count) {
                  for (std::int64_t i = 0; i < count && all; ++i)
                    all = close(x[i], y[i], closeness);
                  return all;
                });
  return all;
}

Array clip(Budget& budget, const Array& a, double lower, double upper) {
  return numbers(budget, a, Cost::Simple, [=](double x) {
    return x < lower ? lower : x > upper ? upper : x;
  });
}

Array apply(Budget& budget, Logic operation, const Array& a, const Array& b) {
  switch (operation) {
    case Logic::And:
      return combine_flags(budget, a, b, [](auto x, auto y) { return x & y; });
    case Logic::Or:
      return combine_flags(budget, a, b, [](auto x, auto y) { return x | y; });
    case Logic::ExclusiveOr:
      break;
  }
  return combine_flags(budget, a, b, [](auto x, auto y) { return x ^ y; });
}

Array invert(Budget& budget, const Array& a) {
  return flags(budget, a.shape(), Cost::Simple,
               [data = a.data()](std::int64_t i) { return data[i] == std::byte{0}; });
}

Array is_text(Budget& budget, const Array& a, std::string_view text, bool invert) {
  TextEquality same(budget);
  return flags(budget, a.shape(), Cost::Function,
               [&](std::int64_t i) { return same(a.text_at(i), text) != invert; });
}

Array is_text(Budget& budget, const Array& a, const Array& b, bool invert) {
  TextEquality same(budget);
  return flags(budget, a.shape(), Cost::Function,
               [&](std::int64_t i) { return same(a.text_at(i), b.text_at(i)) != invert; });
}

double dot(Budget& budget, const Array& a, const Array& b, double scale_a, double scale_b) {
  static_assert(kElementsAtOnce * 2 == StatisticsAccumulator::kBlockElements);
  StatisticsAccumulator products(DType::F64);
  std::array<double, StatisticsAccumulator::kBlockElements> block;
  const bool scaled = scale_a != 1 || scale_b != 1;
  for_each_pair(budget, Operand(a), Operand(b), a.shape(), Cost::Single,
                [&](const double* x, const double* y, std::int64_t begin, std::int64_t count) {
                  const std::int64_t place = begin / kElementsAtOnce % 2 * kElementsAtOnce;
                  double* const out = block.data() + place;
                  for (std::int64_t i = 0; i < count; ++i)
                    out[i] = scaled ? (x[i] / scale_a) * (y[i] / scale_b) : x[i] * y[i];
                  if (place > 0 || begin + count == a.elements())
                    products.add(block.data(), static_cast<std::size_t>(place + count));
                  return true;
                });
  return products.finish().sum;
}

}  // namespace cupel::scripting_detail
