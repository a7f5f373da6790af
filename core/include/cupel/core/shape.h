#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>

namespace cupel {

/// One extent or stride, made from any integral type, so that `{rows, 3}` needs no casts.
struct Extent {
  template <std::integral I>
  constexpr Extent(I extent) noexcept : value(static_cast<std::int64_t>(extent)) {}
  std::int64_t value;
};

/// Up to 32 extents held in place: the shape of a tensor, or its strides counted in elements.
///
/// Trivially copyable and never throwing, because it is made on the training thread. More than 32
/// extents give an invalid list, which the function that uses it reports.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 32;

  constexpr Shape() noexcept : rank_(0) {}
  constexpr Shape(std::initializer_list<Extent> extents) noexcept : rank_(kInvalid) {
    if (extents.size() > kMaxRank) return;
    rank_ = 0;
    for (const Extent extent : extents) extents_[rank_++] = extent.value;
  }
  /// From any sized range of integers: std::vector<int>, std::array<std::size_t, 2>, std::span<…>.
  template <class R>
  requires std::ranges::sized_range<const R> && std::integral<std::ranges::range_value_t<R>>
  constexpr Shape(const R& extents) noexcept : rank_(kInvalid) {
    if (std::ranges::size(extents) > kMaxRank) return;
    rank_ = 0;
    for (const auto extent : extents) extents_[rank_++] = static_cast<std::int64_t>(extent);
  }

  /// Copies the extents in use; the defaulted assignment copies all 32.
  constexpr void assign(const Shape& other) noexcept {
    rank_ = other.rank_;
    for (std::size_t axis = 0; axis < other.rank(); ++axis) extents_[axis] = other.extents_[axis];
  }

  constexpr bool valid() const noexcept { return rank_ != kInvalid; }
  constexpr std::size_t rank() const noexcept { return valid() ? rank_ : 0; }
  constexpr std::int64_t operator[](std::size_t axis) const noexcept { return extents_[axis]; }
  constexpr const std::int64_t* begin() const noexcept { return extents_.data(); }
  constexpr const std::int64_t* end() const noexcept { return extents_.data() + rank(); }
  constexpr std::span<const std::int64_t> extents() const noexcept { return {begin(), rank()}; }

  /// Returns the product of the extents, 1 for rank 0; -1 if invalid, if one is negative, or on
  /// overflow.
  std::int64_t elements() const noexcept;

  friend bool operator==(const Shape& a, const Shape& b) noexcept;

 private:
  static constexpr std::uint8_t kInvalid = 0xff;
  std::uint8_t rank_;
  std::array<std::int64_t, kMaxRank> extents_;  // only the first rank_ are ever read
};

/// "(256, 128)"; "()" for a scalar.
std::string to_string(const Shape& shape);

}  // namespace cupel
