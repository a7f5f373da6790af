#pragma once

#include <sys/types.h>

#include <string>

namespace cupel {

/// A server on this machine that holds objects in memory and speaks as much of S3 as putting and
/// getting them takes, in parts as well. It checks no signatures and computes nothing, so that what
/// is measured is the client. A process of its own, which goes with this object.
class ObjectServer {
 public:
  /// Before the process has other threads.
  ObjectServer();
  ~ObjectServer();
  ObjectServer(const ObjectServer&) = delete;
  ObjectServer& operator=(const ObjectServer&) = delete;

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  pid_t process_ = -1;
};

}  // namespace cupel
