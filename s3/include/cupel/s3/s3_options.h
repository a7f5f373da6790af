#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cupel {

/// How an S3Store reaches the service, and within which bounds. Nothing has to be given: what is
/// empty comes from the environment and the profile, as AWS's own tools read them.
///
/// Credentials are never options. They come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
/// AWS_SESSION_TOKEN, else from the profile (keys, a role to assume, credential_process), a web
/// identity, the container or the instance, in this order.
struct S3Options {
  /// URL of an S3-compatible server: "http://127.0.0.1:9000". Default: AWS_ENDPOINT_URL_S3, then
  /// AWS_ENDPOINT_URL, then endpoint_url of the profile; without any of them, AWS itself.
  std::string endpoint = {};
  /// Default: AWS_REGION, then AWS_DEFAULT_REGION, then region of the profile, then "us-east-1". A
  /// bucket that says that it is elsewhere is followed there.
  std::string region = {};
  /// The section of ~/.aws/config and ~/.aws/credentials that is read. Default: AWS_PROFILE, then
  /// "default".
  std::string profile = {};
  /// Whether the bucket stands in the path of a request rather than in the host's name. Default: if
  /// there is an endpoint, or the bucket's name has dots and TLS is used.
  std::optional<bool> path_style = {};
  /// Whether the server's certificate must be signed by an authority and name the server.
  bool verify_tls = true;
  /// File of the authorities to trust in place of the system's. Default: AWS_CA_BUNDLE, then
  /// ca_bundle of the profile.
  std::string ca_bundle = {};

  /// Connecting may take this long.
  std::chrono::milliseconds connect_limit{10'000};
  /// A transfer that moves fewer than `least_bytes` within `silence_limit` is given up and retried.
  /// The server's thinking is silence as well.
  std::chrono::milliseconds silence_limit{20'000};
  std::uint64_t least_bytes = 4096;

  /// A request is sent at most so many times, within `retry_limit`, and only when the failure may
  /// pass: outages, resets, throttling, 5xx, damaged answers.
  int attempts = 8;
  std::chrono::milliseconds retry_limit{60'000};
  /// The pause before the second attempt is at most `shortest_pause`, the limit doubles with each
  /// attempt up to `longest_pause`, and the pause is chosen at random below it. A server that asks
  /// for a longer one with Retry-After gets it, up to `longest_pause`.
  std::chrono::milliseconds shortest_pause{100};
  std::chrono::milliseconds longest_pause{10'000};

  /// An object up to this size is one PUT, a larger one an upload of parts of `part_size`. S3 takes
  /// no parts below 5 MiB, none but the last.
  std::uint64_t largest_put = std::uint64_t{128} << 20U;
  std::uint64_t part_size = std::uint64_t{32} << 20U;
  /// A range that is larger is read in pieces of this size, several at a time.
  std::uint64_t read_size = std::uint64_t{8} << 20U;
  /// Ranges of one object with no more than this between them are read by one request.
  std::uint64_t read_gap = std::uint64_t{64} << 10U;
  /// Requests of one call that run beside each other.
  std::size_t parallel = 8;

  /// A watch looks again after `shortest_look` when something has changed, and after twice as long
  /// each time nothing has, up to `longest_look`. A look is one LIST of a thousand objects.
  std::chrono::milliseconds shortest_look{250};
  std::chrono::milliseconds longest_look{5'000};
};

}  // namespace cupel
