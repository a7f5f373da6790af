// Makes one Configuration of options, environment and profile, in the order in which AWS's own
// tools look settings up: an option wins over a variable, a variable over the profile, the profile
// over the default. The profile is read by functions that the caller passes, so that this source
// knows no library. It runs in the constructor of a store and sends nothing. A setting with an
// illegal value is a UsageError that quotes the value, without what may be a password.

#include "configuration.h"

#include <algorithm>
#include <cstdlib>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"

namespace cupel::s3_detail {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_true(std::string_view text) { return same_but_for_case(text, "true"); }

/// Looks a setting up in one source after another. An empty value counts as none.
class Lookup {
 public:
  Lookup(const S3Options& options, const ProfileReader& reader)
      : reader_(reader),
        profile_(options.profile.empty() ? environment("AWS_PROFILE") : options.profile) {}

  const std::string& profile() const noexcept { return profile_; }

  std::string find(const std::string& option, std::initializer_list<const char*> variables,
                   const char* setting) const {
    if (!option.empty()) return option;
    for (const char* const variable : variables)
      if (std::string value = environment(variable); !value.empty()) return value;
    return of_profile(setting);
  }

  std::string of_profile(const char* setting) const {
    return reader_.of_profile(profile_, setting, !profile_.empty()).value_or("");
  }

  /// Returns a setting for S3 alone, from the section that the profile names in `services`.
  std::string of_services(const char* setting) const {
    const std::string services = of_profile("services");
    return services.empty() ? "" : reader_.of_services(services, setting).value_or("");
  }

 private:
  const ProfileReader& reader_;
  std::string profile_;
};

std::string configured_endpoint(const Lookup& lookup) {
  if (is_true(environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) ||
      is_true(lookup.of_profile("ignore_configured_endpoint_urls")))
    return {};
  for (const char* const variable : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"})
    if (std::string value = environment(variable); !value.empty()) return value;
  std::string of_services = lookup.of_services("endpoint_url");
  return of_services.empty() ? lookup.of_profile("endpoint_url") : of_services;
}

std::optional<Url> find_endpoint(const S3Options& options, const Lookup& lookup) {
  const std::string text =
      options.endpoint.empty() ? configured_endpoint(lookup) : options.endpoint;
  if (text.empty()) return std::nullopt;
  auto url = parse_url(text);
  if (!url || url->target.find('?') != std::string::npos) {
    // A password may stand before an '@'.
    const std::size_t at = text.rfind('@');
    throw UsageError("The endpoint of S3 is not a URL like http://127.0.0.1:9000: '" +
                     (at == std::string::npos ? text : "..." + text.substr(at)) + "'");
  }
  while (url->target.ends_with('/')) url->target.pop_back();
  return url;
}

void check_bounds(const S3Options& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw UsageError(std::string("An option of S3 is illegal: ") + what);
  };
  using std::chrono::milliseconds;
  require(options.connect_limit > milliseconds(0), "connect_limit must be above 0");
  require(options.silence_limit > milliseconds(0), "silence_limit must be above 0");
  require(options.attempts > 0, "attempts must be above 0");
  require(options.shortest_pause >= milliseconds(0), "shortest_pause must not be negative");
  require(options.longest_pause >= options.shortest_pause,
          "longest_pause must not be below shortest_pause");
  require(options.part_size >= std::uint64_t{5} << 20U, "part_size must be at least 5 MiB");
  require(options.read_size > 0, "read_size must be above 0");
  require(options.parallel > 0, "parallel must be above 0");
  require(options.shortest_look > milliseconds(0), "shortest_look must be above 0");
  require(options.longest_look >= options.shortest_look,
          "longest_look must not be below shortest_look");
}

}  // namespace

Origin Configuration::origin(std::string_view bucket, std::string_view place) const {
  Origin origin;
  if (endpoint) {
    origin = endpoint->origin;
  } else {
    origin.host = "s3." + std::string(place) + ".amazonaws.com";
    if (place.starts_with("cn-")) origin.host += ".cn";
  }
  if (!path_style) origin.host.insert(0, std::string(bucket) + ".");
  return origin;
}

std::string Configuration::base_path(std::string_view bucket) const {
  std::string path = endpoint ? endpoint->target : "";
  if (path_style) path.append("/").append(bucket);
  return path;
}

bool is_region(std::string_view text) noexcept {
  const auto is_fine = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, is_fine);
}

Configuration resolve(const S3Options& options, const S3Location& location,
                      const ProfileReader& reader) {
  check_bounds(options);
  const Lookup lookup(options, reader);
  Configuration result;
  result.options = options;
  result.profile = lookup.profile();
  result.endpoint = find_endpoint(options, lookup);
  result.region = lookup.find(options.region, {"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
  if (result.region.empty()) result.region = "us-east-1";
  if (!is_region(result.region))
    throw UsageError("The region of S3 is not a name like eu-central-1: '" + result.region + "'");
  result.ca_bundle = lookup.find(options.ca_bundle, {"AWS_CA_BUNDLE"}, "ca_bundle");
  // A certificate for *.s3.… does not cover a bucket with dots in its name.
  const bool has_dots = location.bucket.find('.') != std::string::npos;
  result.path_style = options.path_style.value_or(result.endpoint.has_value() || has_dots);
  return result;
}

}  // namespace cupel::s3_detail
