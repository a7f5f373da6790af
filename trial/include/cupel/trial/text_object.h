#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cupel/store/store_scheme.h"

namespace cupel {

class Store;

/// A text in one object of a store, beside runs or anywhere else: read whole and replaced whole.
/// Failures are StoreError.
class TextObject {
 public:
  /// Whether `text` is the location of an object ("s3://bucket/name") and not the path of a file.
  static bool is_location(std::string_view text) noexcept;

  /// Throws UsageError if `location` names no object, or its store cannot be opened.
  explicit TextObject(std::string_view location, const StoreSchemes& schemes = {});
  TextObject(std::shared_ptr<Store> store, std::string key);

  /// The object beside this one whose name is this one's and `suffix`.
  TextObject with_suffix(std::string_view suffix) const;

  std::string location() const;
  /// The text; nothing if there is no such object. More than `at_most` bytes are a StoreError.
  std::optional<std::string> read(std::uint64_t at_most) const;
  void write(std::string_view text);

 private:
  std::shared_ptr<Store> store_;
  std::string key_;
};

}  // namespace cupel
