#include "claims.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>

#include "file_handle.h"

namespace cupel {
namespace {

constexpr std::size_t kMostNameBytes = 200;  // of the 255 of a file name
constexpr std::size_t kMostDigits = 16;
constexpr int kMostStatus = 255;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// FNV-1a, for the ends of names that are cut.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

template <class IsKept>
std::string escaped(std::string_view text, IsKept is_kept) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    if (is_kept(c)) {
      result += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  if (result.size() <= kMostNameBytes) return result;
  std::array<char, 24> end{};
  std::snprintf(end.data(), end.size(), "-%016llx", static_cast<unsigned long long>(hash_of(text)));
  return result.substr(0, kMostNameBytes - 17) + end.data();
}

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

void write_number(const FileHandle& file, const std::string& path, std::int64_t number) {
  if (!file || !file.write(std::to_string(number) + '\n')) fail(path);
}

// Nothing if there is no such file. Throws UsageError for a FIFO, a device, a socket, a directory
// or a link.
std::optional<std::string> text_of(const std::string& path) {
  const FileHandle file(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!file && errno == ENOENT) return std::nullopt;
  require_regular(file, path);
  std::array<char, kMostDigits + 2> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  return std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

// -1 where the text is not a number and a line break.
std::int64_t number_of(std::string_view text) {
  if (!text.ends_with('\n')) return -1;
  const char* const end = text.data() + text.size() - 1;
  std::int64_t number = -1;
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && stop == end ? number : -1;
}

}  // namespace

std::string incident_text(std::string_view incident) {
  return escaped(incident, [](char c) { return c > ' ' && c <= '~' && c != '%'; });
}

std::string plain_name(std::string_view text) { return escaped(text, is_plain); }

std::string claim_path(std::string_view directory, std::string_view incident, int attempt) {
  return std::string(directory) + "/" + plain_name(incident) + "." + std::to_string(attempt);
}

void place_order(const std::string& path) {
  const std::string order = path + ".order";
  require_regular(FileHandle(order, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW), order);
}

bool take_claim(const std::string& path) {
  const std::string claim = path + ".claim";
  const FileHandle file(claim, O_WRONLY | O_CREAT | O_EXCL);
  if (!file && errno == EEXIST) return false;
  write_number(file, claim, ::getpid());
  return true;
}

ClaimHolder claim_holder(const std::string& path) {
  const std::optional<std::string> text = text_of(path + ".claim");
  if (!text) return ClaimHolder::None;
  if (text->empty()) return ClaimHolder::Unwritten;
  const std::int64_t process = number_of(*text);
  if (process <= 1 || process > std::numeric_limits<pid_t>::max()) return ClaimHolder::Gone;
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM ? ClaimHolder::Alive
                                                                       : ClaimHolder::Gone;
}

void record_done(const std::string& path, int status) {
  const std::string done = path + ".done";
  const std::string unfinished = path + "." + std::to_string(::getpid());
  {
    const FileHandle file(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOFOLLOW);
    require_regular(file, unfinished);
    write_number(file, unfinished, status);
  }
  if (::rename(unfinished.c_str(), done.c_str()) != 0) fail(done);
}

std::optional<int> done_status(const std::string& path) {
  const std::optional<std::string> text = text_of(path + ".done");
  if (!text) return std::nullopt;
  const std::int64_t status = number_of(*text);
  return status >= 0 && status <= kMostStatus ? static_cast<int>(status) : -1;
}

void remove_claim(const std::string& path) noexcept {
  ::unlink((path + ".order").c_str());  // first: who claims from here on finds it gone
  ::unlink((path + ".claim").c_str());
  ::unlink((path + ".done").c_str());
}

void remove_claims(const std::string& directory) {
  std::filesystem::create_directories(directory);
  for (const char* const kind : {".order", ".claim", ".done"})
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      if (entry.path().extension() == kind) ::unlink(entry.path().c_str());
}

}  // namespace cupel
