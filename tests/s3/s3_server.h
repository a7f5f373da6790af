#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cupel/s3/s3_store.h"
#include "process/program.h"
#include "s3/curl.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel::testing {

/// A real S3 server, a process of its own on a free port of this machine. Its only user is
/// S3RVER, whose secret is S3RVER, too; the environment of every test says so, and nothing else of
/// AWS's.
class S3Server {
 public:
  /// The one that all tests of a program share, started at its first use; null where node or the
  /// server's package is missing (scripts/bootstrap.sh test installs both).
  static S3Server* shared();
  /// Whether both are there.
  static bool is_possible();

  /// One that its owner may stop. What it holds outlasts that.
  S3Server() : S3Server("http://127.0.0.1", std::vector<std::string>()) {}
  /// The same, which speaks https as `host` with a key and its certificate.
  S3Server(const std::string& host, const std::string& key_file,
           const std::string& certificate_file)
      : S3Server("https://" + host, std::vector{key_file, certificate_file}) {}
  /// Ends the process in the middle of what it does: connections are reset, and refused from now
  /// on. What had come whole may be stored without an answer.
  void stop();
  /// Starts it again on the same port.
  void start();

  int port() const { return port_; }
  std::string endpoint() const { return origin_ + ":" + std::to_string(port_); }
  Curl curl() const { return Curl(endpoint()); }
  /// Makes a bucket that nobody else uses.
  std::string make_bucket();

 private:
  S3Server(std::string origin, std::vector<std::string> key_and_certificate);

  ScratchDirectory directory_;
  std::string origin_;
  std::vector<std::string> key_and_certificate_;
  std::unique_ptr<Program> process_;
  int port_ = 0;  // 0: any that is free
  int buckets_ = 0;
};

/// Options for tests: they reach the server at `endpoint`, and nobody waits for long.
S3Options quick_options(const std::string& endpoint);

/// A test with a bucket of its own.
class S3Test : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = S3Server::shared();
    if (server_ == nullptr) GTEST_SKIP() << "node or the S3 server's package is not here";
    bucket_ = server_->make_bucket();
  }
  S3Server& server() { return *server_; }
  const std::string& bucket() const { return bucket_; }
  S3Options options() const { return quick_options(server_->endpoint()); }
  std::unique_ptr<S3Store> open(const std::string& prefix = "") const {
    return open_at(server_->endpoint(), prefix);
  }
  std::unique_ptr<S3Store> open_at(const std::string& endpoint,
                                   const std::string& prefix = "") const {
    return std::make_unique<S3Store>(S3Location{bucket_, prefix}, quick_options(endpoint));
  }

 private:
  S3Server* server_ = nullptr;
  std::string bucket_;
};

}  // namespace cupel::testing
