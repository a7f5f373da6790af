// Session sends the requests of one store: address, retries, redirects, errors.
//
// The calling thread sends and waits. A failure that may pass, such as 503, is retried here and
// nowhere else: up to S3Options::attempts times within retry_limit, after pauses chosen at random
// below a limit that doubles, or after Retry-After. An answer with a flaw counts as such a failure.
// Expired credentials are read again once. Redirects lead to another region of AWS or stay on the
// same host. Everything else, and the last failure, is a StoreError that names location, bucket,
// object, HTTP status and the number of attempts. stop() ends running calls from any thread.

#include "session.h"

#include <algorithm>
#include <random>
#include <utility>

#include "cupel/core/mutex.h"
#include "replies.h"

namespace cupel::s3_detail {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kMostRedirects = 4;

bool is_redirect(int status) noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Whether a redirect may be followed. Requests carry the session token, so they go only to servers
/// of the owner of the configured one, and never from TLS to a server without it.
bool may_follow(const Origin& from, const Origin& to) noexcept {
  const bool same_owner =
      from.host == to.host || (is_s3_of_aws(from.host) && is_s3_of_aws(to.host));
  return same_owner && (to.tls || !from.tls);
}

milliseconds random_below(milliseconds limit) {
  thread_local std::minstd_rand engine(std::random_device{}());
  return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, limit.count())(engine));
}

}  // namespace

/// Counts the attempts of one call, and waits between them.
class Session::Attempts {
 public:
  Attempts(const S3Options& options, std::stop_token stop)
      : options_(options), stop_(std::move(stop)), limit_(options.shortest_pause) {}

  int made() const noexcept { return made_; }
  void begin() noexcept { ++made_; }

  /// Waits, and returns whether to retry.
  bool pause(const Failure& failure) {
    if (!failure.again || made_ >= options_.attempts) return false;
    const milliseconds asked = std::min(failure.asked_pause, options_.longest_pause);
    const milliseconds pause = std::max(asked, random_below(limit_));
    limit_ = std::min(2 * limit_, options_.longest_pause);
    if (Clock::now() + pause > begin_ + options_.retry_limit) return false;
    Mutex mutex;
    MutexLock lock(mutex);
    StoppableCondition().wait_for(lock, stop_, pause, [] { return false; });
    return !stop_.stop_requested();
  }

  std::string described() const {
    const auto spent = std::chrono::duration_cast<milliseconds>(Clock::now() - begin_);
    return std::to_string(made_) + (made_ == 1 ? " attempt in " : " attempts in ") +
           std::to_string(spent.count()) + " ms";
  }

 private:
  const S3Options& options_;
  const std::stop_token stop_;
  const Clock::time_point begin_ = Clock::now();
  milliseconds limit_;
  int made_ = 0;
};

Session::Session(std::shared_ptr<S3Client> client, Configuration configuration, S3Location location)
    : client_(std::move(client)),
      configuration_(std::move(configuration)),
      location_(std::move(location)),
      region_(configuration_.region) {}

HttpResponse Session::call(const Call& call) {
  Attempts attempts(options(), stop_.get_token());
  bool renewed = false;
  for (;;) {
    attempts.begin();
    Failure failure;
    if (auto response = attempt(call, failure)) return *std::move(response);
    // Tools that renew credentials write them to the profile while the process runs.
    if (failure.credentials_expired && !std::exchange(renewed, true)) {
      client_->forget_credentials();
      failure.again = true;
    }
    if (attempts.pause(failure)) continue;
    throw error(call, failure, attempts.described());
  }
}

void Session::refuse(const Call& call, const HttpResponse& response) const {
  throw error(call, failure_of(response, call.permission), "");
}

StoreError Session::error(const Call& call, const Failure& failure, std::string_view effort) const {
  std::string text = "cannot " + std::string(call.action) + ", " + failure.cause;
  if (!failure.advice.empty()) text += "; " + failure.advice;
  text += ": bucket " + location_.bucket;
  if (!call.object.empty()) text += ", object " + call.object;
  text += ", " + failure.facts;
  if (!effort.empty()) text.append(", ").append(effort);
  return {std::string(call.key), failure.later, text, location_.url()};
}

std::optional<HttpResponse> Session::attempt(const Call& call, Failure& failure) {
  try {
    if (stop_.stop_requested()) throw TransportError(Trouble::Stopped, "the store was stopped");
    HttpRequest request = address(call);
    HttpResponse response = client_->send(request, stop_.get_token());
    for (int i = 0; i < kMostRedirects && redirect(response, call, request); ++i)
      response = client_->send(request, stop_.get_token());
    const bool expected = std::ranges::find(call.answers, response.status) != call.answers.end();
    if (!response.ok() && !expected) {
      failure = failure_of(response, call.permission);
      return std::nullopt;
    }
    const char* const flaw = call.flaw && response.ok() ? call.flaw(response) : nullptr;
    if (flaw == nullptr) return response;
    failure = damaged(flaw);
  } catch (const TransportError& error) {
    failure = failure_of(error);
  }
  return std::nullopt;
}

HttpRequest Session::address(const Call& call) const {
  HttpRequest request;
  request.method = call.method;
  request.region = region();
  request.origin = configuration_.origin(location_.bucket, request.region);
  request.target = configuration_.base_path(location_.bucket);
  if (request.target.empty() || !call.object.empty())
    request.target += "/" + percent_encode(call.object, Slashes::Keep);
  if (!call.query.empty()) request.target += "?" + call.query;
  request.headers = call.headers;
  request.body = call.body;
  request.into = call.into;
  request.at_most = call.at_most;
  request.limits = {options().silence_limit * call.patience, options().least_bytes};
  return request;
}

/// Changes the request to follow a redirect. Returns false if the answer is none, or leads where
/// requests may not go.
bool Session::redirect(const HttpResponse& response, const Call& call, HttpRequest& request) {
  if (!is_redirect(response.status) && response.status != 400) return false;
  const ErrorReply reply = read_error(response.text());
  const std::string_view header = response.header("x-amz-bucket-region");
  const std::string place(header.empty() ? std::string_view(reply.region) : header);
  if (is_region(place) && place != request.region) {
    {
      const MutexLock lock(mutex_);
      region_ = place;
    }
    request = address(call);
    return true;
  }
  if (!is_redirect(response.status)) return false;
  const auto url = parse_url(response.header("location"));
  const bool elsewhere = url && !(url->origin == request.origin && url->target == request.target);
  if (!elsewhere || !may_follow(request.origin, url->origin)) return false;
  request.origin = url->origin;
  request.target = url->target;
  return true;
}

std::string Session::region() const {
  const MutexLock lock(mutex_);
  return region_;
}

}  // namespace cupel::s3_detail
