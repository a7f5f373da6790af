#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "url.h"

namespace cupel::s3_detail {

/// Where a part of an answer's body goes; nowhere if `to` is null.
struct Piece {
  std::byte* to = nullptr;
  std::uint64_t size = 0;
};

/// A transfer that moves fewer than `least_bytes` within `silence` is ended.
struct TransferLimits {
  std::chrono::milliseconds silence{20'000};
  std::uint64_t least_bytes = 0;
};

/// A request before it is signed.
struct HttpRequest {
  std::string method;
  Origin origin;
  std::string target;  // path and query, percent-encoded
  std::string region;  // for which the request is signed
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::span<const std::byte> body = {};
  /// Where the body of a success goes, one piece after another. Without pieces, the response has
  /// the body, up to `at_most` bytes.
  std::span<const Piece> into = {};
  std::uint64_t at_most = 0;
  TransferLimits limits = {};
};

/// An answer, whatever its status.
struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers = {};  // some, names in lower case
  std::vector<std::byte> body = {};  // of a success without pieces; of an error, its beginning
  std::uint64_t received = 0;        // bytes that went into the pieces

  bool ok() const noexcept { return status >= 200 && status < 300; }
  std::string_view header(std::string_view name) const noexcept {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
  }
};

/// The reason why there is no answer.
enum class Trouble {
  Unreachable,    // name, connection
  Broken,         // the connection ended, or the answer is not HTTP
  Silent,         // nothing moved for too long
  TooLong,        // the answer is larger than the request allows
  NoCredentials,  // there are no credentials
  SignsInBySso,   // the profile signs in by SSO
  Untrusted,      // TLS failed
  Forked,         // this is a child of the process that made the client
  Stopped,        // the caller stopped the request
};

struct TransportError : std::runtime_error {
  TransportError(Trouble what, const std::string& message)
      : std::runtime_error(message), trouble(what) {}
  Trouble trouble;
};

/// Signs a request, sends it, and returns the answer: all that an S3Store needs of a library. The
/// caller retries, and follows redirects. Several threads may send.
class S3Client {
 public:
  virtual ~S3Client() = default;
  /// Throws TransportError when no whole answer came. After the call, in either case, the memory
  /// that `request` points to is not used any more.
  virtual HttpResponse send(const HttpRequest& request, const std::stop_token& stop) = 0;
  /// Lets the next request ask for credentials again, because the present ones have expired.
  virtual void forget_credentials() = 0;
};

}  // namespace cupel::s3_detail
