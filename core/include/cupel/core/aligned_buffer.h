#pragma once

#include <cstddef>
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
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  explicit AlignedBuffer(std::size_t size)
      : bytes_(size == 0
                   ? nullptr
                   : static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}))),
        size_(size),
        capacity_(size) {}

  std::byte* data() noexcept { return bytes_.get(); }
  const std::byte* data() const noexcept { return bytes_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> span() noexcept { return {data(), size_}; }
  std::span<const std::byte> span() const noexcept { return {data(), size_}; }
  /// Changes how many bytes count, up to as many as there were when it was made.
  void resize(std::size_t size) noexcept { size_ = size < capacity_ ? size : capacity_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept {
      ::operator delete (bytes, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace cupel
