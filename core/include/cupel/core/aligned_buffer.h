#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace cupel {

/// Owned bytes that begin at a multiple of 64, uninitialised when made. Move-only.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() noexcept = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : block_(std::move(other.block_)),
        bytes_(std::exchange(other.bytes_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    block_ = std::move(other.block_);
    bytes_ = std::exchange(other.bytes_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  explicit AlignedBuffer(std::size_t size) : size_(size), capacity_(size) {
    if (size == 0) return;
    if (size > std::numeric_limits<std::size_t>::max() - kAlignment) throw std::bad_alloc();
    // The C library does not use a freed aligned block for another of the same size: with large
    // blocks that come and go, the process would hold many times the memory that is in use.
    std::size_t room = size + kAlignment;
    block_ = std::make_unique_for_overwrite<std::byte[]>(room);
    void* begin = block_.get();
    bytes_ = static_cast<std::byte*>(std::align(kAlignment, size, begin, room));
  }

  std::byte* data() noexcept { return bytes_; }
  const std::byte* data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> span() noexcept { return {data(), size_}; }
  std::span<const std::byte> span() const noexcept { return {data(), size_}; }
  /// Changes the size, up to the size with which the buffer was made.
  void resize(std::size_t size) noexcept { size_ = size < capacity_ ? size : capacity_; }

 private:
  std::unique_ptr<std::byte[]> block_;
  std::byte* bytes_ = nullptr;  // in it
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace cupel
