// Connections of the AWS runtime to one server: opening, waiting for one, giving it back.
//
// The calling thread waits for an Arrival, which a callback on a thread of the runtime fills in.
// Each side may end first, so the Arrival is shared: a caller that stops waiting marks it unwanted,
// and the callback then gives the connection back. Failing to connect and failing TLS are
// TransportError; a failed TLS negotiation is reported to all waiting calls at once.

#include "crt_connections.h"

#include <aws/http/proxy.h>
#include <aws/io/socket.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cupel/core/mutex.h"
#include "proxy.h"
#include "s3_client.h"

namespace cupel::s3_detail {

namespace {

constexpr std::size_t kMostConnections = 32;
// Servers close idle connections after some seconds.
constexpr std::uint64_t kIdleMilliseconds = 3000;

}  // namespace

/// A connection that is being opened. The caller may stop waiting before it is open.
struct Arrival {
  Mutex mutex;
  StoppableCondition come;
  bool done CUPEL_GUARDED_BY(mutex) = false;
  bool unwanted CUPEL_GUARDED_BY(mutex) = false;
  int error CUPEL_GUARDED_BY(mutex) = 0;
  aws_http_connection* connection CUPEL_GUARDED_BY(mutex) = nullptr;
  aws_http_connection_manager* manager = nullptr;  // constant once a connection is asked for

  void fail(int with) {
    const MutexLock lock(mutex);
    if (std::exchange(done, true)) return;
    unwanted = true;
    error = with;
    come.notify_all();
  }
};

/// The calls that wait for a connection to one server. When TLS fails, they end at once: the
/// library itself reports that failure ten to thirty seconds later, to hide the reason from
/// attackers.
class Waiting {
 public:
  void add(std::shared_ptr<Arrival> arrival) {
    const MutexLock lock(mutex_);
    arrivals_.push_back(std::move(arrival));
  }
  void remove(const std::shared_ptr<Arrival>& arrival) {
    const MutexLock lock(mutex_);
    std::erase(arrivals_, arrival);
  }
  void fail(int error) {
    const MutexLock lock(mutex_);
    for (const auto& arrival : arrivals_) arrival->fail(error);
  }

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<Arrival>> arrivals_ CUPEL_GUARDED_BY(mutex_);
};

extern "C" {

static void take_connection(aws_http_connection* connection, int error, void* user_data) {
  const std::unique_ptr<std::shared_ptr<Arrival>> owned(
      static_cast<std::shared_ptr<Arrival>*>(user_data));
  Arrival& arrival = **owned;
  const MutexLock lock(arrival.mutex);
  if (arrival.unwanted) {
    if (connection != nullptr)
      aws_http_connection_manager_release_connection(arrival.manager, connection);
    return;
  }
  arrival.done = true;
  arrival.error = error;
  arrival.connection = connection;
  arrival.come.notify_all();
}

static void tls_negotiated(aws_channel_handler*, aws_channel_slot*, int error, void* waiting) {
  if (error != 0) static_cast<Waiting*>(waiting)->fail(error);
}

static void free_waiting(void* waiting) { delete static_cast<Waiting*>(waiting); }

}  // extern "C"

Connections::Connections(const Origin& origin, aws_tls_ctx* tls_context,
                         std::chrono::milliseconds connect_limit) {
  auto waiting = std::make_unique<Waiting>();
  aws_socket_options socket{};
  socket.type = AWS_SOCKET_STREAM;
  socket.domain = AWS_SOCKET_IPV4;
  socket.connect_timeout_ms = static_cast<std::uint32_t>(connect_limit.count());
  if (origin.host.find(':') != std::string::npos) socket.domain = AWS_SOCKET_IPV6;
  aws_tls_connection_options tls{};
  if (origin.tls) {
    aws_tls_connection_options_init_from_ctx(&tls, tls_context);
    aws_byte_cursor name = cursor(origin.host);
    aws_tls_connection_options_set_server_name(&tls, aws_default_allocator(), &name);
    aws_tls_connection_options_set_callbacks(&tls, tls_negotiated, nullptr, nullptr, waiting.get());
  }
  proxy_env_var_settings proxies{};
  proxies.env_var_type = goes_by_proxy(origin.host) ? AWS_HPEV_ENABLE : AWS_HPEV_DISABLE;
  aws_http_connection_manager_options options{};
  options.bootstrap = shared_bootstrap();
  options.initial_window_size = SIZE_MAX;
  options.socket_options = &socket;
  options.tls_connection_options = origin.tls ? &tls : nullptr;
  options.host = cursor(origin.host);
  options.port = origin.port;
  options.proxy_ev_settings = &proxies;
  options.max_connections = kMostConnections;
  options.max_connection_idle_in_milliseconds = kIdleMilliseconds;
  options.shutdown_complete_callback = free_waiting;
  options.shutdown_complete_user_data = waiting.get();
  manager_.reset(aws_http_connection_manager_new(aws_default_allocator(), &options));
  if (origin.tls) aws_tls_connection_options_clean_up(&tls);
  if (!manager_) throw TransportError(Trouble::Unreachable, crt_text(aws_last_error()));
  waiting_ = waiting.release();
}

Lease::Lease(const Connections& connections, const std::stop_token& stop)
    : manager_(connections.manager_.get()) {
  const auto arrival = std::make_shared<Arrival>();
  arrival->manager = manager_;
  connections.waiting_->add(arrival);
  auto given = std::make_unique<std::shared_ptr<Arrival>>(arrival);
  aws_http_connection_manager_acquire_connection(manager_, take_connection, given.release());
  {
    MutexLock lock(arrival->mutex);
    if (!arrival->come.wait(lock, stop,
                            [&]() CUPEL_REQUIRES(arrival->mutex) { return arrival->done; }))
      arrival->unwanted = true;
  }
  connections.waiting_->remove(arrival);
  // From here on the arrival does not change: later callbacks find it done, or unwanted.
  const MutexLock lock(arrival->mutex);
  if (!arrival->done) throw TransportError(Trouble::Stopped, "connecting was stopped");
  connection_ = arrival->connection;
  if (connection_ != nullptr) return;
  const bool of_tls = arrival->error == AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE ||
                      arrival->error == AWS_IO_TLS_ERROR_NOT_NEGOTIATED;
  throw TransportError(of_tls ? Trouble::Untrusted : Trouble::Unreachable,
                       crt_text(arrival->error));
}

Lease::~Lease() {
  if (connection_ != nullptr) aws_http_connection_manager_release_connection(manager_, connection_);
}

}  // namespace cupel::s3_detail
