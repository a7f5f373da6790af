#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// A place in object storage: a bucket, and the prefix of all keys of a store.
///
///     S3Location::parse("s3://bucket/runs/mnist").object_name("index/a") == "runs/mnist/index/a"
struct S3Location {
  std::string bucket;
  std::string prefix;  ///< Without a slash at its beginning and end; may be empty.

  /// Reads "s3://bucket" or "s3://bucket/prefix"; slashes at the end are ignored. Throws UsageError
  /// with the reason when S3 does not allow the bucket's name, or when the prefix has parts that a
  /// Store's key may not have.
  static S3Location parse(std::string_view url);

  /// Returns the text that parse() reads.
  std::string url() const;

  /// Returns the name of the object for `key` of a store at this place. Throws UsageError when the
  /// name is longer than the 1024 bytes that S3 allows.
  std::string object_name(std::string_view key) const;

  bool operator==(const S3Location&) const = default;
};

}  // namespace cupel
