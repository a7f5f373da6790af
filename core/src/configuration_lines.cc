// Lines of a JSON text, for messages. nlohmann::json keeps no positions, so that the text is parsed
// once more when a mistake has been found: the parser reads through an iterator that knows how far
// it has come, and its events are followed in the value that was made from the text. Any thread.
// Nothing fails but for a lack of memory: 16 bytes for each value of the text.

#include "configuration_lines.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "cupel/core/comma_list.h"
#include "cupel/core/number_text.h"
#include "cupel/core/utf8.h"

namespace cupel::core_detail {
namespace {

using Json = nlohmann::json;

// The most separators that a key of a path may contain; a key with more is not found.
constexpr std::size_t kMostSeparators = 256;

// Reads a text for the parser, which copies iterators: all copies share one position.
class CountingIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  CountingIterator(const char** position, const char* end) noexcept
      : position_(position), end_(end) {}
  reference operator*() const noexcept { return **position_; }
  CountingIterator& operator++() noexcept {
    ++*position_;
    return *this;
  }
  void operator++(int) noexcept { ++*position_; }
  // Only the end is compared with.
  bool operator==(const CountingIterator&) const noexcept { return *position_ == end_; }

 private:
  const char** position_;
  const char* end_;
};

class LineFinder final : public nlohmann::json_sax<Json> {
 public:
  LineFinder(std::string_view text, const Json& root) : counted_(text.data()), root_(root) {}

  const char** position() noexcept { return &position_; }
  void begin_at(const char* position) noexcept { position_ = position; }
  std::vector<std::pair<const Json*, std::uint32_t>> take() { return std::move(lines_); }

  bool null() override { return value(); }
  bool boolean(bool /*value*/) override { return value(); }
  bool number_integer(number_integer_t /*value*/) override { return value(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return value(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return value(); }
  bool string(string_t& /*value*/) override { return value(); }
  bool binary(binary_t& /*value*/) override { return value(); }
  bool start_object(std::size_t /*elements*/) override { return begin(); }
  bool start_array(std::size_t /*elements*/) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& key) override {
    const Json* const object = open_.back().container;
    member_ = nullptr;
    if (object == nullptr || !object->is_object()) return true;
    if (const auto found = object->find(key); found != object->end()) member_ = &*found;
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    return false;
  }

 private:
  struct Open {
    const Json* container = nullptr;  // null where a later key of the same name has replaced it
    std::size_t items = 0;
  };

  // The value that the event is about; null for one that a later key has replaced.
  const Json* take_value() {
    if (open_.empty()) return &root_;
    Open& open = open_.back();
    if (open.container == nullptr) return nullptr;
    if (!open.container->is_array()) return member_;
    const std::size_t index = open.items++;
    return index < open.container->size() ? &(*open.container)[index] : nullptr;
  }

  bool value() {
    add(take_value());
    return true;
  }
  bool begin() {
    const Json* const json = take_value();
    add(json);
    open_.push_back({json});
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  // No token contains a line end. The parser has read the token to its end; of a number it has read
  // one character more, which may be a line end.
  void add(const Json* json) {
    const char* const end =
        position_ > counted_ && position_[-1] == '\n' ? position_ - 1 : position_;
    if (end > counted_) {
      line_ += static_cast<std::uint32_t>(std::count(counted_, end, '\n'));
      counted_ = end;
    }
    if (json != nullptr) lines_.emplace_back(json, line_);
  }

  const char* counted_;
  const char* position_ = nullptr;
  const Json& root_;
  const Json* member_ = nullptr;
  std::vector<Open> open_;
  std::uint32_t line_ = 1;
  std::vector<std::pair<const Json*, std::uint32_t>> lines_;
};

// The rest of a path behind a value, and the value.
struct Found {
  std::string_view rest;
  const Json* json = nullptr;
};

Found find_from(const Json& json, std::string_view path, std::size_t& separators) {
  Found best{path, &json};
  const auto try_value = [&](const Json& value, std::string_view rest) {
    if (rest.starts_with('.')) rest.remove_prefix(1);
    const Found found = find_from(value, rest, separators);
    if (found.rest.size() < best.rest.size()) best = found;
  };
  if (path.empty()) return best;
  if (json.is_array()) {
    const std::size_t end = path.find(']');
    if (!path.starts_with('[') || end == std::string_view::npos) return best;
    const auto index = parse_integer<std::size_t>(path.substr(1, end - 1));
    if (index && *index < json.size()) try_value(json[*index], path.substr(end + 1));
    return best;
  }
  if (!json.is_object()) return best;
  for (std::size_t end = 0; end < path.size() && !best.rest.empty();) {
    end = std::min(path.find_first_of(".[", end + 1), path.size());
    if (separators == 0) return best;
    --separators;
    const auto member = json.find(path.substr(0, end));
    if (member != json.end()) try_value(*member, path.substr(end));
  }
  return best;
}

}  // namespace

ConfigurationLines::ConfigurationLines(std::string_view text, const Json& json) {
  LineFinder finder(text, json);
  finder.begin_at(text.data());
  const char* const end = text.data() + text.size();
  Json::sax_parse(CountingIterator(finder.position(), end),
                  CountingIterator(finder.position(), end), &finder);
  lines_ = finder.take();
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const auto& a, const auto& b) { return std::less<>()(a.first, b.first); });
}

std::int64_t ConfigurationLines::line_of(const Json& value) const noexcept {
  const auto behind =
      std::upper_bound(lines_.begin(), lines_.end(), &value,
                       [](const Json* a, const auto& b) { return std::less<>()(a, b.first); });
  return behind != lines_.begin() && behind[-1].first == &value ? behind[-1].second : 0;
}

const Json& value_at_path(const Json& json, std::string_view path) {
  std::size_t separators = kMostSeparators;
  return *find_from(json, path, separators).json;
}

}  // namespace cupel::core_detail
