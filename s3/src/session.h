#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "configuration.h"
#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "failure.h"
#include "s3_client.h"

namespace cupel::s3_detail {

/// One request to S3. All that it points to is borrowed for the time of the call.
struct Call {
  std::string_view action;      // for messages: "read the object"
  std::string_view permission;  // for messages: "s3:GetObject"
  std::string method;
  std::string_view key = {};  // of the store, for errors
  std::string object = {};    // empty: the bucket itself
  std::string query = {};     // percent-encoded, without the '?'
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::span<const std::byte> body = {};
  std::span<const Piece> into = {};
  std::uint64_t at_most = 1U << 20U;
  /// A factor for the limit on silence, for requests that take servers long.
  int patience = 1;
  /// Answers with these statuses are returned like successes, and not thrown.
  std::vector<int> answers = {};
  /// Returns what is wrong with a success, or null. A request with a wrong answer is retried.
  std::function<const char*(const HttpResponse&)> flaw = {};
};

/// Sends requests to one bucket: adds the address, retries failures that may pass, follows
/// redirects, and throws StoreError for other failures. Several threads may call.
class Session {
 public:
  Session(std::shared_ptr<S3Client> client, Configuration configuration, S3Location location);

  /// Returns a success, or an answer with one of the statuses `call.answers`. Throws StoreError.
  HttpResponse call(const Call& call);

  /// Throws the error that call() throws for such an answer without `call.answers`.
  [[noreturn]] void refuse(const Call& call, const HttpResponse& response) const;

  /// Ends running calls, and lets later ones fail.
  void stop() noexcept { stop_.request_stop(); }
  std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  const S3Location& location() const noexcept { return location_; }
  const S3Options& options() const noexcept { return configuration_.options; }

 private:
  class Attempts;

  /// Sends the request once and follows redirects. Returns nothing, and sets `failure`, when it
  /// failed.
  std::optional<HttpResponse> attempt(const Call& call, Failure& failure);
  StoreError error(const Call& call, const Failure& failure, std::string_view effort) const;
  HttpRequest address(const Call& call) const;
  bool redirect(const HttpResponse& response, const Call& call, HttpRequest& request);
  std::string region() const;

  const std::shared_ptr<S3Client> client_;
  const Configuration configuration_;
  const S3Location location_;
  std::stop_source stop_;
  mutable Mutex mutex_;
  // The bucket's region, as the last redirect names it.
  std::string region_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel::s3_detail
