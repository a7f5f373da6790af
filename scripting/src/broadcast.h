#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "array_arithmetic.h"

namespace cupel::scripting_detail {

/// Reads the elements of an operand as doubles, in row-major order of a shape to which it is
/// stretched. Borrows the operand.
class Broadcast {
 public:
  Broadcast(const Operand& operand, const Shape& shape);
  /// The next elements, at most kElementsAtOnce; good until the next call.
  const double* next(std::int64_t count) noexcept;
  Cost cost() const noexcept { return kind_ == Kind::Broadcast ? Cost::Function : Cost::Simple; }

 private:
  enum class Kind : std::uint8_t { Number, InPlace, Widened, Broadcast };
  // Of the shape, where neighbours that are stretched alike are one.
  struct Axis {
    std::int64_t extent;
    std::int64_t step;  // in elements; 0 where the operand is stretched
    std::int64_t index;
  };
  void gather(std::int64_t count) noexcept;

  Kind kind_ = Kind::Number;
  const Array* array_ = nullptr;
  std::int64_t at_ = 0;
  std::array<Axis, Shape::kMaxRank> axes_;  // outer to inner
  std::size_t rank_ = 0;
  alignas(64) std::array<double, kElementsAtOnce> buffer_;
};

}  // namespace cupel::scripting_detail
