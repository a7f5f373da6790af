#pragma once

#include <cstdint>
#include <optional>

#include "array.h"

namespace cupel::scripting_detail {

enum class Unary : std::uint8_t { Negative, Abs, Sqrt, Exp, Log, Sign, Floor };
enum class Binary : std::uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,  ///< As Lua's %: of the divisor's sign.
  Power,
  Minimum,  ///< NaN if either is.
  Maximum
};
enum class Comparison : std::uint8_t { Lt, Le, Gt, Ge, Eq, Ne };
enum class Logic : std::uint8_t { And, Or, ExclusiveOr };
enum class Test : std::uint8_t { IsNan, IsInf, IsFinite };

/// a == b, or |a - b| <= absolute + relative * |b| of finite ones, or, with equal_nan, both NaN.
struct Closeness {
  double relative = 1e-5;
  double absolute = 1e-8;
  bool equal_nan = false;
};

/// A numeric array, or a number, to be stretched to a shape.
class Operand {
 public:
  explicit Operand(Array array) : array_(std::move(array)) {}
  explicit Operand(double number) : number_(number) {}
  Shape shape() const { return array_ ? array_->shape() : Shape{}; }
  const std::optional<Array>& array() const noexcept { return array_; }
  double number() const noexcept { return number_; }

 private:
  std::optional<Array> array_;
  double number_ = 0;
};

/// The shape to which both stretch as NumPy does: axes count from the last, and those of extent 1
/// or missing take the other's extent. Nothing if they do not fit.
std::optional<Shape> common_shape(const Shape& a, const Shape& b);

// Arithmetic is in double, and yields f64; comparisons and tests yield bool arrays. Operands of two
// have a common shape.
Array apply(Budget& budget, Unary operation, const Array& a);
Array apply(Budget& budget, Binary operation, const Operand& a, const Operand& b);
Array apply(Budget& budget, Comparison comparison, const Operand& a, const Operand& b);
Array apply(Budget& budget, Test test, const Array& a);
Array is_close(Budget& budget, const Operand& a, const Operand& b, const Closeness& closeness);
/// Stops at the first elements that are not close.
bool all_close(Budget& budget, const Operand& a, const Operand& b, const Closeness& closeness);
Array clip(Budget& budget, const Array& a, double least, double most);
/// Of bool arrays.
Array apply(Budget& budget, Logic operation, const Array& a, const Array& b);
Array invert(Budget& budget, const Array& a);
/// Which elements of a text array are this text.
Array is_text(Budget& budget, const Array& a, std::string_view text, bool invert);
/// Which texts are those of the other, which has the same shape.
Array is_text(Budget& budget, const Array& a, const Array& b, bool invert);

/// The sum of the products of elements, each factor first divided by a scale.
double dot(Budget& budget, const Array& a, const Array& b, double scale_a = 1, double scale_b = 1);

}  // namespace cupel::scripting_detail
