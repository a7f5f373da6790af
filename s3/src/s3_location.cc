#include "cupel/s3/s3_location.h"

#include <algorithm>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/store/store.h"

namespace cupel {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kLongestName = 1024;

bool is_lower_or_digit(char c) noexcept { return is_lower(c) || is_digit(c); }

bool looks_like_an_address(std::string_view bucket) noexcept {
  const auto is_part = [](char c) { return c == '.' || is_digit(c); };
  return std::ranges::all_of(bucket, is_part) && std::ranges::count(bucket, '.') == 3;
}

/// Returns why the text cannot be the name of a bucket, as a phrase; null when it can.
const char* bucket_defect(std::string_view bucket) noexcept {
  if (bucket.empty()) return "it is missing";
  if (bucket.size() < 3 || bucket.size() > 63) return "it must have 3 to 63 characters";
  for (const char c : bucket)
    if (!is_lower_or_digit(c) && c != '-' && c != '.')
      return "it may hold only lower-case letters, digits, dots and hyphens";
  if (!is_lower_or_digit(bucket.front()) || !is_lower_or_digit(bucket.back()))
    return "it must begin and end with a letter or digit";
  if (bucket.find("..") != std::string_view::npos) return "it has two dots in a row";
  return looks_like_an_address(bucket) ? "it looks like an IP address" : nullptr;
}

}  // namespace

S3Location S3Location::parse(std::string_view url) {
  if (!url.starts_with(kScheme))
    throw UsageError("An S3 location must begin with s3://: '" + std::string(url) + "'");
  const std::string_view rest = url.substr(kScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  S3Location location{std::string(rest.substr(0, slash)), std::string(rest.substr(slash))};
  if (const char* const why = bucket_defect(location.bucket))
    throw UsageError("The bucket's name is not legal, " + std::string(why) + ": '" +
                     location.bucket + "' in '" + std::string(url) + "'");
  while (location.prefix.ends_with('/')) location.prefix.pop_back();
  if (!location.prefix.empty()) location.prefix.erase(0, 1);
  if (!location.prefix.empty()) check_prefix(location.prefix + '/');
  return location;
}

std::string S3Location::url() const {
  return std::string(kScheme) + bucket + (prefix.empty() ? "" : "/" + prefix);
}

std::string S3Location::object_name(std::string_view key) const {
  std::string name = prefix.empty() ? std::string(key) : prefix + "/" + std::string(key);
  if (name.size() > kLongestName)
    throw UsageError("The key is too long behind the prefix of " + url() + ", S3 allows " +
                     std::to_string(kLongestName) + " bytes: '" + std::string(key) + "'");
  return name;
}

}  // namespace cupel
