#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::s3_detail {

/// The error in an answer of the service. A field that is not there is empty.
struct ErrorReply {
  std::string code;
  std::string message;
  std::string region;  // the bucket's
  std::string request_id;
};

/// Reads an error. A field that cannot be read stays empty. No other part of the document is read,
/// because it may repeat the session token of the request.
ErrorReply read_error(std::string_view document);

/// The largest size that is believed: no service stores larger objects, and callers allocate memory
/// for the size that an answer has.
inline constexpr std::uint64_t kLargestObject = std::uint64_t{1} << 50U;

/// One object of a listing. The time has whole seconds, in the form of the header Last-Modified.
struct ListedObject {
  std::string name;
  std::uint64_t size = 0;
  std::string etag;
  std::string changed;
};

struct ListReply {
  std::vector<ListedObject> objects;
  std::string next;  // token of the next page; empty on the last one
};

/// Returns nothing for an answer that is no listing, or an incomplete one.
std::optional<ListReply> read_listing(std::string_view document);

/// Returns the text of one element, such as "InitiateMultipartUploadResult/UploadId"; nothing if it
/// is missing.
std::optional<std::string> read_element(std::string_view document, std::string_view path);

}  // namespace cupel::s3_detail
