// Reads the XML answers of S3: errors, listings, single elements.
//
// read_xml() checks that a document is well-formed and calls the functions here at the end of each
// element. They take the few elements that S3Store uses, and limit what a hostile server can make
// of them: a continuation token has at most 4 KiB, a size at most kLargestObject, and a listing
// without its end, or with an unreadable name, is no listing. An error that cannot be read has
// empty fields. The functions have no state and may run on any thread.

#include "replies.h"

#include <utility>

#include "cupel/core/number_text.h"
#include "identity.h"
#include "url.h"
#include "xml.h"

namespace cupel::s3_detail {
namespace {

constexpr std::size_t kLongestToken = 4096;

/// Gathers a listing while the document is read.
class Listing {
 public:
  void take_element(std::string_view path, std::string_view text) {
    constexpr std::string_view kObject = "ListBucketResult/Contents";
    if (path.starts_with(kObject))
      path.size() == kObject.size() ? end_object() : take_object_field(path, text);
    else if (path == "ListBucketResult")
      complete_ = true;
    else if (path == "ListBucketResult/EncodingType")
      encoded_ = text == "url";
    else if (path == "ListBucketResult/IsTruncated")
      truncated_ = text == "true";
    else if (path == "ListBucketResult/NextContinuationToken")
      reply_.next = text;
    // The token becomes a part of a URL.
    if (reply_.next.size() > kLongestToken) broken_ = true;
  }

  std::optional<ListReply> take() {
    if (!complete_ || broken_ || truncated_ == reply_.next.empty()) return std::nullopt;
    // The element with the kind of encoding may follow the keys.
    for (ListedObject& object : reply_.objects) {
      if (!encoded_) continue;
      auto name = percent_decode(object.name);
      if (!name) return std::nullopt;
      object.name = *std::move(name);
    }
    return std::move(reply_);
  }

 private:
  void take_object_field(std::string_view path, std::string_view text) {
    const std::string_view name = path.substr(path.find('/') + 1);
    if (name == "Contents/Key") object_.name = text;
    if (name == "Contents/ETag") object_.etag = text;
    if (name == "Contents/LastModified") object_.changed = whole_seconds(text);
    if (name == "Contents/Size") {
      const auto size = parse_integer<std::uint64_t>(text);
      object_.size = size.value_or(0);
      has_size_ = size && *size <= kLargestObject;
    }
  }

  void end_object() {
    if (object_.name.empty() || !has_size_) broken_ = true;
    reply_.objects.push_back(std::exchange(object_, {}));
    has_size_ = false;
  }

  ListReply reply_;
  ListedObject object_;
  bool has_size_ = false;
  bool encoded_ = false;
  bool truncated_ = false;
  bool complete_ = false;
  bool broken_ = false;
};

}  // namespace

ErrorReply read_error(std::string_view document) {
  ErrorReply reply;
  read_xml(document, [&](std::string_view path, std::string_view text) {
    if (path == "Error/Code") reply.code = text;
    if (path == "Error/Message") reply.message = text;
    if (path == "Error/Region") reply.region = text;
    if (path == "Error/RequestId") reply.request_id = text;
  });
  return reply;
}

std::optional<ListReply> read_listing(std::string_view document) {
  Listing listing;
  const bool whole = read_xml(document, [&](std::string_view path, std::string_view text) {
    listing.take_element(path, text);
  });
  return whole ? listing.take() : std::nullopt;
}

std::optional<std::string> read_element(std::string_view document, std::string_view path) {
  std::optional<std::string> found;
  const bool whole = read_xml(document, [&](std::string_view element, std::string_view text) {
    if (element == path) found = text;
  });
  return whole ? found : std::nullopt;
}

}  // namespace cupel::s3_detail
