#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cupel/s3/s3_location.h"
#include "cupel/s3/s3_options.h"
#include "url.h"

namespace cupel::s3 {

/// How ~/.aws/config and ~/.aws/credentials are read; nothing is the answer where nothing is set.
struct ProfileReader {
  /// A setting of a profile. Throws UsageError when a profile that `must_exist` does not.
  std::function<std::optional<std::string>(const std::string& profile, const std::string& setting,
                                           bool must_exist)>
      of_profile;
  /// A setting of S3 in a section `[services NAME]`.
  std::function<std::optional<std::string>(const std::string& services, const std::string& setting)>
      of_services;
};

/// Options, environment and profile, made one.
struct Configuration {
  S3Options options;            // the bounds; endpoint, region, profile and bundle are below
  std::optional<Url> endpoint;  // AWS itself without one
  std::string region;
  std::string profile;  // empty: the default one
  std::string ca_bundle;
  bool path_style = false;

  /// Who answers for `bucket` in `place`, a region, and what stands before "/<object>".
  Origin origin(std::string_view bucket, std::string_view place) const;
  std::string base_path(std::string_view bucket) const;
};

/// Whether it can be the name of a region, which becomes part of a host's name.
bool is_region(std::string_view text) noexcept;

/// Throws UsageError when something given makes no sense.
Configuration resolve(const S3Options& options, const S3Location& location,
                      const ProfileReader& reader);

}  // namespace cupel::s3
