#include "s3/fault_proxy.h"

#include <algorithm>
#include <utility>

namespace cupel::testing {
namespace {

constexpr std::size_t kLargestRequest = std::size_t{512} << 20U;
constexpr int kTrickleMs = 5;

/// What the request is for, by its first line: "GET /bucket?list-type=2 HTTP/1.1".
std::string kind_of(const HttpText& request) {
  const std::string line = request.first_line();
  const std::string method = line.substr(0, line.find(' '));
  const auto asks = [&](const char* text) { return line.find(text) != std::string::npos; };
  if (asks("list-type=")) return "LIST";
  if (asks("uploads=")) return "BEGIN";
  if (asks("partNumber=")) return "PART";
  if (asks("uploadId=")) return method == "POST" ? "COMPLETE" : "ABORT";
  return method;
}

HttpText refusal(const std::string& status, const std::string& code, const std::string& headers) {
  HttpText answer;
  answer.body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>" + code +
                "</Code><Message>said by the proxy</Message><RequestId>REQ1</RequestId></Error>";
  answer.head = "HTTP/1.1 " + status + "\r\nContent-Type: application/xml\r\n" + headers +
                "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n";
  return answer;
}

/// The answers that the proxy gives itself.
HttpText refusal(Fault fault, const HttpText& request, int server_port) {
  const std::string line = request.first_line();
  const std::size_t begin = line.find(' ') + 1;
  const std::string target = line.substr(begin, line.rfind(' ') - begin);
  switch (fault) {
    case Fault::InternalError:
      return refusal("500 Internal Server Error", "InternalError", "");
    case Fault::Unavailable:
      return refusal("503 Service Unavailable", "SlowDown", "");
    case Fault::Throttled:
      return refusal("429 Too Many Requests", "TooManyRequests", "Retry-After: 1\r\n");
    case Fault::ExpiredToken:
      return refusal("400 Bad Request", "ExpiredToken", "");
    case Fault::ClockSkew:
      return refusal("403 Forbidden", "RequestTimeTooSkewed", "");
    case Fault::Precondition:
      return refusal("412 Precondition Failed", "PreconditionFailed", "");
    case Fault::MovedRegion:
      return refusal("301 Moved Permanently", "PermanentRedirect",
                     "x-amz-bucket-region: eu-north-1\r\n");
    default:
      return refusal("307 Temporary Redirect", "TemporaryRedirect",
                     "Location: http://127.0.0.1:" + std::to_string(server_port) + target + "\r\n");
  }
}

bool is_refusal(Fault fault) {
  return fault == Fault::InternalError || fault == Fault::Unavailable ||
         fault == Fault::Throttled || fault == Fault::ExpiredToken || fault == Fault::ClockSkew ||
         fault == Fault::Precondition || fault == Fault::MovedRegion || fault == Fault::MovedHost;
}

constexpr std::pair<Fault, std::string_view> kNames[] = {
    {Fault::ResetRequest, "reset_request"},
    {Fault::ResetAnswer, "reset_answer"},
    {Fault::TruncateAnswer, "truncate"},
    {Fault::InternalError, "internal_error"},
    {Fault::Unavailable, "unavailable"},
    {Fault::Throttled, "throttled"},
    {Fault::SilentBefore, "silent_before"},
    {Fault::SilentAfter, "silent_after"},
    {Fault::Trickle, "trickle"},
    {Fault::Duplicate, "duplicate"},
    {Fault::LengthTooLong, "length_long"},
    {Fault::LengthTooShort, "length_short"},
    {Fault::ExpiredToken, "expired_token"},
    {Fault::ClockSkew, "clock_skew"},
    {Fault::Precondition, "precondition"},
    {Fault::MovedRegion, "moved_region"},
    {Fault::MovedHost, "moved_host"},
    {Fault::Garbage, "garbage"},
};

}  // namespace

std::string_view name_of(Fault fault) {
  const auto* const found =
      std::ranges::find(kNames, fault, &std::pair<Fault, std::string_view>::first);
  return found == std::end(kNames) ? "none" : found->second;
}

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> faults = [] {
    std::vector<Fault> all;
    for (const auto& [fault, name] : kNames) all.push_back(fault);
    return all;
  }();
  return faults;
}

FaultProxy::FaultProxy(int server_port, Schedule schedule)
    : server_port_(server_port),
      listener_(LoopbackSocket::listening(port_)),
      schedule_(std::move(schedule)),
      acceptor_([this] { accept_all(); }) {}

FaultProxy::~FaultProxy() {
  stopped_ = true;
  acceptor_.join();
  connections_.clear();  // joins
}

FaultProxy::Schedule FaultProxy::pass() {
  return [](const std::string&, std::size_t) { return Plan(); };
}

