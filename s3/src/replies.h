#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::s3 {

/// What a service says when it refuses; empty where it does not say.
struct ErrorReply {
  std::string code;
  std::string message;
  std::string region;  // where the bucket is
  std::string request_id;
};

/// Never fails: what cannot be read is left empty. Nothing else is taken out of the document, which
/// may repeat the token it was sent.
ErrorReply read_error(std::string_view document);

/// No service takes larger objects. Who claims to have one is not believed: others make room for
/// what they are told.
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

/// Nothing when it is no listing, or an incomplete one.
std::optional<ListReply> read_listing(std::string_view document);

/// The text of one element, "InitiateMultipartUploadResult/UploadId"; nothing without it.
std::optional<std::string> read_element(std::string_view document, std::string_view path);

}  // namespace cupel::s3
