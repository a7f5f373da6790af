#include "cupel/format/layout.h"

#include <algorithm>
#include <cstdio>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"

namespace cupel {
namespace {

constexpr std::size_t kMaxWorkerName = 128;
constexpr std::int64_t kStepsPerFolder = 1000;
constexpr std::string_view kArrowSuffix = ".arrow";
constexpr std::string_view kCollectionsSuffix = "_collections.json";

std::string padded(std::int64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

bool is_worker_name(std::string_view worker) noexcept {
  return !worker.empty() && worker.size() <= kMaxWorkerName && is_alphanumeric(worker.front()) &&
         std::all_of(worker.begin(), worker.end(),
                     [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

// Takes digits up to `end_mark` off the front of `text`: at least `digits` of them, and no leading
// zero beyond that width, so that every number has one spelling.
std::optional<std::int64_t> take_number(std::string_view& text, std::size_t digits, char end_mark) {
  const std::size_t length = text.find(end_mark);
  if (length == std::string_view::npos || length < digits) return std::nullopt;
  if (length > digits && text.front() == '0') return std::nullopt;
  const auto number = parse_integer<std::int64_t>(text.substr(0, length));
  if (!number || *number < 0) return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

std::string segment_key(std::string_view prefix, const SegmentName& name) {
  std::string key(prefix);
  key += padded(name.attempt, 4) + '-' + padded(name.first_step / kStepsPerFolder, 9) + '/';
  key += padded(name.first_step, 12) + '_' + name.worker;
  key += kArrowSuffix;
  return key;
}

}  // namespace

std::string SegmentName::index_key() const { return segment_key(kIndexPrefix, *this); }

std::string SegmentName::events_key() const { return segment_key(kEventsPrefix, *this); }

std::optional<SegmentName> SegmentName::parse_index_key(std::string_view key) {
  if (!key.starts_with(kIndexPrefix) || !key.ends_with(kArrowSuffix)) return std::nullopt;
  std::string_view rest = key.substr(kIndexPrefix.size());
  rest.remove_suffix(kArrowSuffix.size());
  const auto attempt = take_number(rest, 4, '-');
  const auto folder = attempt ? take_number(rest, 9, '/') : std::nullopt;
  const auto step = folder ? take_number(rest, 12, '_') : std::nullopt;
  if (!step || *attempt > INT32_MAX || *folder != *step / kStepsPerFolder ||
      !is_worker_name(rest)) {
    return std::nullopt;
  }
  return SegmentName{static_cast<std::int32_t>(*attempt), *step, std::string(rest)};
}

std::string collections_key(std::string_view worker) {
  return std::string(kCollectionsPrefix) + std::string(worker) + std::string(kCollectionsSuffix);
}

std::optional<std::string> parse_collections_key(std::string_view key) {
  if (!key.starts_with(kCollectionsPrefix) || !key.ends_with(kCollectionsSuffix))
    return std::nullopt;
  if (key.size() <= kCollectionsPrefix.size() + kCollectionsSuffix.size()) return std::nullopt;
  key.remove_prefix(kCollectionsPrefix.size());
  key.remove_suffix(kCollectionsSuffix.size());
  if (!is_worker_name(key)) return std::nullopt;
  return std::string(key);
}

std::string ended_key(std::string_view worker) {
  return std::string(kEndedPrefix) + std::string(worker);
}

std::string lock_name(std::string_view worker) { return std::string(".lock-").append(worker); }

void check_worker_name(std::string_view worker) {
  if (is_worker_name(worker)) return;
  throw UsageError(
      "a worker's name is 1 to 128 letters, digits, '_', '-' or '.', beginning with a letter or "
      "digit: \"" +
      std::string(worker.substr(0, kMaxWorkerName)) + "\"");
}

}  // namespace cupel