FaultProxy::Schedule FaultProxy::first(std::string kind, Plan plan, int times) {
  return [kind = std::move(kind), plan, times](const std::string& asked, std::size_t) mutable {
    const bool meets = times > 0 && (kind.empty() || kind == asked);
    if (meets) --times;
    return meets ? plan : Plan();
  };
}

FaultProxy::Schedule FaultProxy::always(Plan plan) {
  return [plan](const std::string&, std::size_t) { return plan; };
}

void FaultProxy::set_schedule(Schedule schedule) {
  const std::lock_guard lock(mutex_);
  schedule_ = std::move(schedule);
}

int FaultProxy::count(const std::string& kind) const {
  const std::lock_guard lock(mutex_);
  int sum = 0;
  for (const auto& [name, times] : counts_)
    if (kind.empty() || kind == name) sum += times;
  return sum;
}

void FaultProxy::forget_counts() {
  const std::lock_guard lock(mutex_);
  counts_.clear();
}

std::vector<Fault> FaultProxy::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

std::vector<std::string> FaultProxy::heads() const {
  const std::lock_guard lock(mutex_);
  return heads_;
}

void FaultProxy::accept_all() {
  while (!stopped_) {
    LoopbackSocket client = listener_.accept(stopped_);
    if (!client) continue;
    connections_.emplace_back(
        [this, owned = std::move(client)]() mutable { serve(std::move(owned)); });
  }
}

void FaultProxy::serve(LoopbackSocket client) {
  std::string rest;
  while (!stopped_ && serve_one(client, rest)) {
  }
}

bool FaultProxy::serve_one(LoopbackSocket& client, std::string& rest) {
  // The head alone says what is to happen; the body may not be needed.
  while (rest.find("\r\n\r\n") == std::string::npos)
    if (!client.receive(rest, stopped_)) return false;
  const HttpText head{rest.substr(0, rest.find("\r\n\r\n") + 4), ""};
  const Plan plan = note(head);
  if (plan.fault == Fault::ResetRequest) {
    const std::string length = head.header("Content-Length");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    read_request(client, rest, head.head.size() + plan.at % (size + 1), stopped_);
    client.reset();
    return false;
  }
  const auto request = read_request(client, rest, kLargestRequest, stopped_);
  return request && answer(client, *request, plan);
}

Plan FaultProxy::note(const HttpText& request) {
  const std::string kind = kind_of(request);
  const std::lock_guard lock(mutex_);
  ++counts_[kind];
  heads_.push_back(request.head);
  const Plan plan = schedule_(kind, requests_++);
  if (plan.fault != Fault::None) hits_.push_back(plan.fault);
  return plan;
}

/// On a connection of its own, so that the answer's end is the connection's.
HttpText FaultProxy::ask_server(const HttpText& request) const {
  const LoopbackSocket server = LoopbackSocket::connected_to(server_port_);
  HttpText forwarded = request;
  forwarded.set_header("Connection", "close");
  std::string text;
  if (server && server.send(forwarded.head + forwarded.body))
    while (server.receive(text, stopped_)) {
    }
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return refusal("502 Bad Gateway", "ServiceUnavailable", "");
  HttpText answer{text.substr(0, end + 4), text.substr(end + 4)};
  answer.remove_header("Connection");
  return answer;
}

bool FaultProxy::answer(LoopbackSocket& client, const HttpText& request, const Plan& plan) {
  if (plan.fault == Fault::SilentBefore) return client.await_end(-1, stopped_), false;
  if (plan.fault == Fault::Garbage) return client.send("\x16\x03 what?\r\n\r\n"), false;
  if (plan.fault == Fault::Duplicate) ask_server(request);
  HttpText answer =
      is_refusal(plan.fault) ? refusal(plan.fault, request, server_port_) : ask_server(request);
  if (request.head.starts_with("HEAD ")) answer.body.clear();
  const std::string length = answer.header("Content-Length");
  const std::size_t promised = length.empty() ? 0 : std::stoul(length);
  if (plan.fault == Fault::LengthTooLong)
    answer.set_header("Content-Length", std::to_string(promised + 1 + plan.at % 100));
  if (plan.fault == Fault::LengthTooShort && promised > 0)
    answer.set_header("Content-Length", std::to_string(plan.at % promised));
  const std::string text = answer.head + answer.body;
  switch (plan.fault) {
    case Fault::SilentAfter:
      return client.await_end(-1, stopped_), false;
    case Fault::ResetAnswer:
      client.send(std::string_view(text).substr(0, plan.at % (text.size() + 1)));
      client.reset();
      return false;
    case Fault::TruncateAnswer:
      client.send(std::string_view(text).substr(0, plan.at % text.size()));
      return false;
    case Fault::Trickle:
      for (const char& byte : text)
        if (!client.send({&byte, 1}) || client.await_end(kTrickleMs, stopped_)) return false;
      return true;
    default:
      return client.send(text);
  }
}

}  // namespace cupel::testing
