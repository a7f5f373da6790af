#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::testing {

/// Another client of the server that S3 is tested against: the program curl, which signs for
/// itself. What it finds in a bucket is the truth.
class Curl {
 public:
  explicit Curl(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  void make_bucket(const std::string& bucket) const;
  void put(const std::string& bucket, const std::string& object, std::string_view bytes) const;
  /// The object's bytes; nothing if there is none.
  std::optional<std::string> get(const std::string& bucket, const std::string& object) const;
  /// Names and bytes of all objects, a thousand at most.
  std::map<std::string, std::string> objects(const std::string& bucket) const;

 private:
  struct Answer {
    int status = 0;
    std::string body;
  };
  Answer ask(const std::string& arguments, const std::string& path) const;

  std::string endpoint_;
};

}  // namespace cupel::testing
