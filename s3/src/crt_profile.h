#pragma once

#include <optional>
#include <string>

namespace cupel::s3_detail {

/// Both functions of a ProfileReader (see configuration.h). They read the files where AWS's own
/// tools do, also as AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name them. "" is the profile
/// "default".
std::optional<std::string> read_profile(const std::string& profile, const std::string& setting,
                                        bool must_exist);
std::optional<std::string> read_services(const std::string& services, const std::string& setting);

/// The configuration file for the library to read: the file itself, or, where it has other sections
/// than profiles, a copy in memory without them, because the library refuses such a file.
class ProfilesFile {
 public:
  ProfilesFile();
  ~ProfilesFile();
  ProfilesFile(const ProfilesFile&) = delete;
  ProfilesFile& operator=(const ProfilesFile&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Whether the profile, or the one whose credentials it borrows, signs in by SSO (IAM Identity
/// Center).
bool signs_in_by_sso(const std::string& profile);

}  // namespace cupel::s3_detail
