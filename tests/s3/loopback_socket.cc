#include "s3/loopback_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace cupel::testing {
namespace {

constexpr int kTickMs = 10;  // how long waiting goes on after it was stopped

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int new_socket() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw std::runtime_error("no socket");
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return descriptor;
}

bool readable(int descriptor, const std::atomic<bool>& stopped) {
  while (!stopped) {
    pollfd asked{descriptor, POLLIN, 0};
    if (::poll(&asked, 1, kTickMs) > 0) return true;
  }
  return false;
}

/// Where the header's line begins in the head, behind the line break before it; npos without it.
std::size_t find_header(const std::string& head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos;
       at = head.find("\r\n", at + 2)) {
    const std::size_t begin = at + 2;
    if (begin + name.size() < head.size() && head[begin + name.size()] == ':' &&
        ::strncasecmp(head.data() + begin, name.data(), name.size()) == 0)
      return begin;
  }
  return std::string::npos;
}

}  // namespace

LoopbackSocket::~LoopbackSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

LoopbackSocket LoopbackSocket::listening(int& port) {
  LoopbackSocket listener(new_socket());
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.descriptor_, any, size) != 0 || ::listen(listener.descriptor_, 64) != 0 ||
      ::getsockname(listener.descriptor_, any, &size) != 0)
    throw std::runtime_error("no listening socket");
  port = ntohs(address.sin_port);
  return listener;
}

LoopbackSocket LoopbackSocket::connected_to(int port) {
  LoopbackSocket socket(new_socket());
  sockaddr_in address = loopback(port);
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.descriptor_, any, sizeof address) != 0) return LoopbackSocket();
  return socket;
}

LoopbackSocket LoopbackSocket::accept(const std::atomic<bool>& stopped) const {
  if (!readable(descriptor_, stopped)) return LoopbackSocket();
  return LoopbackSocket(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
}

bool LoopbackSocket::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool LoopbackSocket::receive(std::string& text, const std::atomic<bool>& stopped) const {
  if (!readable(descriptor_, stopped)) return false;
  std::array<char, 65536> some{};
  const ssize_t got = ::recv(descriptor_, some.data(), some.size(), 0);
  if (got <= 0) return false;
  text.append(some.data(), static_cast<std::size_t>(got));
  return true;
}

bool LoopbackSocket::await_end(int milliseconds, const std::atomic<bool>& stopped) const {
  for (int waited = 0; !stopped && (milliseconds < 0 || waited < milliseconds);) {
    const int tick = milliseconds < 0 ? kTickMs : std::min(kTickMs, milliseconds - waited);
    pollfd asked{descriptor_, POLLRDHUP, 0};
    if (::poll(&asked, 1, tick) > 0) return true;
    waited += tick;
  }
  return false;
}

void LoopbackSocket::reset() {
  const linger at_once{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(descriptor_, -1));
}

std::string HttpText::header(std::string_view name) const {
  const std::size_t at = find_header(head, name);
  if (at == std::string::npos) return "";
  const std::size_t begin = head.find_first_not_of(' ', at + name.size() + 1);
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

void HttpText::remove_header(std::string_view name) {
  const std::size_t at = find_header(head, name);
  if (at != std::string::npos) head.erase(at, head.find("\r\n", at) + 2 - at);
}

void HttpText::set_header(std::string_view name, std::string_view value) {
  remove_header(name);
  head.insert(head.size() - 2, std::string(name).append(": ").append(value).append("\r\n"));
}

std::optional<HttpText> read_request(const LoopbackSocket& socket, std::string& rest,
                                     std::size_t at_most, const std::atomic<bool>& stopped) {
  const auto cut = [&] { return rest.size() >= at_most; };
  HttpText request;
  std::size_t end = 0;
  while ((end = rest.find("\r\n\r\n")) == std::string::npos)
    if (cut() || !socket.receive(rest, stopped)) return std::nullopt;
  request.head = rest.substr(0, end + 4);
  const std::string length = request.header("Content-Length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  while (rest.size() < request.head.size() + size && !cut())
    if (!socket.receive(rest, stopped)) return std::nullopt;
  request.body = rest.substr(request.head.size(), size);
  rest.erase(0, request.head.size() + request.body.size());
  return request;
}

}  // namespace cupel::testing
