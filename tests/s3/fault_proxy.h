#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "s3/loopback_socket.h"

namespace cupel::testing {

/// What happens to one request between a client and its server.
enum class Fault {
  None,
  ResetRequest,    // the connection is reset when `at` bytes of the request's body have come
  ResetAnswer,     // the request is carried out; reset after `at` bytes of the answer
  TruncateAnswer,  // the same, and the connection ends as if all were well
  InternalError,   // 500
  Unavailable,     // 503
  Throttled,       // 429 with Retry-After
  SilentBefore,    // the request is taken and nothing happens any more
  SilentAfter,     // the same, but it is carried out
  Trickle,         // the answer comes byte by byte, a byte each 5 ms
  Duplicate,       // the request is carried out twice
  LengthTooLong,   // the answer promises bytes that do not come
  LengthTooShort,  // the answer has bytes that it does not promise
  ExpiredToken,    // 400
  ClockSkew,       // 403
  Precondition,    // 412
  MovedRegion,     // 301: the bucket is in the region eu-north-1
  MovedHost,       // 307: the server's own address
  Garbage,         // something that is not HTTP
};
std::string_view name_of(Fault fault);
/// All of them but None.
const std::vector<Fault>& all_faults();

struct Plan {
  Fault fault = Fault::None;
  std::size_t at = 0;  // a byte, taken modulo what there is
};

/// Stands between clients and an S3 server on this machine, passes requests on one by one, and does
/// to each what its schedule says. Counts requests and faults that hit.
class FaultProxy {
 public:
  /// Chooses by the kind of a request (see count()) and its number, from 0 on. Called from several
  /// threads, one at a time.
  using Schedule = std::function<Plan(const std::string& kind, std::size_t number)>;

  explicit FaultProxy(int server_port, Schedule schedule = pass());
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  static Schedule pass();
  /// The first `times` requests of a kind ("" for any) meet the plan.
  static Schedule first(std::string kind, Plan plan, int times = 1);
  static Schedule always(Plan plan);

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void set_schedule(Schedule schedule);

  /// Requests that came since the counts were forgotten: LIST, GET, HEAD, PUT, DELETE for objects,
  /// and of uploads in parts BEGIN, PART, COMPLETE, ABORT. "" counts all.
  int count(const std::string& kind) const;
  void forget_counts();
  /// The faults that hit, in the order in which they did.
  std::vector<Fault> hits() const;
  /// Heads of all requests, as they came.
  std::vector<std::string> heads() const;

 private:
  void accept_all();
  void serve(LoopbackSocket client);
  /// Whether the connection goes on.
  bool serve_one(LoopbackSocket& client, std::string& rest);
  Plan note(const HttpText& request);
  HttpText ask_server(const HttpText& request) const;
  bool answer(LoopbackSocket& client, const HttpText& request, const Plan& plan);

  const int server_port_;
  int port_ = 0;
  const LoopbackSocket listener_;
  std::atomic<bool> stopped_ = false;
  mutable std::mutex mutex_;
  Schedule schedule_;  // guarded by mutex_, as are the following
  std::size_t requests_ = 0;
  std::map<std::string, int> counts_;
  std::vector<Fault> hits_;
  std::vector<std::string> heads_;
  std::vector<std::jthread> connections_;
  std::jthread acceptor_;
};

}  // namespace cupel::testing
