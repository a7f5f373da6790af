#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cupel/s3/s3_location.h"
#include "cupel/s3/s3_options.h"
#include "url.h"

namespace cupel::s3_detail {

/// Reads ~/.aws/config and ~/.aws/credentials. Returns nothing for a setting that is not there.
struct ProfileReader {
  /// A setting of a profile. Throws UsageError when a profile that `must_exist` does not.
  std::function<std::optional<std::string>(const std::string& profile, const std::string& setting,
                                           bool must_exist)>
      of_profile;
  /// A setting of S3 in a section `[services NAME]`.
  std::function<std::optional<std::string>(const std::string& services, const std::string& setting)>
      of_services;
};

/// The settings that result from options, environment and profile.
struct Configuration {
  S3Options options;            // for its limits; endpoint, region, profile and bundle are below
  std::optional<Url> endpoint;  // AWS itself without one
  std::string region;
  std::string profile;  // empty: the default one
  std::string ca_bundle;
  bool path_style = false;

  /// Returns the server for `bucket` in the region `place`.
  Origin origin(std::string_view bucket, std::string_view place) const;
  /// Returns the part of a request's path before "/<object>".
  std::string base_path(std::string_view bucket) const;
};

/// Whether the text can be the name of a region, which becomes a part of a host's name.
bool is_region(std::string_view text) noexcept;

/// Throws UsageError for an illegal setting.
Configuration resolve(const S3Options& options, const S3Location& location,
                      const ProfileReader& reader);

}  // namespace cupel::s3_detail
