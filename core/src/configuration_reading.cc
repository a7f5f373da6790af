#include "cupel/core/configuration_reading.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "configuration_json.h"
#include "cupel/core/collection.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"

namespace cupel {
namespace {

constexpr std::size_t kMostShown = 80;  // characters of a value
constexpr std::size_t kMostErrors = 200;
constexpr std::size_t kMostWarnings = 20;
// No known key is half as long; comparing costs the product of the lengths.
constexpr std::size_t kMostCompared = 64;
constexpr std::string_view kEllipsis = "...";

std::string shortened(std::string text) {
  if (text.size() <= kMostShown) return text;
  text.resize(kMostShown - kEllipsis.size());
  return text.append(kEllipsis);
}

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How many characters must be put in, left out or replaced to make one key of the other (the rows
// of the Levenshtein table, one after another). Case does not count.
std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(one[i]) == lower(other[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row.back();
}

std::string line(std::string_view path, std::string_view what) {
  std::string text(path);
  return text.append(path.empty() ? "" : ": ").append(what);
}

std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace

std::string shown_text(std::string_view text) {
  // JSON's escapes are ASCII, so that no cut goes through a character. They and the quotes are
  // never shorter than the text, so that what is left out here would have been cut anyway.
  const std::string part(text.substr(0, kMostShown));
  const nlohmann::json json = part;
  std::string escaped = json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  // JSON lets DEL pass.
  for (std::size_t at = escaped.find('\x7f'); at != std::string::npos; at = escaped.find('\x7f'))
    escaped.replace(at, 1, "\\u007f");
  return shortened(std::move(escaped));
}

std::string shown_json(const nlohmann::json& value) {
  if (value.is_string()) return shown_text(std::string_view(value.get_ref<const std::string&>()));
  if (value.is_array() && value.size() > kMostShown)
    return "an array of " + std::to_string(value.size());
  if (value.is_object()) return "an object of " + std::to_string(value.size());
  return shortened(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

ConfigurationReport::ConfigurationReport(std::string_view source) : source_(source) {}

void ConfigurationReport::error(std::string_view path, std::string_view what) {
  if (++error_count_ <= kMostErrors) errors_.push_back(line(path, what));
}

void ConfigurationReport::warning(std::string_view path, std::string_view what) {
  if (++warning_count_ <= kMostWarnings) warnings_.push_back(line(path, what));
}

void ConfigurationReport::unknown_key(std::string_view path, std::string_view key,
                                      std::span<const std::string_view> known) {
  if (warning_count_ >= kMostWarnings) return warning({}, {});  // is counted only
  const std::string_view compared = key.substr(0, kMostCompared);
  const auto nearest = std::ranges::min_element(
      known, {}, [&](std::string_view each) { return edits_between(compared, each); });
  warning(path, "the key " + shown_text(key) +
                    " is unknown and ignored; the nearest known one is \"" + std::string(*nearest) +
                    '"');
}

bool ConfigurationReport::may_add_pattern() noexcept {
  return patterns_++ < kMostConfiguredPatterns;
}

void ConfigurationReport::finish() const {
  for (const std::string& each : warnings_) log(LogLevel::Warning, source_ + ": " + each);
  if (warning_count_ > warnings_.size()) {
    log(LogLevel::Warning,
        source_ + ": and " + counted(warning_count_ - warnings_.size(), "more warning"));
  }
  if (errors_.empty()) return;
  std::string text = source_ + ": " + counted(error_count_, "mistake");
  for (const std::string& each : errors_) text.append("\n  ").append(each);
  if (error_count_ > errors_.size())
    text.append("\n  and ").append(std::to_string(error_count_ - errors_.size())).append(" more");
  throw UsageError(text);
}

bool ConfigurationValue::is_null() const noexcept { return ConfigurationJson::of(*this).is_null(); }

bool ConfigurationValue::is_object() const noexcept {
  return ConfigurationJson::of(*this).is_object();
}

bool ConfigurationValue::is_array() const noexcept {
  return ConfigurationJson::of(*this).is_array();
}

bool ConfigurationValue::is_text() const noexcept {
  return ConfigurationJson::of(*this).is_string();
}

const std::string& ConfigurationValue::text() const {
  return ConfigurationJson::of(*this).get_ref<const std::string&>();
}

std::size_t ConfigurationValue::size() const noexcept {
  const nlohmann::json& json = ConfigurationJson::of(*this);
  return json.is_structured() ? json.size() : 0;
}

ConfigurationValue ConfigurationValue::member(std::string_view key) const {
  static const nlohmann::json absent;
  const nlohmann::json& json = ConfigurationJson::of(*this);
  const auto found = json.find(key);
  return {found == json.end() ? &absent : &*found,
          (path_.empty() ? std::string() : path_ + ".").append(key), *report_};
}

bool ConfigurationValue::has_member(std::string_view key) const {
  return ConfigurationJson::of(*this).contains(key);
}

ConfigurationValue ConfigurationValue::item(std::size_t index) const {
  return {&ConfigurationJson::of(*this).at(index), path_ + "[" + std::to_string(index) + "]",
          *report_};
}

void ConfigurationValue::for_each_member(
    const std::function<void(const std::string&, const ConfigurationValue&)>& visit) const {
  for (const auto& [key, json] : ConfigurationJson::of(*this).items()) visit(key, member(key));
}

void ConfigurationValue::for_each_item(
    const std::function<void(const ConfigurationValue&)>& visit) const {
  for (std::size_t i = 0; i < size(); ++i) visit(item(i));
}

std::string ConfigurationValue::json_text() const {
  return ConfigurationJson::of(*this).dump(-1, ' ', false,
                                           nlohmann::json::error_handler_t::replace);
}

std::string ConfigurationValue::shown() const { return shown_json(ConfigurationJson::of(*this)); }

void ConfigurationValue::refuse(std::string_view legal) const { refuse(legal, shown()); }

void ConfigurationValue::refuse(std::string_view legal, std::string_view given) const {
  report_->error(path_, std::string("must be ").append(legal).append(", not ").append(given));
}

}  // namespace cupel
