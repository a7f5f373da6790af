#pragma once

#include <string>
#include <string_view>

namespace cupel::s3 {

/// "Wed, 28 Oct 2009 22:32:00 GMT" for "2009-10-28T22:32:00.123Z": listings and headers tell the
/// time of the last change in different forms, and headers without fractions. Empty for other text.
std::string whole_seconds(std::string_view iso_time);

/// What an object is told by from one that replaced it: its ETag, and the second it was written.
std::string identity_of(std::string_view etag, std::string_view last_modified);

}  // namespace cupel::s3
