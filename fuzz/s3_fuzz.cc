// What a server of S3 answers, and the URLs that it points to: any bytes. What can be read keeps
// what its readers rely on.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../s3/src/identity.h"
#include "../s3/src/replies.h"
#include "../s3/src/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cupel::s3_detail;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_error(text);
  read_element(text, "InitiateMultipartUploadResult/UploadId");
  whole_seconds(text);
  if (const auto reply = read_listing(text))
    for (const ListedObject& object : reply->objects)
      if (object.name.empty() || object.size > kLargestObject) __builtin_trap();
  if (const auto url = parse_url(text)) {
    const std::string again =
        (url->origin.tls ? "https://" : "http://") + url->origin.authority() + url->target;
    const auto same = parse_url(again);
    if (!same || !(same->origin == url->origin) || same->target != url->target) __builtin_trap();
  }
  if (percent_decode(percent_encode(text, Slashes::Encode)) != text) __builtin_trap();
  return 0;
}
