// Reads values of a configuration and collects the mistakes. A mistake refers to its value, whose
// line is looked up in the document: the lines of all values are computed for the first
// mistake. The number of mistakes that are kept is bounded, the others are counted. One thread uses
// a report and its values. Illegal values are mistakes of the report; nothing but finish() throws.

#include "cupel/core/configuration_reading.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "configuration_json.h"
#include "cupel/core/collection.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/nearest_names.h"

namespace cupel {
namespace {

constexpr std::size_t kMostShown = 80;  // characters of a value
constexpr std::size_t kMostErrors = 200;
constexpr std::size_t kMostWarnings = 20;
constexpr std::string_view kEllipsis = "...";

std::string shortened(std::string text) {
  if (text.size() <= kMostShown) return text;
  text.resize(kMostShown - kEllipsis.size());
  return text.append(kEllipsis);
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
  // JSON does not escape DEL.
  for (std::size_t at = escaped.find('\x7f'); at != std::string::npos; at = escaped.find('\x7f'))
    escaped.replace(at, 1, "\\u007f");
  return shortened(std::move(escaped));
}

std::string core_detail::shown_json(const nlohmann::json& value) {
  if (value.is_string()) return shown_text(std::string_view(value.get_ref<const std::string&>()));
  if (value.is_array() && value.size() > kMostShown)
    return "an array of " + std::to_string(value.size());
  if (value.is_object()) return "an object of " + std::to_string(value.size());
  return shortened(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

ConfigurationReport::ConfigurationReport(std::string_view source) : source_(source) {}

std::string ConfigurationMistake::to_text() const {
  return path + (path.empty() ? "" : ": ") + message + (hint.empty() ? "" : "; ") + hint;
}

const void* ConfigurationReport::value_at(std::string_view path) const {
  return document_ == nullptr ? nullptr
                              : &core_detail::value_at_path(document_->parsed_->json, path);
}

ConfigurationMistake ConfigurationReport::mistake(const void* json, std::string_view path,
                                                  std::string_view what,
                                                  std::string_view hint) const {
  ConfigurationMistake result{
      .path = std::string(path), .message = std::string(what), .hint = std::string(hint)};
  if (document_ == nullptr || json == nullptr) return result;
  const ConfigurationDocument::Parsed& parsed = *document_->parsed_;
  if (!parsed.lines) parsed.lines.emplace(parsed.text, parsed.json);
  result.line = parsed.lines->line_of(*static_cast<const nlohmann::json*>(json));
  result.source_line = cupel::source_line(parsed.text, result.line);
  return result;
}

void ConfigurationReport::add_error(const void* json, std::string_view path,
                                    std::string_view what) {
  if (++error_count_ <= kMostErrors) errors_.push_back(mistake(json, path, what, {}));
}

void ConfigurationReport::add_warning(const void* json, std::string_view path,
                                      std::string_view what, std::string_view hint) {
  if (++warning_count_ <= kMostWarnings) warnings_.push_back(mistake(json, path, what, hint));
}

void ConfigurationReport::error(std::string_view path, std::string_view what) {
  add_error(error_count_ < kMostErrors ? value_at(path) : nullptr, path, what);
}

void ConfigurationReport::warning(std::string_view path, std::string_view what) {
  add_warning(warning_count_ < kMostWarnings ? value_at(path) : nullptr, path, what, {});
}

void ConfigurationReport::unknown_key(std::string_view path, std::string_view key,
                                      std::span<const std::string_view> known) {
  if (warning_count_ >= kMostWarnings) return warning({}, {});  // is counted only
  const auto* json = static_cast<const nlohmann::json*>(value_at(path));
  if (json != nullptr && json->is_object())
    if (const auto member = json->find(key); member != json->end()) json = &*member;
  add_warning(json, path, "the key " + shown_text(key) + " is unknown and ignored",
              "the nearest known one is \"" + std::string(nearest_name(key, known)) + '"');
}

bool ConfigurationReport::may_add_pattern() noexcept {
  return patterns_++ < kMostConfiguredPatterns;
}

void ConfigurationReport::finish() const {
  for (const ConfigurationMistake& each : warnings_)
    log(LogLevel::Warning, source_ + ": " + each.to_text());
  if (warning_count_ > warnings_.size()) {
    log(LogLevel::Warning,
        source_ + ": and " + counted(warning_count_ - warnings_.size(), "more warning"));
  }
  if (errors_.empty()) return;
  std::string text = source_ + ": " + counted(error_count_, "mistake");
  for (const ConfigurationMistake& each : errors_) text.append("\n  ").append(each.to_text());
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
  const bool is_there = found != json.end();
  return {is_there ? &*found : &absent, is_there ? &*found : place_,
          (path_.empty() ? std::string() : path_ + ".").append(key), *report_};
}

bool ConfigurationValue::has_member(std::string_view key) const {
  return ConfigurationJson::of(*this).contains(key);
}

ConfigurationValue ConfigurationValue::item(std::size_t index) const {
  const nlohmann::json& item = ConfigurationJson::of(*this).at(index);
  return {&item, &item, path_ + "[" + std::to_string(index) + "]", *report_};
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

std::string ConfigurationValue::shown() const {
  return core_detail::shown_json(ConfigurationJson::of(*this));
}

void ConfigurationValue::refuse(std::string_view legal) const { refuse(legal, shown()); }

void ConfigurationValue::refuse(std::string_view legal, std::string_view given) const {
  report_->add_error(place_, path_,
                     std::string("must be ").append(legal).append(", not ").append(given));
}

}  // namespace cupel
