#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cupel {

/// The client of aws-c-s3 with the options that it has by itself: what an S3Store is compared with.
/// Objects above 8 MiB go in parts beside each other, both ways. Ends the program on any error.
class BareS3Client {
 public:
  /// `endpoint` is a URL. Credentials are those of the environment.
  explicit BareS3Client(const std::string& endpoint);
  ~BareS3Client();

  /// Seconds that putting all of `bytes`, or getting as many as `out` holds, took. The path is that
  /// of the request, "/bucket/object".
  double put(const std::string& path, std::span<const std::byte> bytes);
  double get(const std::string& path, std::span<std::byte> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
