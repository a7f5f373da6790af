#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cupel {

class Store;

/// A text that is kept as one object of a store, beside runs or anywhere else: read whole and
/// replaced whole. Failures are StoreError.
class TextObject {
 public:
  /// Whether a text is the location of an object ("s3://bucket/name") and not the path of a file.
  static bool is_location(std::string_view text) noexcept;

  /// Throws UsageError where the location names no object, or its store cannot be opened.
  explicit TextObject(std::string_view location);
  TextObject(std::shared_ptr<Store> store, std::string key);

  /// One in the same place, whose name has `suffix` behind it.
  TextObject with_suffix(std::string_view suffix) const;

  std::string location() const;
  /// Nothing if there is no such object; one of more than `at_most` bytes is a StoreError.
  std::optional<std::string> read(std::uint64_t at_most) const;
  void write(std::string_view text);

 private:
  std::shared_ptr<Store> store_;
  std::string key_;
};

}  // namespace cupel
