#include "pieces.h"

#include <cstring>

namespace cupel::stats_detail {
namespace {

template <std::size_t kSize>
void gather(std::byte* out, const std::byte* in, std::int64_t count, std::int64_t step) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out, in, kSize);
    out += kSize;
    in += step;
  }
}

void copy_run(std::byte* out, const std::byte* in, std::int64_t count, std::int64_t step,
              std::int64_t size) noexcept {
  if (step == size) {
    std::memcpy(out, in, static_cast<std::size_t>(count * size));
  } else if (size == 1) {
    gather<1>(out, in, count, step);
  } else if (size == 2) {
    gather<2>(out, in, count, step);
  } else if (size == 4) {
    gather<4>(out, in, count, step);
  } else {
    gather<8>(out, in, count, step);
  }
}

}  // namespace

StridedReader::StridedReader(const TensorView& view) noexcept
    : next_(static_cast<const std::byte*>(view.data())),
      element_size_(static_cast<std::int64_t>(element_size(view.dtype()))),
      left_(view.elements()) {
  if (left_ <= 0) return;
  for (std::size_t i = 0; i < view.shape().rank(); ++i) {
    const std::int64_t extent = view.shape()[i];
    if (extent == 1) continue;
    const std::int64_t step = view.strides()[i] * element_size_;
    if (rank_ > 0 && axes_[rank_ - 1].step == extent * step) {
      axes_[rank_ - 1].extent *= extent;
      axes_[rank_ - 1].step = step;
    } else {
      axes_[rank_++] = {extent, step, 0};
    }
  }
  if (rank_ == 0) axes_[rank_++] = {1, element_size_, 0};
}

std::size_t StridedReader::read(std::byte* out, std::size_t capacity) noexcept {
  std::int64_t room = std::min(static_cast<std::int64_t>(capacity), left_);
  const std::int64_t count = room;
  left_ -= count;
  while (room > 0) {
    Axis& inner = axes_[rank_ - 1];
    const std::int64_t run = std::min(room, inner.extent - inner.index);
    copy_run(out, next_, run, inner.step, element_size_);
    out += run * element_size_;
    next_ += run * inner.step;
    inner.index += run;
    room -= run;
    if (inner.index == inner.extent) next_run();
  }
  return static_cast<std::size_t>(count);
}

void StridedReader::next_run() noexcept {
  for (std::size_t i = rank_; i-- > 0;) {
    Axis& axis = axes_[i];
    if (axis.index < axis.extent) return;
    next_ -= axis.extent * axis.step;
    axis.index = 0;
    if (i == 0) return;
    ++axes_[i - 1].index;
    next_ += axes_[i - 1].step;
  }
}

}  // namespace cupel::stats_detail
