#pragma once

#include <string>
#include <string_view>

namespace cupel::s3_detail {

/// Returns "Wed, 28 Oct 2009 22:32:00 GMT" for "2009-10-28T22:32:00.123Z", and an empty text for
/// any other text. Listings have the time of the last change in the latter form, headers in the
/// former.
std::string whole_seconds(std::string_view iso_time);

/// Returns the identity of an object (ObjectInfo): its ETag, and the second of its last change.
std::string identity_of(std::string_view etag, std::string_view last_modified);

}  // namespace cupel::s3_detail
