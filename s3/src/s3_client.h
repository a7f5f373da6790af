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

namespace cupel::s3 {

/// Where a part of an answer's body goes; nowhere if `to` is null.
struct Piece {
  std::byte* to = nullptr;
  std::uint64_t size = 0;
};

/// A transfer that moves fewer than `least_bytes` within `silence` is given up.
struct TransferLimits {
  std::chrono::milliseconds silence{20'000};
  std::uint64_t least_bytes = 0;
};

/// One request, before it is signed.
struct HttpRequest {
  std::string method;
  Origin origin;
  std::string target;  // path and query, percent-encoded
  std::string region;  // it is signed for
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::span<const std::byte> body = {};
  /// Where the body of a success goes, one piece after another. Without pieces it is kept, up to
  /// `at_most` bytes.
  std::span<const Piece> into = {};
  std::uint64_t at_most = 0;
  TransferLimits limits = {};
};

/// What came back, whatever its status.
struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers = {};  // some, names in lower case
  std::vector<std::byte> body = {};  // of a success without pieces; else the begin of what it says
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

/// Why there is no answer.
enum class Trouble {
  Unreachable,    // name, connection
  Broken,         // the connection ended, or what came is not HTTP
  Silent,         // nothing moved for too long
  TooLong,        // the answer is larger than what was asked for
  NoCredentials,  // nothing to sign with
  SignsInBySso,   // the profile has them elsewhere
  Untrusted,      // TLS could not be agreed on
  Forked,         // this is a child of the process that made the client
  Stopped,        // the caller gave up
};

struct TransportError : std::runtime_error {
  TransportError(Trouble what, const std::string& message)
      : std::runtime_error(message), trouble(what) {}
  Trouble trouble;
};

/// Signs one request and exchanges it for one answer: all that an S3Store needs of a library. What
/// requests mean, retrying and redirects are the caller's. Several threads may send.
class S3Client {
 public:
  virtual ~S3Client() = default;
  /// Throws TransportError when no whole answer came. What `request` points to is not used any more
  /// afterwards, in any case.
  virtual HttpResponse send(const HttpRequest& request, const std::stop_token& stop) = 0;
  /// Has credentials looked up anew for the next request: those in use have expired.
  virtual void forget_credentials() = 0;
};

}  // namespace cupel::s3
