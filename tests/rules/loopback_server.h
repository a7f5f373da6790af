#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cupel::testing {

/// An HTTP server on a free port of this machine that answers a request after another as it is
/// told: a status, kDrop (closes without an answer), kHang (never answers), kFlood (a
/// megabyte). The last of the script is repeated.
class LoopbackServer {
 public:
  static constexpr int kDrop = -1;
  static constexpr int kHang = -2;
  static constexpr int kFlood = -3;

  explicit LoopbackServer(std::vector<int> script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, any, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, any, &size) != 0)
      throw std::runtime_error("no loopback server");
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~LoopbackServer() {
    thread_.request_stop();
    thread_.join();
    for (const int connection : hanging_) ::close(connection);
    ::close(listener_);
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::string url(std::string_view path = "/hook") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  struct Request {
    std::string head;
    std::string body;
    /// The value of a header; "(none)" without it.
    std::string header(std::string_view name) const {
      const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
      if (at == std::string::npos) return "(none)";
      const std::size_t begin = at + 4 + name.size();
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
    std::string line() const { return head.substr(0, head.find("\r\n")); }
  };
  std::vector<Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  /// Waits until so many requests have come.
  void await(std::size_t count) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return requests_.size() >= count; });
  }

 private:
  static bool readable(int descriptor, int milliseconds) {
    pollfd asked{descriptor, POLLIN, 0};
    return ::poll(&asked, 1, milliseconds) > 0;
  }

  void serve(const std::stop_token& stop) {
    std::size_t count = 0;
    while (!stop.stop_requested()) {
      if (!readable(listener_, 10)) continue;
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      Request request;
      if (connection < 0 || !read(stop, connection, request)) {
        ::close(connection);
        continue;
      }
      const int answer = script_[std::min(count++, script_.size() - 1)];
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
      }
      news_.notify_all();
      if (answer == kHang) {
        hanging_.push_back(connection);
        continue;
      }
      if (answer != kDrop) write(connection, answer);
      ::close(connection);
    }
  }

  static bool read(const std::stop_token& stop, int connection, Request& request) {
    std::string text;
    while (!stop.stop_requested()) {
      const std::size_t end = text.find("\r\n\r\n");
      if (end != std::string::npos) {
        request.head = text.substr(0, end + 2);
        const std::string length = request.header("Content-Length");
        if (text.size() - end - 4 >= std::stoul(length)) {
          request.body = text.substr(end + 4);
          return true;
        }
      }
      if (!readable(connection, 10)) continue;
      std::array<char, 4096> some{};
      const ssize_t got = ::recv(connection, some.data(), some.size(), 0);
      if (got <= 0) return false;
      text.append(some.data(), static_cast<std::size_t>(got));
    }
    return false;
  }

  static void write(int connection, int answer) {
    const bool floods = answer == kFlood;
    const std::string body(floods ? 1U << 20U : 2U, 'x');
    std::string text = "HTTP/1.1 " + std::to_string(floods ? 200 : answer) +
                       " Said\r\nConnection: close\r\nLocation: /elsewhere\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n\r\n" + body;
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t sent = ::send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  const std::vector<int> script_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<int> hanging_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Request> requests_;
  std::jthread thread_;
};

}  // namespace cupel::testing
