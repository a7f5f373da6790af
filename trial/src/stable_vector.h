#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

namespace cupel::trial_detail {

/// A sequence that only grows and whose elements never move.
///
/// One thread appends. Other threads read elements below a size that they got from that thread
/// through a mutex or an atomic; size() itself belongs to the thread that appends.
template <class T>
class StableVector {
 public:
  std::size_t size() const noexcept { return size_; }

  T& push_back(T element) {
    T& slot = next();
    slot = std::move(element);
    return slot;
  }

  /// Appends a default-constructed element, for types that cannot be assigned.
  T& next() {
    const auto [chunk, at] = place(size_);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<T[]>(kFirst << chunk);
    ++size_;
    return chunks_[chunk][at];
  }

  const T& operator[](std::size_t index) const noexcept {
    const auto [chunk, at] = place(index);
    return chunks_[chunk][at];
  }
  T& operator[](std::size_t index) noexcept {
    const auto [chunk, at] = place(index);
    return chunks_[chunk][at];
  }

 private:
  // Chunk k holds kFirst * 2^k elements, so that the table of chunks never grows.
  static constexpr std::size_t kFirst = 16;
  static constexpr std::size_t kChunks = 44;

  static std::pair<std::size_t, std::size_t> place(std::size_t index) noexcept {
    const std::size_t shifted = index + kFirst;
    const auto chunk = static_cast<std::size_t>(std::countl_zero(kFirst)) -
                       static_cast<std::size_t>(std::countl_zero(shifted));
    return {chunk, shifted - (kFirst << chunk)};
  }

  std::array<std::unique_ptr<T[]>, kChunks> chunks_;
  std::size_t size_ = 0;
};

}  // namespace cupel::trial_detail
