#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cupel::testing {

/// A TCP socket on this machine, for the servers of tests. Waiting ends when `stopped` is set.
class LoopbackSocket {
 public:
  explicit LoopbackSocket(int descriptor = -1) : descriptor_(descriptor) {}
  ~LoopbackSocket();
  LoopbackSocket(LoopbackSocket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LoopbackSocket& operator=(LoopbackSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  static LoopbackSocket listening(int& port);
  static LoopbackSocket connected_to(int port);

  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  /// The next connection; none when stopped.
  LoopbackSocket accept(const std::atomic<bool>& stopped) const;
  /// False when the other side has gone.
  bool send(std::string_view bytes) const;
  /// Appends what comes to `text`; false at the end.
  bool receive(std::string& text, const std::atomic<bool>& stopped) const;
  /// Waits until the other side has gone, at most so long (-1: for ever); whether it has.
  bool await_end(int milliseconds, const std::atomic<bool>& stopped) const;
  /// Ends the connection so that the other side sees a reset.
  void reset();

 private:
  int descriptor_;
};

/// A request or an answer as it came: its head with the empty line, and its body.
struct HttpText {
  std::string head;
  std::string body;

  std::string first_line() const { return head.substr(0, head.find('\r')); }
  /// The value of a header, whatever the case of its name; "" without it.
  std::string header(std::string_view name) const;
  void set_header(std::string_view name, std::string_view value);
  void remove_header(std::string_view name);
};

/// Reads one request; `rest` holds what was read beyond the one before. Nothing when the connection
/// ends first. Ends early, with what there is, once `at_most` bytes have come.
std::optional<HttpText> read_request(const LoopbackSocket& socket, std::string& rest,
                                     std::size_t at_most, const std::atomic<bool>& stopped);

}  // namespace cupel::testing
