#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cupel/scripting/script_limits.h"
#include "cupel/store/store.h"

namespace cupel::lua {

/// The text of a file of rules and of the files beside it that it requires, each read once.
class RuleSource {
 public:
  /// Throws UsageError where the file cannot be read.
  RuleSource(const std::string& path, const ScriptLimits& limits);

  const std::string& path() const noexcept { return path_; }
  /// The file's name without its folder, as errors call it.
  const std::string& chunk() const noexcept { return chunk_; }
  const std::string& text() const noexcept { return text_; }
  const ScriptLimits& limits() const noexcept { return limits_; }

  /// The text of `<module>.lua` beside the file; `module` is letters, digits and '_'. Throws
  /// UsageError where there is none.
  std::string module(const std::string& module) const;

  /// A line of the file, or of a module that was read, without the blanks around it, and not more
  /// of it than a message has room for; empty where there is none.
  std::string line(std::string_view chunk, std::int64_t number) const;

  std::string fingerprint() const;

 private:
  std::string path_;
  std::string chunk_;
  std::string text_;
  ScriptLimits limits_;
  std::unique_ptr<Store> folder_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string, std::less<>> modules_;  // texts by file name
};

}  // namespace cupel::lua
