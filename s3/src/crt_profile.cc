// Reads AWS's configuration files by the parser of the AWS runtime.
//
// The parser knows profiles only and refuses a whole file for a section of another kind with
// settings below a setting, as `services` sections have. So this source gives it the sections of
// profiles, and reads a `services` section as if it were a profile. ProfilesFile does the same for
// providers of the library, which take a path: the copy is a file in memory. A missing file has no
// settings; a missing profile that the user named is a UsageError. Files are read again at each
// call.

#include "crt_profile.h"

#include <aws/common/string.h>
#include <aws/sdkutils/aws_profile.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "crt_handle.h"
#include "crt_runtime.h"
#include "cupel/core/error.h"

namespace cupel::s3_detail {
namespace {

using String = Handle<aws_string, aws_string_destroy>;
using Profiles = Handle<aws_profile_collection, aws_profile_collection_destroy>;

String string_of(const std::string& text) {
  return String(aws_string_new_from_array(
      aws_default_allocator(), reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

std::string config_path() {
  const String path(aws_get_config_file_path(aws_default_allocator(), nullptr));
  return path ? aws_string_c_str(path.get()) : "";
}

/// Returns "services x" for a line "[ services x ] # comment"; nothing for any other line.
std::optional<std::string> heading_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  line = line.substr(1, end - 1);
  std::string heading;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(kBlanks), line.size());
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(word.size());
    if (!heading.empty() && !word.empty()) heading += ' ';
    heading += word;
  }
  return heading;
}

/// Returns nothing where there is no such file.
std::optional<std::string> read_config() {
  std::ifstream file(config_path());
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();  // a directory gives no bytes
  return std::move(text).str();
}

/// Returns the lines of the sections whose headings are wanted, with or without the headings.
template <class IsWanted>
std::string sections_of(const std::string& text, bool with_headings, IsWanted is_wanted) {
  std::istringstream lines(text);
  std::string kept;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const auto heading = heading_of(line);
    if (heading) inside = is_wanted(*heading);
    if (inside && (!heading || with_headings)) kept.append(line).append("\n");
  }
  return kept;
}

/// Returns the sections of profiles.
std::string profiles_of(const std::string& text) {
  return sections_of(text, true, [](const std::string& heading) {
    return heading == "default" || heading.starts_with("profile ");
  });
}

Profiles parse(const std::string& text) {
  const aws_byte_buf bytes = aws_byte_buf_from_array(text.data(), text.size());
  return Profiles(
      aws_profile_collection_new_from_buffer(aws_default_allocator(), &bytes, AWS_PST_CONFIG));
}

const aws_profile* find(const Profiles& profiles, const std::string& profile) {
  const String name = string_of(profile);
  return profiles ? aws_profile_collection_get_profile(profiles.get(), name.get()) : nullptr;
}

const aws_profile_property* find(const aws_profile* profile, const std::string& setting) {
  const String name = string_of(setting);
  return profile == nullptr ? nullptr : aws_profile_get_property(profile, name.get());
}

/// Merges both files; null when there is none.
Profiles read_files() {
  aws_allocator* const allocator = aws_default_allocator();
  const auto text = read_config();
  const Profiles config = text ? parse(profiles_of(*text)) : nullptr;
  const String path(aws_get_credentials_file_path(allocator, nullptr));
  const Profiles secrets(
      path ? aws_profile_collection_new_from_file(allocator, path.get(), AWS_PST_CREDENTIALS)
           : nullptr);
  if (!config && !secrets) return nullptr;
  return Profiles(aws_profile_collection_new_from_merge(allocator, config.get(), secrets.get()));
}

}  // namespace

std::optional<std::string> read_profile(const std::string& profile, const std::string& setting,
                                        bool must_exist) {
  initialize_library();
  const Profiles profiles = read_files();
  const aws_profile* const found = find(profiles, profile.empty() ? "default" : profile);
  if (found == nullptr) {
    if (!must_exist) return std::nullopt;
    throw UsageError("There is no such profile in AWS's configuration files: '" + profile + "'");
  }
  const aws_profile_property* const property = find(found, setting);
  if (property == nullptr) return std::nullopt;
  return aws_string_c_str(aws_profile_property_get_value(property));
}

std::optional<std::string> read_services(const std::string& services, const std::string& setting) {
  initialize_library();
  // The section is read as if it were a profile.
  const std::string section =
      sections_of(read_config().value_or(""), false,
                  [&](const std::string& heading) { return heading == "services " + services; });
  const Profiles profiles = parse("[default]\n" + section);
  const aws_profile_property* const s3 = find(find(profiles, "default"), "s3");
  const String wanted = string_of(setting);
  const aws_string* const value =
      s3 == nullptr ? nullptr : aws_profile_property_get_sub_property(s3, wanted.get());
  return value == nullptr ? std::nullopt : std::optional<std::string>(aws_string_c_str(value));
}

ProfilesFile::ProfilesFile() : path_(config_path()) {
  const auto text = read_config();
  const std::string profiles = text ? profiles_of(*text) : "";
  if (!text || profiles == *text) return;
  descriptor_ = ::memfd_create("profiles", MFD_CLOEXEC);
  if (descriptor_ < 0 || ::write(descriptor_, profiles.data(), profiles.size()) !=
                             static_cast<ssize_t>(profiles.size()))
    return;
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

ProfilesFile::~ProfilesFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool signs_in_by_sso(const std::string& profile) {
  const auto signs_in = [](const std::string& name) {
    return read_profile(name, "sso_session", false) || read_profile(name, "sso_start_url", false);
  };
  const auto source = read_profile(profile, "source_profile", false);
  return signs_in(profile) || (source && signs_in(*source));
}

}  // namespace cupel::s3_detail
