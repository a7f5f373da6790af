#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cupel {

/// How an S3Store reaches the service, and its limits. Every option has a default: an empty one
/// comes from the environment and the profile, as AWS's own tools read them.
///
/// Credentials are never options. They come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
/// AWS_SESSION_TOKEN, else from the profile (keys, a role to assume, credential_process), a web
/// identity, the container or the instance, in this order.
struct S3Options {
  /// URL of an S3-compatible server: "http://127.0.0.1:9000". Default: AWS_ENDPOINT_URL_S3, then
  /// AWS_ENDPOINT_URL, then endpoint_url of the profile; without any of them, AWS itself.
  std::string endpoint = {};
  /// The region of the bucket. Default: AWS_REGION, then AWS_DEFAULT_REGION, then region of the
  /// profile, then "us-east-1". Where the service names another region, requests go there.
  std::string region = {};
  /// The section of ~/.aws/config and ~/.aws/credentials that is read. Default: AWS_PROFILE, then
  /// "default".
  std::string profile = {};
  /// Whether the bucket's name is in the path of a request and not in the host's name. Default:
  /// true if there is an endpoint, or if the bucket's name has dots.
  std::optional<bool> path_style = {};
  /// Whether an authority must have signed the server's certificate, which must name the server.
  bool verify_tls = true;
  /// File of the authorities to trust in place of the system's. Default: AWS_CA_BUNDLE, then
  /// ca_bundle of the profile.
  std::string ca_bundle = {};

  /// The longest time for connecting.
  std::chrono::milliseconds connect_limit{10'000};
  /// The time in which a transfer must move `least_bytes`. A slower transfer is ended and retried;
  /// the time that the server needs before it answers counts.
  std::chrono::milliseconds silence_limit{20'000};
  /// The bytes that a transfer must move within `silence_limit`.
  std::uint64_t least_bytes = 4096;

  /// The retry limit: how often a request is sent at most. Only failures that may pass are retried:
  /// outages, resets, throttling, 5xx, damaged answers.
  int attempts = 8;
  /// The time after which a request is not retried any more.
  std::chrono::milliseconds retry_limit{60'000};
  /// The limit of the pause before the second attempt. The limit doubles with each attempt, and the
  /// pause is chosen at random below it.
  std::chrono::milliseconds shortest_pause{100};
  /// The largest limit of a pause. A longer pause that the server asks for with Retry-After is
  /// kept, up to this limit.
  std::chrono::milliseconds longest_pause{10'000};

  /// The largest object that one PUT writes. A larger object is uploaded in parts of `part_size`.
  std::uint64_t largest_put = std::uint64_t{128} << 20U;
  /// The size of a part. S3 allows no part below 5 MiB but the last.
  std::uint64_t part_size = std::uint64_t{32} << 20U;
  /// A larger range is read in pieces of this size, several at a time.
  std::uint64_t read_size = std::uint64_t{8} << 20U;
  /// Ranges of one object with no more than this between them are read by one request.
  std::uint64_t read_gap = std::uint64_t{64} << 10U;
  /// The number of requests of one call that run at the same time.
  std::size_t parallel = 8;

  /// The pause of a watch between two requests after a change. The pause doubles each time when
  /// nothing has changed. A request is one LIST of a thousand objects.
  std::chrono::milliseconds shortest_look{250};
  /// The longest pause of a watch between two requests.
  std::chrono::milliseconds longest_look{5'000};
};

}  // namespace cupel
