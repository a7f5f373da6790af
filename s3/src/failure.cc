// Makes a Failure of an answer that is no success, and of a TransportError: the cause in words,
// advice for the user, and whether to retry now or later.
//
// A table has the codes of S3 and of servers that speak its protocol; a status without a known code
// stands for one. Only 5xx, throttling, timeouts and damage in transit are retried now. The texts
// of a service are cut to 300 bytes and made printable, and no other part of its answer gets into a
// message, since it may repeat secrets of the request. These are functions without state, for any
// thread.

#include "failure.h"

#include <algorithm>

#include "cupel/core/number_text.h"
#include "replies.h"

namespace cupel::s3_detail {
namespace {

constexpr std::size_t kLongestText = 300;

enum class Retry { Never, Later, Now };  // Now includes Later

/// The meaning of an error code of S3.
struct Known {
  std::string_view code;
  std::string_view cause;
  std::string_view advice;
  Retry retry;
};

constexpr std::string_view kWrongKey = "check AWS_ACCESS_KEY_ID, AWS_PROFILE and the endpoint";
constexpr std::string_view kExpired = "the session token has expired";
constexpr std::string_view kRenew = "get new credentials";
constexpr std::string_view kClock = "this machine's clock and the service's differ";
constexpr std::string_view kSetClock = "set the clock, for example by NTP";
constexpr std::string_view kElsewhere = "the bucket is in another region";
constexpr std::string_view kNameRegion = "name the bucket's region in AWS_REGION";
constexpr std::string_view kBusy = "the service asks for fewer requests";
constexpr std::string_view kFailed = "the service failed";
constexpr std::string_view kTransit = "what was sent arrived damaged";

constexpr Known kKnown[] = {
    {"NoSuchBucket", "there is no such bucket",
     "create it, or correct its name: cupel creates no buckets", Retry::Never},
    {"NoSuchKey", "there is no such object", "", Retry::Never},
    {"AccessDenied", "access is denied", "the policy of these credentials must allow ",
     Retry::Never},
    {"InvalidAccessKeyId", "the service does not know the access key", kWrongKey, Retry::Never},
    {"SignatureDoesNotMatch", "the signature does not fit the access key",
     "check AWS_SECRET_ACCESS_KEY", Retry::Never},
    {"InvalidToken", "the session token is not valid", "check AWS_SESSION_TOKEN", Retry::Never},
    {"ExpiredToken", kExpired, kRenew, Retry::Later},
    {"ExpiredTokenException", kExpired, kRenew, Retry::Later},
    {"TokenRefreshRequired", kExpired, kRenew, Retry::Later},
    {"RequestTimeTooSkewed", kClock, kSetClock, Retry::Later},
    {"RequestExpired", kClock, kSetClock, Retry::Later},
    {"PermanentRedirect", kElsewhere, kNameRegion, Retry::Never},
    {"TemporaryRedirect", kElsewhere, kNameRegion, Retry::Now},
    {"AuthorizationHeaderMalformed", kElsewhere, kNameRegion, Retry::Never},
    {"IllegalLocationConstraintException", kElsewhere, kNameRegion, Retry::Never},
    {"PreconditionFailed", "a condition of the request does not hold", "", Retry::Never},
    {"EntityTooLarge", "the object is too large for the service", "", Retry::Never},
    {"QuotaExceeded", "the bucket is full", "remove runs, or raise its quota", Retry::Later},
    {"InvalidRange", "the object is shorter", "", Retry::Never},
    {"InvalidObjectState", "the object is archived", "restore it first", Retry::Later},
    {"NotImplemented", "the server does not know this request", "", Retry::Never},
    {"SlowDown", kBusy, "", Retry::Now},
    {"Throttling", kBusy, "", Retry::Now},
    {"ThrottlingException", kBusy, "", Retry::Now},
    {"TooManyRequests", kBusy, "", Retry::Now},
    {"RequestLimitExceeded", kBusy, "", Retry::Now},
    {"ServiceUnavailable", kFailed, "", Retry::Now},
    {"InternalError", kFailed, "", Retry::Now},
    {"OperationAborted", "another request changes the same thing", "", Retry::Now},
    {"RequestTimeout", "the request arrived too slowly", "", Retry::Now},
    {"BadDigest", kTransit, "", Retry::Now},
    {"IncompleteBody", kTransit, "", Retry::Now},
    {"XAmzContentSHA256Mismatch", kTransit, "", Retry::Now},
};

/// The codes for answers without a known code. Answers to HEAD have none.
constexpr std::pair<int, std::string_view> kCodeOfStatus[] = {
    {301, "PermanentRedirect"},  {302, "TemporaryRedirect"},  {303, "TemporaryRedirect"},
    {307, "TemporaryRedirect"},  {308, "PermanentRedirect"},  {401, "AccessDenied"},
    {403, "AccessDenied"},       {404, "NoSuchKey"},          {408, "RequestTimeout"},
    {412, "PreconditionFailed"}, {413, "EntityTooLarge"},     {416, "InvalidRange"},
    {429, "TooManyRequests"},    {500, "InternalError"},      {501, "NotImplemented"},
    {502, "ServiceUnavailable"}, {503, "ServiceUnavailable"}, {504, "ServiceUnavailable"},
    {507, "QuotaExceeded"}};

const Known* find_code(std::string_view code) noexcept {
  const auto* const found = std::ranges::find(kKnown, code, &Known::code);
  return found == std::end(kKnown) ? nullptr : found;
}

const Known* find_status(int status) noexcept {
  const auto* const found =
      std::ranges::find(kCodeOfStatus, status, &std::pair<int, std::string_view>::first);
  if (found != std::end(kCodeOfStatus)) return find_code(found->second);
  return status >= 500 ? find_code("InternalError") : nullptr;
}

std::string facts_of(const HttpResponse& response, const ErrorReply& reply) {
  std::string facts = "HTTP " + std::to_string(response.status);
  if (!reply.code.empty()) facts += ", " + printable(reply.code);
  if (!reply.message.empty()) facts += ", '" + printable(reply.message) + "'";
  const std::string_view header = response.header("x-amz-request-id");
  const std::string_view request = header.empty() ? std::string_view(reply.request_id) : header;
  if (!request.empty()) facts += ", request " + printable(request);
  return facts;
}

/// Reads Retry-After in seconds. Dates are not read: they are times of the service's clock.
std::chrono::milliseconds pause_of(const HttpResponse& response) {
  const auto seconds = parse_integer<unsigned>(response.header("retry-after"));
  return std::chrono::seconds(std::min(seconds.value_or(0), 3600U));
}

Failure described(std::string_view cause, std::string_view advice, Retry retry) {
  Failure failure;
  failure.cause = cause;
  failure.advice = advice;
  failure.again = retry == Retry::Now;
  failure.later = retry != Retry::Never;
  return failure;
}

}  // namespace

Failure failure_of(const HttpResponse& response, std::string_view permission) {
  const ErrorReply reply = read_error(response.text());
  const Known* known = find_code(reply.code);
  if (known == nullptr) known = find_status(response.status);
  Failure failure = known == nullptr
                        ? described("the service refused the request", "", Retry::Never)
                        : described(known->cause, known->advice, known->retry);
  if (failure.advice.ends_with(' ')) failure.advice += permission;
  const bool is_elsewhere = failure.advice == kNameRegion;
  const std::string_view header = response.header("x-amz-bucket-region");
  const std::string_view region = header.empty() ? std::string_view(reply.region) : header;
  if (is_elsewhere && !region.empty()) failure.advice += ", " + printable(region);
  // An unknown code of a failing server is retried as its status is.
  if (response.status >= 500 && response.status != 501 && response.status != 507)
    failure.again = failure.later = true;
  failure.credentials_expired = failure.cause == kExpired;
  failure.asked_pause = pause_of(response);
  failure.facts = facts_of(response, reply);
  return failure;
}

Failure failure_of(const TransportError& error) {
  const auto make = [&](std::string_view cause, std::string_view advice, Retry retry) {
    Failure failure = described(cause, advice, retry);
    failure.facts = printable(error.what());
    return failure;
  };
  switch (error.trouble) {
    case Trouble::Unreachable:
      return make("the server cannot be reached",
                  "check the endpoint, http or https, and the network", Retry::Now);
    case Trouble::Silent:
      return make("no answer came in time", "", Retry::Now);
    case Trouble::TooLong:
      return make("the answer cannot be taken", "", Retry::Never);
    case Trouble::NoCredentials:
      return make("there are no credentials",
                  "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this "
                  "machine a role",
                  Retry::Later);
    case Trouble::SignsInBySso:
      return make("the profile signs in by SSO, which is not supported",
                  "after 'aws sso login', name in AWS_PROFILE another profile with "
                  "credential_process = aws configure export-credentials --profile <this one>",
                  Retry::Later);
    case Trouble::Untrusted:
      return make("TLS could not be agreed on with the server",
                  "name the authority that signed its certificate in AWS_CA_BUNDLE, and check that "
                  "the endpoint speaks https",
                  Retry::Later);
    case Trouble::Forked:
      return make("a store does not work on both sides of a fork", "open it in the child, alone",
                  Retry::Never);
    case Trouble::Stopped:
      return make("the call was ended from outside", "", Retry::Later);
    case Trouble::Broken:
      break;
  }
  return make("the connection broke", "", Retry::Now);
}

Failure damaged(std::string_view what) {
  Failure failure = described("the answer is damaged", "", Retry::Now);
  failure.facts = what;
  return failure;
}

std::string printable(std::string_view text) {
  std::string result(text.substr(0, kLongestText));
  for (char& c : result)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > kLongestText) result += "...";
  return result;
}

}  // namespace cupel::s3_detail
