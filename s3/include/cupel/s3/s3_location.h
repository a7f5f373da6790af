#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// A place in object storage: a bucket, and what all keys of a store stand behind.
///
///     S3Location::parse("s3://bucket/runs/mnist").object_name("index/a") == "runs/mnist/index/a"
struct S3Location {
  std::string bucket;
  std::string prefix;  ///< Neither begins nor ends with a slash; may be empty.

  /// Reads "s3://bucket" or "s3://bucket/prefix"; slashes at the end are ignored. Throws UsageError
  /// with what is wrong when the bucket's name is none that S3 gives out, or when the prefix has
  /// parts that a Store's key may not have.
  static S3Location parse(std::string_view url);

  /// What parse() reads.
  std::string url() const;

  /// The object that a store at this place calls `key`. Throws UsageError when that is longer than
  /// the 1024 bytes that S3 allows.
  std::string object_name(std::string_view key) const;

  bool operator==(const S3Location&) const = default;
};

}  // namespace cupel
