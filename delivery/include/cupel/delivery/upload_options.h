#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cupel {

/// How the files of a spool are uploaded to the remote store.
struct UploadOptions {
  /// The number of concurrent requests.
  std::int64_t parallelism = 4;
  /// The bytes in memory for concurrent requests. A larger object is uploaded alone.
  std::uint64_t most_bytes = 256ULL << 20U;
  /// The pause after the first failure. It doubles after each further one; a part of it is chosen
  /// at random.
  std::chrono::milliseconds first_pause{200};
  /// The longest pause after a failure.
  std::chrono::milliseconds longest_pause{30'000};
  /// The pause after a failure that a retry does not help, such as a missing permission.
  std::chrono::milliseconds refused_pause{60'000};
};

/// The progress of uploading.
struct UploadProgress {
  std::size_t segments_waiting = 0;     ///< Segments that are not uploaded yet.
  std::uint64_t bytes_waiting = 0;      ///< Bytes of these segments.
  std::uint64_t segments_uploaded = 0;  ///< Segments that were uploaded.
  std::uint64_t bytes_uploaded = 0;     ///< Bytes of these segments.
  /// The reason why the last request failed; empty when it succeeded.
  std::string trouble = {};
  /// The first failure that a retry does not help; empty without one.
  std::string refusal = {};
};

}  // namespace cupel
