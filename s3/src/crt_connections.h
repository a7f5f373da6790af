#pragma once

#include <aws/http/connection.h>
#include <aws/http/connection_manager.h>

#include <chrono>
#include <memory>
#include <stop_token>

#include "crt_runtime.h"
#include "url.h"

namespace cupel::s3_detail {

struct Arrival;
class Waiting;

/// The connections to one server, kept for a while after their use.
class Connections {
 public:
  /// `tls` is used if the origin asks for it. Throws TransportError: Unreachable.
  Connections(const Origin& origin, aws_tls_ctx* tls, std::chrono::milliseconds connect_limit);

 private:
  friend class Lease;
  using Manager = Handle<aws_http_connection_manager, aws_http_connection_manager_release>;

  Waiting* waiting_ = nullptr;  // goes with the manager, whose threads may outlive this
  Manager manager_;
};

/// One of the connections, which the destructor gives back.
class Lease {
 public:
  /// Throws TransportError: Unreachable, Untrusted or Stopped.
  Lease(const Connections& connections, const std::stop_token& stop);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  aws_http_connection* get() const noexcept { return connection_; }

 private:
  aws_http_connection_manager* const manager_;
  aws_http_connection* connection_ = nullptr;
};

}  // namespace cupel::s3_detail
