#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cupel/core/mutex.h"
#include "cupel/rules/load_rules.h"
#include "cupel/scripting/script_limits.h"
#include "cupel/store/store.h"
#include "cupel/store/store_scheme.h"

namespace cupel::scripting_detail {

/// The text of a file of rules and of the files beside it that it requires, each read once.
class RuleSource {
 public:
  /// Throws UsageError where the file cannot be read.
  RuleSource(const std::string& path, const ScriptLimits& limits, const StoreSchemes& schemes = {});

  const std::string& path() const noexcept { return path_; }
  /// The file's name without its folder, which is its name in errors.
  const std::string& chunk() const noexcept { return chunk_; }
  const std::string& text() const noexcept { return text_; }
  const ScriptLimits& limits() const noexcept { return limits_; }

  /// Returns the text of `<module>.lua` beside the file; `module` is letters, digits and '_'.
  /// Throws UsageError where there is none.
  std::string module(const std::string& module) const;

  /// Returns the text of the file, or of a module that was read; empty for any other chunk. An
  /// empty name is the file's. The view lives as long as this object.
  std::string_view text_of(std::string_view chunk) const;
  /// Returns a line of the file, or of a module that was read, without the blanks around it and
  /// without what a message has no room for; empty where there is none.
  std::string line(std::string_view chunk, std::int64_t number) const;
  /// Makes the problem of that line, with the path of the file or module. A chunk that is neither
  /// stays in the message.
  RuleProblem problem(std::string_view chunk, std::int64_t line, std::string message,
                      std::string hint = {}) const;

  /// Returns a checksum of the file and of the modules that were read.
  std::string fingerprint() const;

 private:
  std::string_view chunk_of(std::string_view shown) const;
  std::string path_;
  std::string chunk_;
  std::string text_;
  ScriptLimits limits_;
  std::unique_ptr<Store> folder_;
  mutable Mutex mutex_;
  // Texts by file name.
  mutable std::map<std::string, std::string, std::less<>> modules_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel::scripting_detail
