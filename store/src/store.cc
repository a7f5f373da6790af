#include "cupel/store/store.h"

#include <algorithm>

#include "cupel/core/error.h"

namespace cupel {
namespace {

constexpr std::size_t kLongestKey = 1024;  // what S3 takes

const char* path_defect(std::string_view text) noexcept {
  if (text.size() > kLongestKey) return "it is longer than 1024 bytes";
  for (const char c : text)
    if (c == '\0' || c == '\\') return "it holds a NUL or a backslash";
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty()) return "it has an empty part";
    if (part == "." || part == "..") return "it has a part that is . or ..";
    begin = end + 1;
  }
  return nullptr;
}

void refuse(std::string_view what, std::string_view text, const char* why) {
  throw UsageError(std::string(what) + " is not legal, " + why + ": '" + std::string(text) + "'");
}

}  // namespace

const char* key_defect(std::string_view text) noexcept {
  if (const char* const why = path_defect(text)) return why;
  return text.ends_with(".tmp") ? "it ends in .tmp" : nullptr;
}

void check_key(std::string_view key) {
  if (const char* const why = key_defect(key)) refuse("The key", key, why);
}

void check_prefix(std::string_view prefix) {
  const std::size_t slash = prefix.rfind('/');
  if (slash == std::string_view::npos) return;
  if (const char* const why = path_defect(prefix.substr(0, slash)))
    refuse("The prefix", prefix, why);
}

void Store::get_ranges(std::string_view key, std::span<Range> ranges) const {
  for (Range& range : ranges) range.got = get_range(key, range.offset, range.out);
}

LockState Store::lock_state(std::string_view) const noexcept { return LockState::Unseen; }

void Store::will_read(std::string_view, std::uint64_t, std::uint64_t) const noexcept {}

}  // namespace cupel
