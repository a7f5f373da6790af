#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace cupel::format_detail {

/// A table of a flatbuffer, for reading a few fields. Every read is checked; a read outside of the
/// buffer returns nothing.
class FlatTable {
 public:
  static std::optional<FlatTable> root(std::span<const std::byte> buffer) noexcept {
    const auto position = load<std::uint32_t>(buffer, 0);
    if (!position) return std::nullopt;
    return at(buffer, *position);
  }

  template <class T>
  std::optional<T> scalar(std::size_t field) const noexcept {
    const auto position = field_position(field);
    if (!position) return std::nullopt;
    return load<T>(buffer_, *position);
  }

  bool has(std::size_t field) const noexcept { return field_position(field).has_value(); }

  std::optional<FlatTable> table(std::size_t field) const noexcept {
    const auto position = target(field);
    if (!position) return std::nullopt;
    return at(buffer_, *position);
  }

  /// The bytes of a vector whose elements are structs of `element_size` bytes.
  std::optional<std::span<const std::byte>> structs(std::size_t field,
                                                    std::size_t element_size) const noexcept {
    const auto position = target(field);
    const auto count = position ? load<std::uint32_t>(buffer_, *position) : std::nullopt;
    if (!count) return std::nullopt;
    const std::span<const std::byte> rest = buffer_.subspan(*position + sizeof(std::uint32_t));
    if (*count > rest.size() / element_size) return std::nullopt;
    return rest.first(*count * element_size);
  }

 private:
  FlatTable(std::span<const std::byte> buffer, std::size_t table, std::size_t vtable,
            std::uint16_t vtable_size) noexcept
      : buffer_(buffer), table_(table), vtable_(vtable), vtable_size_(vtable_size) {}

  template <class T>
  static std::optional<T> load(std::span<const std::byte> buffer, std::size_t position) noexcept {
    if (position > buffer.size() || buffer.size() - position < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, buffer.data() + position, sizeof(T));
    return value;
  }

  static std::optional<FlatTable> at(std::span<const std::byte> buffer,
                                     std::size_t table) noexcept {
    const auto distance = load<std::int32_t>(buffer, table);
    if (!distance) return std::nullopt;
    const std::int64_t vtable = static_cast<std::int64_t>(table) - *distance;
    if (vtable < 0) return std::nullopt;
    const auto size = load<std::uint16_t>(buffer, static_cast<std::size_t>(vtable));
    if (!size || *size < 4) return std::nullopt;
    return FlatTable(buffer, table, static_cast<std::size_t>(vtable), *size);
  }

  std::optional<std::size_t> field_position(std::size_t field) const noexcept {
    const std::size_t entry = 4 + 2 * field;
    if (entry + 2 > vtable_size_) return std::nullopt;
    const auto distance = load<std::uint16_t>(buffer_, vtable_ + entry);
    if (!distance || *distance == 0) return std::nullopt;
    return table_ + *distance;
  }

  /// Returns the place that a field with a table or a vector points to.
  std::optional<std::size_t> target(std::size_t field) const noexcept {
    const auto position = field_position(field);
    const auto distance = position ? load<std::uint32_t>(buffer_, *position) : std::nullopt;
    if (!distance) return std::nullopt;
    return *position + *distance;
  }

  std::span<const std::byte> buffer_;
  std::size_t table_;
  std::size_t vtable_;
  std::uint16_t vtable_size_;
};

}  // namespace cupel::format_detail
