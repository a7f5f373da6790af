// The text of a file of rules and of its modules. Each is read once, from a local folder or a
// store, and kept: every run of the file has the same text, also where the file has changed since.
// Modules come from the folder of the file only, and their names are checked by `require`. Rules of
// one file may run in several threads, so a mutex guards the modules. A file that cannot be read is
// a UsageError that names the path and the reason.

#include "rule_source.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/core/source_line.h"
#include "cupel/store/open_store.h"
#include "lua_state.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kMostModules = 100;
// The text of all modules together, which does not count against the memory of a script.
constexpr std::size_t kMostModulesText = std::size_t{2} << 20U;

// Where the line behind the first one begins. For Lua, CR LF and LF CR are one end of a line.
std::size_t behind_line(std::string_view text) {
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return text.size();
  const bool is_pair = end + 1 < text.size() && (text[end + 1] == '\r' || text[end + 1] == '\n') &&
                       text[end + 1] != text[end];
  return end + (is_pair ? 2 : 1);
}

// Splits a path into its folder, "." where it has none, and the name.
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// Follows links: files that are mounted into containers are links, and their modules stand beside
// the targets.
std::string resolved(const std::string& path) {
  if (path.find("://") != std::string::npos) return path;
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(path, failure);
  return failure ? path : real.string();
}

// The reason why there is nothing to be read at a path.
std::string absence(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status found = std::filesystem::symlink_status(path, ignored);
  if (!std::filesystem::exists(found)) return "there is no file " + path;
  if (std::filesystem::is_directory(found)) return path + " is a directory, not a file of rules";
  if (std::filesystem::is_symlink(found)) return path + " is a link, and leads to no file here";
  return path + " is no regular file";
}

// Removes the byte order mark of UTF-8 and a first line for a shell, as Lua's own reader does.
// Lines keep their numbers.
void drop_preamble(std::string& text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  if (text.starts_with('#')) text.erase(0, std::min(text.find('\n'), text.size()));
}

std::string read(const Store& folder, const std::string& name, const std::string& path) {
  const char* const defect = key_defect(name);
  if (defect != nullptr) throw UsageError(path + " is no file of rules: its name " + defect);
  try {
    const auto bytes = folder.get(name, kLongestText);
    if (!bytes) throw UsageError(absence(path));
    std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    drop_preamble(text);
    return text;
  } catch (const StoreError& error) {
    throw UsageError(path + " cannot be read: " + error.what());
  }
}

}  // namespace

RuleSource::RuleSource(const std::string& path, const ScriptLimits& limits,
                       const StoreSchemes& schemes)
    : path_(path), chunk_(split(path).second), limits_(limits) {
  if (path.find('\0') != std::string::npos) throw UsageError("the name of a file holds a NUL");
  const auto [folder, name] = split(resolved(path));
  folder_ = open_store(folder, schemes);
  text_ = read(*folder_, name, path);
}

std::string RuleSource::module(const std::string& module) const {
  const std::string name = module + ".lua";
  const MutexLock lock(mutex_);
  const auto entry = modules_.find(name);
  if (entry != modules_.end()) return entry->second;
  if (modules_.size() == kMostModules) throw UsageError("more than 100 modules");
  std::string text = read(*folder_, name, split(path_).first + "/" + name);
  std::size_t bytes = text.size();
  for (const auto& [other, other_text] : modules_) bytes += other_text.size();
  if (bytes > kMostModulesText) throw UsageError("the modules are more than 2 MiB together");
  return modules_.emplace(name, std::move(text)).first->second;
}

// Returns the name of the file or of a module for its name in a message, where Lua cuts off the
// beginning of a long one; empty for any other name.
std::string_view RuleSource::chunk_of(std::string_view shown) const {
  constexpr std::string_view kCut = "...";
  const bool is_cut = shown.starts_with(kCut);
  if (is_cut) shown.remove_prefix(kCut.size());
  const auto is_shown = [&](std::string_view chunk) {
    return is_cut ? chunk.ends_with(shown) : chunk == shown;
  };
  if (shown.empty() || is_shown(chunk_)) return chunk_;
  const MutexLock lock(mutex_);
  for (const auto& [chunk, text] : modules_)
    if (is_shown(chunk)) return chunk;
  return {};
}

std::string_view RuleSource::text_of(std::string_view chunk) const {
  chunk = chunk_of(chunk);
  if (chunk == chunk_) return text_;
  const MutexLock lock(mutex_);
  const auto entry = modules_.find(chunk);
  return entry == modules_.end() ? std::string_view() : entry->second;
}

RuleProblem RuleSource::problem(std::string_view chunk, std::int64_t line, std::string message,
                                std::string hint) const {
  RuleProblem problem{.file = path_, .message = std::move(message), .hint = std::move(hint)};
  const std::string_view known = chunk_of(chunk);
  if (known.empty()) {
    problem.message =
        std::string(chunk) + (line > 0 ? ":" + std::to_string(line) : "") + ": " + problem.message;
    return problem;
  }
  problem.file.replace(path_.size() - chunk_.size(), chunk_.size(), known);
  problem.line = line;
  problem.source_line = this->line(chunk, line);
  return problem;
}

std::string RuleSource::line(std::string_view chunk, std::int64_t number) const {
  if (number < 1) return {};
  std::string_view rest = text_of(chunk);
  for (; number > 1 && !rest.empty(); --number) rest.remove_prefix(behind_line(rest));
  return source_line(rest.substr(0, rest.find_first_of("\r\n")), 1);
}

std::string RuleSource::fingerprint() const {
  const MutexLock lock(mutex_);
  const auto crc = [](const std::string& text, std::uint32_t seed) {
    return crc32c(std::as_bytes(std::span(text)), seed);
  };
  std::uint32_t all = crc(text_, 0);
  for (const auto& [name, text] : modules_) all = crc(text, crc(name, all));
  return std::to_string(all);
}

}  // namespace cupel::scripting_detail
