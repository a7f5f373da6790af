#include "cupel/trial/text_object.h"

#include <cstddef>
#include <span>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/store/open_store.h"
#include "cupel/store/store.h"

namespace cupel {

bool TextObject::is_location(std::string_view text) noexcept {
  return !location_scheme(text).empty();
}

TextObject::TextObject(std::string_view location, const StoreSchemes& schemes) {
  constexpr std::string_view kBehindScheme = "://";
  const std::size_t slash = location.rfind('/');
  const std::size_t scheme = location.find(kBehindScheme);
  const std::size_t place = scheme == std::string_view::npos ? 0 : scheme + kBehindScheme.size();
  if (slash == std::string_view::npos || slash <= place || slash + 1 == location.size())
    throw UsageError("a place and the name of an object are needed, as in s3://bucket/name: " +
                     std::string(location));
  store_ = open_store(location.substr(0, slash), schemes);
  key_ = location.substr(slash + 1);
  check_key(key_);
}

TextObject::TextObject(std::shared_ptr<Store> store, std::string key)
    : store_(std::move(store)), key_(std::move(key)) {
  check_key(key_);
}

TextObject TextObject::with_suffix(std::string_view suffix) const {
  return {store_, key_ + std::string(suffix)};
}

std::string TextObject::location() const { return store_->location() + "/" + key_; }

std::optional<std::string> TextObject::read(std::uint64_t at_most) const {
  const auto bytes = store_->get(key_, at_most);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

void TextObject::write(std::string_view text) { store_->put(key_, std::as_bytes(std::span(text))); }

}  // namespace cupel
