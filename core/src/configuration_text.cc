// The text of a configuration and what is parsed from it. A file is read without waiting, and up to
// a size; JSON is checked once without keeping it, so that a mistake of syntax and too many levels
// are found before memory is needed for them, and then parsed. Any thread; each failure is a
// UsageError that names the source.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "configuration_json.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"

namespace cupel {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 16U << 20U;
// The schema's depth is 6; keys that are ignored may hold anything else.
constexpr int kMaxDepth = 64;
constexpr std::size_t kMostReason = 120;

// Accepts JSON without keeping it, and keeps the place and reason of the first mistake. The parser
// that builds values reports neither for a number that is no double, and has no limit of nesting.
class Check final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return begin(); }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return end(); }
  bool start_array(std::size_t /*elements*/) override { return begin(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& error) override {
    position_ = position;
    reason_ = error.what();
    return false;
  }

  bool too_deep() const noexcept { return depth_ > kMaxDepth; }
  // The number of bytes that were read, the offending one included.
  std::size_t position() const noexcept { return position_; }
  // The library's message without its name, the position, and the quoted text, which may be long
  // and is found at the position.
  std::string_view reason() const noexcept {
    std::string_view text = reason_;
    if (const auto end = text.find("] "); text.starts_with('[') && end != std::string_view::npos)
      text.remove_prefix(end + 2);
    if (const auto end = text.find(": ");
        text.starts_with("parse error at ") && end != std::string_view::npos)
      text.remove_prefix(end + 2);
    return text.substr(0, std::min(text.find("; last read: "), kMostReason));
  }

 private:
  bool begin() noexcept { return ++depth_ <= kMaxDepth; }
  bool end() noexcept {
    --depth_;
    return true;
  }
  int depth_ = 0;
  std::size_t position_ = 0;
  std::string reason_;
};

struct Place {
  std::int64_t line = 1;
  std::size_t column = 1;
};

// The line and column of the last of so many bytes, from 1; columns count bytes.
Place place_of(std::size_t position, std::string_view text) {
  const std::size_t at = position == 0 ? 0 : std::min(position - 1, text.size());
  const std::string_view before = text.substr(0, at);
  const std::size_t last_end = before.rfind('\n');
  const std::size_t column = last_end == std::string_view::npos ? at : at - last_end - 1;
  return {std::ranges::count(before, '\n') + 1, column + 1};
}

// The bytes up to the bracket that nests too deeply, in text that is JSON as far as that.
std::size_t position_of_depth(std::string_view text) {
  int depth = 0;
  bool is_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_text && c == '\\')
      ++at;
    else if (c == '"')
      is_text = !is_text;
    else if (!is_text && (c == '{' || c == '['))
      ++depth;
    else if (!is_text && (c == '}' || c == ']'))
      --depth;
    if (depth > kMaxDepth) return at + 1;
  }
  return text.size();
}

[[noreturn]] void fail_by_syntax(std::string_view source, std::string_view text, std::int64_t line,
                                 const std::string& problem, const std::string& message) {
  throw ConfigurationSyntaxError(
      printable(source) + ": " + message,
      {.line = line, .source_line = cupel::source_line(text, line), .message = problem});
}

class OpenFile {
 public:
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  explicit OpenFile(const char* path)
      : descriptor_(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool is_open() const noexcept { return descriptor_ >= 0; }
  bool is_regular() const noexcept {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  // read(2), repeated when a signal interrupts it.
  ssize_t read(char* out, std::size_t size) const noexcept {
    for (;;) {
      const ssize_t got = ::read(descriptor_, out, size);
      if (got >= 0 || errno != EINTR) return got;
    }
  }

 private:
  int descriptor_;
};

[[noreturn]] void fail_to_read(const std::string& path, const std::string& why,
                               std::string_view hint) {
  std::string message = printable(path) + ": the configuration cannot be read: " + why;
  if (!hint.empty()) message.append(". ").append(hint);
  throw UsageError(message);
}

std::string of_errno(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail_by_length(std::string_view source) {
  throw UsageError(printable(source) + ": a configuration has at most 16 MiB");
}

}  // namespace

std::string read_configuration_text(const std::string& path, std::string_view hint) {
  if (path.find('\0') != std::string::npos) fail_to_read(path, of_errno(EINVAL), hint);
  const OpenFile file(path.c_str());
  if (!file.is_open()) fail_to_read(path, of_errno(errno), hint);
  if (!file.is_regular()) fail_to_read(path, "not a regular file", hint);
  std::string text;
  std::array<char, 1U << 16U> block;
  // Bounded by what was read, not by the size that the file had: it may be growing.
  for (;;) {
    const ssize_t got = file.read(block.data(), block.size());
    if (got < 0) fail_to_read(path, of_errno(errno), hint);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostBytes) fail_by_length(path);
  }
}

ConfigurationDocument::ConfigurationDocument(std::string_view text, std::string_view source) {
  if (text.size() > kMostBytes) fail_by_length(source);
  Check check;
  if (!Json::sax_parse(text, &check)) {
    if (check.too_deep()) {
      const std::string problem =
          "a configuration nests at most " + std::to_string(kMaxDepth) + " deep";
      fail_by_syntax(source, text, place_of(position_of_depth(text), text).line, problem, problem);
    }
    const Place place = place_of(check.position(), text);
    const std::string rest =
        "column " + std::to_string(place.column) + ": " + printable(check.reason());
    fail_by_syntax(source, text, place.line, "this is no JSON: " + rest,
                   "this is no JSON: line " + std::to_string(place.line) + ", " + rest);
  }
  parsed_ = std::make_unique<const Parsed>(Parsed{std::string(text), Json::parse(text)});
}

ConfigurationDocument::~ConfigurationDocument() = default;

ConfigurationValue ConfigurationDocument::root(ConfigurationReport& report) const {
  report.document_ = this;
  return ConfigurationJson::at(parsed_->json, {}, report);
}

}  // namespace cupel
