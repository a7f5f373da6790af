#include "broadcast.h"

#include <algorithm>
#include <cstring>

namespace cupel::scripting_detail {

std::optional<Shape> common_shape(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, Shape::kMaxRank> extents{};
  for (std::size_t back = 1; back <= rank; ++back) {
    const std::int64_t of_a = back <= a.rank() ? a[a.rank() - back] : 1;
    const std::int64_t of_b = back <= b.rank() ? b[b.rank() - back] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
    extents[rank - back] = of_a == 1 ? of_b : of_a;
  }
  return Shape(std::span<const std::int64_t>(extents.data(), rank));
}

Broadcast::Broadcast(const Operand& operand, const Shape& shape) {
  if (!operand.array() || operand.array()->elements() == 1) {
    buffer_.fill(operand.array() ? operand.array()->at(0) : operand.number());
    return;
  }
  array_ = &*operand.array();
  // An empty shape is never read.
  if (array_->elements() == shape.elements() || shape.elements() == 0) {
    kind_ = array_->dtype() == DType::F64 ? Kind::InPlace : Kind::Widened;
    return;
  }
  kind_ = Kind::Broadcast;
  const Shape& own = array_->shape();
  const std::size_t missing = shape.rank() - own.rank();
  std::int64_t elements = array_->elements();
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool stretched = axis < missing || own[axis - missing] == 1;
    if (!stretched) elements /= shape[axis];
    const std::int64_t step = stretched ? 0 : elements;
    Axis* const outer = rank_ > 0 ? &axes_[rank_ - 1] : nullptr;
    if (outer != nullptr && outer->step == step * shape[axis]) {
      outer->extent *= shape[axis];
      outer->step = step;
    } else {
      axes_[rank_++] = {shape[axis], step, 0};
    }
  }
}

const double* Broadcast::next(std::int64_t count) noexcept {
  switch (kind_) {
    case Kind::Number:
      break;
    case Kind::InPlace:
      at_ += count;
      return reinterpret_cast<const double*>(array_->data()) + at_ - count;
    case Kind::Widened:
      widen(*array_, at_, count, buffer_.data());
      at_ += count;
      break;
    case Kind::Broadcast:
      gather(count);
  }
  return buffer_.data();
}

void Broadcast::gather(std::int64_t count) noexcept {
  Axis& inner = axes_[rank_ - 1];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t now = std::min(count - done, inner.extent - inner.index);
    // The step of the innermost axis is 1, or 0.
    if (inner.step == 0)
      std::fill_n(buffer_.data() + done, now, array_->at(at_));
    else
      widen(*array_, at_, now, buffer_.data() + done);
    done += now;
    inner.index += now;
    at_ += now * inner.step;
    for (std::size_t axis = rank_; axis-- > 0 && axes_[axis].index == axes_[axis].extent;) {
      at_ -= axes_[axis].extent * axes_[axis].step;
      axes_[axis].index = 0;
      if (axis == 0) break;
      ++axes_[axis - 1].index;
      at_ += axes_[axis - 1].step;
    }
  }
}

}  // namespace cupel::scripting_detail
