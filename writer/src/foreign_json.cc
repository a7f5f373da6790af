#include "foreign_json.h"

#include <limits>

#include "cupel/core/error.h"

namespace cupel::writer_detail {
namespace {

constexpr int kMostLevels = 32;

}  // namespace

nlohmann::ordered_json parse_foreign_json(std::string_view text) {
  using Document = nlohmann::ordered_json;
  bool too_deep = false;
  const auto limit_depth = [&](int depth, Document::parse_event_t, Document&) {
    too_deep |= depth > kMostLevels;
    return !too_deep;
  };
  try {
    Document json = Document::parse(text, limit_depth);
    if (too_deep) throw UsageError("it is nested too deeply");
    return json;
  } catch (const Document::exception& error) {
    throw UsageError(error.what());
  }
}

std::optional<std::int64_t> counter_of(const nlohmann::ordered_json& json, std::int64_t least) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kMost) return std::nullopt;
  const auto number = json.get<std::int64_t>();
  return number < least ? std::nullopt : std::optional(number);
}

}  // namespace cupel::writer_detail
