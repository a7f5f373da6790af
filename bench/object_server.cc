#include "object_server.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cupel {
namespace {

/// Bytes that are not set to zero first.
struct Block {
  explicit Block(std::size_t count) : bytes(new char[count]), size(count) {}
  std::unique_ptr<char[]> bytes;
  std::size_t size;
};

struct Object {
  std::vector<std::shared_ptr<const Block>> blocks;
  std::string metadata;  // lines of the head
  std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& block : blocks) sum += block->size;
    return sum;
  }
};

/// All objects, and the parts of uploads under "<path>#<number>".
class Objects {
 public:
  void put(const std::string& path, Object object) {
    const std::lock_guard lock(mutex_);
    objects_[path] = std::move(object);
  }
  std::optional<Object> get(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(path);
    return found == objects_.end() ? std::nullopt : std::optional(found->second);
  }
  void remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    objects_.erase(path);
  }
  /// Makes one object of the parts.
  void join(const std::string& path) {
    const std::lock_guard lock(mutex_);
    Object whole;
    for (int number = 1;; ++number) {
      const auto part = objects_.extract(path + "#" + std::to_string(number));
      if (part.empty()) break;
      whole.blocks.push_back(part.mapped().blocks.front());
    }
    objects_[path] = std::move(whole);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Object> objects_;
};

/// The value of a header in a head; "" without it.
std::string_view header(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at + 2 < head.size(); at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        ::strncasecmp(line.data(), name.data(), name.size()) == 0)
      return line.substr(std::min(line.size(), name.size() + 2));
  }
  return {};
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Connection {
 public:
  Connection(int socket, Objects& objects) : socket_(socket), objects_(objects) {}

  void serve() {
    while (read_head() && answer()) {
    }
    ::close(socket_);
  }

 private:
  /// Reads up to the empty line; what lies behind it stays in rest_.
  bool read_head() {
    std::size_t end = rest_.find("\r\n\r\n");
    while (end == std::string::npos) {
      char some[16384];
      const ssize_t got = ::recv(socket_, some, sizeof some, 0);
      if (got <= 0) return false;
      rest_.append(some, static_cast<std::size_t>(got));
      end = rest_.find("\r\n\r\n");
    }
    head_ = rest_.substr(0, end + 2);
    rest_.erase(0, end + 4);
    return true;
  }

  std::shared_ptr<const Block> read_body() {
    auto block = std::make_shared<Block>(number(header(head_, "Content-Length")));
    if (header(head_, "Expect") == "100-continue") send("HTTP/1.1 100 Continue\r\n\r\n");
    std::size_t done = std::min(rest_.size(), block->size);
    std::copy_n(rest_.data(), done, block->bytes.get());
    rest_.erase(0, done);
    while (done < block->size) {
      const ssize_t got =
          ::recv(socket_, block->bytes.get() + done, block->size - done, MSG_WAITALL);
      if (got <= 0) return nullptr;
      done += static_cast<std::size_t>(got);
    }
    return block;
  }

  bool answer() {
    const std::string_view line = std::string_view(head_).substr(0, head_.find("\r\n"));
    const std::string_view method = line.substr(0, line.find(' '));
    const std::string_view target =
        line.substr(method.size() + 1, line.rfind(' ') - method.size() - 1);
    const std::string path(target.substr(0, target.find('?')));
    const std::string_view query = target.substr(std::min(path.size() + 1, target.size()));
    if (method == "GET" || method == "HEAD") return give(path, method == "GET");
    const auto body = read_body();
    if (!body) return false;
    if (query.starts_with("uploads"))
      return say(
          "<InitiateMultipartUploadResult><UploadId>1</UploadId>"
          "</InitiateMultipartUploadResult>");
    if (method == "POST") {
      objects_.join(path);
      return say(
          "<CompleteMultipartUploadResult><ETag>\"1\"</ETag></CompleteMultipartUploadResult>");
    }
    if (method == "DELETE") {
      objects_.remove(path);
      return say("");
    }
    const std::size_t part = query.find("partNumber=");
    if (part == std::string_view::npos)
      objects_.put(path, {{body}, metadata()});
    else
      objects_.put(path + "#" + std::to_string(number(query.substr(part + 11))), {{body}, ""});
    return say("");
  }

  /// The lines of a request that S3 gives back with the object.
  std::string metadata() const {
    std::string lines;
    for (const char* const name : {"x-amz-meta-cupel-crc32c", "x-amz-meta-cupel-size"})
      if (const std::string_view value = header(head_, name); !value.empty())
        lines.append(name).append(": ").append(value).append("\r\n");
    return lines;
  }

  bool give(const std::string& path, bool with_body) {
    const auto object = objects_.get(path);
    if (!object) return send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    const std::size_t size = object->size();
    std::size_t first = 0, end = size;
    std::string head = "HTTP/1.1 200 OK\r\n";
    if (const std::string_view range = header(head_, "Range"); range.starts_with("bytes=")) {
      first = number(range.substr(6));
      end = std::min(size, number(range.substr(range.find('-') + 1)) + 1);
      if (first >= end)
        return send("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n");
      head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(first) + "-" +
             std::to_string(end - 1) + "/" + std::to_string(size) + "\r\n";
    }
    head += "Content-Length: " + std::to_string(end - first) + "\r\nETag: \"1\"\r\n" +
            "Last-Modified: Wed, 28 Oct 2009 22:32:00 GMT\r\n" + object->metadata + "\r\n";
    if (!send(head)) return false;
    std::size_t begin = 0;  // of the block
    for (const auto& block : object->blocks) {
      const std::size_t from = std::max(begin, first), to = std::min(begin + block->size, end);
      if (with_body && from < to && !send({block->bytes.get() + (from - begin), to - from}))
        return false;
      begin += block->size;
    }
    return true;
  }

  bool say(std::string_view document) {
    return send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nETag: \"1\"\r\nContent-Length: " +
        std::to_string(document.size()) + "\r\n\r\n" + std::string(document));
  }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  const int socket_;
  Objects& objects_;
  std::string head_, rest_;
};

[[noreturn]] void serve(int listener) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Memory that was faulted in once is used again.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_ARENA_MAX, 1);
  Objects objects;
  for (;;) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::thread([socket, &objects] { Connection(socket, objects).serve(); }).detach();
  }
}

}  // namespace

ObjectServer::ObjectServer() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, any, size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, any, &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  process_ = ::fork();
  if (process_ < 0) std::abort();
  if (process_ == 0) serve(listener);
  ::close(listener);
}

ObjectServer::~ObjectServer() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace cupel
