#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "s3_client.h"

namespace cupel::s3_detail {

/// Why a request failed, what its user can do, and whether to retry.
struct Failure {
  std::string cause;   // a phrase: "access is denied"
  std::string advice;  // what to do about it; may be empty
  std::string facts;   // "HTTP 403, AccessDenied, 'Access Denied', request 4442587FB7D0A2F9"
  bool again = false;  // retry now: the failure may pass within seconds
  bool later = false;  // the same call may succeed later: the error is retryable
  bool credentials_expired = false;
  std::chrono::milliseconds asked_pause{0};  // Retry-After
};

/// Reads an answer that is no success. Only code, message and request id are taken from it, cut and
/// printable. `permission` names what a policy must allow for this request.
Failure failure_of(const HttpResponse& response, std::string_view permission);

Failure failure_of(const TransportError& error);

/// Describes an answer with the status of a success that is not the answer to the request.
Failure damaged(std::string_view what);

/// The text with bytes below blank and above '~' as '?', and no longer than a line may be.
std::string printable(std::string_view text);

}  // namespace cupel::s3_detail
