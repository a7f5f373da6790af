// Claims of actions: small files that survive the process.
//
// PATH.claim is made so that one process gets it, and holds the number of that process;
// PATH.done is written beside and renamed, so that its status is there as a whole or not at all. A
// claim without an end whose process is gone belongs to nobody. Names of incidents are escaped and
// cut to legal file names. Used by the thread of the action queue and by the shells that it begins;
// errors of the file system are std::system_error, special files are UsageError.

#include "claims.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>

#include "cupel/core/ascii.h"
#include "cupel/core/new_file.h"
#include "cupel/core/number_text.h"
#include "file_handle.h"

namespace cupel::rules_detail {
namespace {

constexpr std::size_t kMostNameBytes = 200;  // of the 255 of a file name
constexpr std::size_t kMostDigits = 16;
constexpr int kMostStatus = 255;

bool is_plain(char c) { return is_word(c) || c == '-'; }

// FNV-1a, for the ends of names that are cut.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

template <class IsKept>
std::string escaped(std::string_view text, IsKept is_kept) {
  std::string result;
  for (const char c : text) {
    if (is_kept(c))
      result += c;
    else
      append_percent_escape(result, c);
  }
  if (result.size() <= kMostNameBytes) return result;
  return result.substr(0, kMostNameBytes - 17) + '-' + hexadecimal_text(hash_of(text), 16);
}

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

void write_number(int file, const std::string& path, std::int64_t number) {
  const std::string text = std::to_string(number) + '\n';
  if (file < 0 || !write_all(file, std::as_bytes(std::span(text)))) fail(path);
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
  text.remove_suffix(1);
  return parse_integer<std::int64_t>(text).value_or(-1);
}

}  // namespace

std::string incident_text(std::string_view incident) {
  return escaped(incident, [](char c) { return c > ' ' && c <= '~' && c != '%'; });
}

std::string plain_name(std::string_view text) { return escaped(text, is_plain); }

std::string claim_path(std::string_view directory, std::string_view incident, int attempt) {
  return std::string(directory) + "/" + plain_name(incident) + "." + std::to_string(attempt);
}

void make_claims_directory(const std::string& directory) {
  if (!make_directories(directory, FileAccess::Private)) fail(directory);
}

void place_order(const std::string& path) {
  const std::string order = path + ".order";
  require_regular(
      FileHandle(open_or_create_file(AT_FDCWD, order.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW,
                                     FileAccess::Private)),
      order);
}

bool take_claim(const std::string& path) {
  const std::string claim = path + ".claim";
  const FileHandle file(create_file(AT_FDCWD, claim.c_str(), FileAccess::Private));
  if (!file && errno == EEXIST) return false;
  write_number(file.get(), claim, ::getpid());
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
  TemporaryFile file(AT_FDCWD, done, FileAccess::Private);
  write_number(file.descriptor(), file.name(), status);
  if (!file.close() || !file.rename_to(done)) fail(done);
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
  make_claims_directory(directory);
  for (const char* const kind : {".order", ".claim", ".done", ".tmp"})
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      if (entry.path().extension() == kind) ::unlink(entry.path().c_str());
}

}  // namespace cupel::rules_detail
