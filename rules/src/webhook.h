#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "go_on.h"

namespace cupel::rules_detail {

/// The result of one POST. The message never shows the URL.
struct WebhookAnswer {
  enum class How {
    Answered,  ///< With `status`.
    Failed,    ///< There was no answer, or none in time.
    Unusable,  ///< The URL cannot be used.
    Stopped,   ///< go_on returned false.
  };
  How how = How::Failed;
  long status = 0;
  std::string message = {};
};

/// Posts JSON to http and https URLs, by libcurl, of one thread. Certificates are verified, by the
/// system's authorities or by one of the request's; redirects are not followed, proxies are those
/// of the environment.
class Webhook {
 public:
  Webhook();
  ~Webhook();
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  struct Request {
    std::string url;
    std::string body;            ///< JSON.
    std::string incident;        ///< Safe in a header; lets the receiver know what it has seen.
    std::string authority = {};  ///< A file of trusted certificates; empty: the system's.
    std::chrono::milliseconds timeout;
  };
  WebhookAnswer post(const Request& request, const GoOn& go_on);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel::rules_detail
