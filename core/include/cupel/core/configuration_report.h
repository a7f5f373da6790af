#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"

namespace cupel {

class ConfigurationValue;
class ConfigurationDocument;

/// A mistake in a configuration. The texts are not escaped: a program that shows them uses
/// printable().
struct ConfigurationMistake {
  /// The line of the text, from 1 on, in which the value begins that the mistake is about; of a
  /// member that is missing, the line of the object; 0 if no document belongs to the report.
  std::int64_t line = 0;
  std::string source_line =
      {};                    ///< The text of that line, without the blanks around it, cut if long.
  std::string path = {};     ///< The keys that lead to the value; empty for the whole text.
  std::string message = {};  ///< What is wrong, without path and hint.
  std::string hint = {};  ///< What may have been meant, "the nearest known one is …"; or empty.

  /// "path: message; hint", without the parts that are empty.
  std::string to_text() const;
};

/// Text that is no JSON, or that nests too deeply.
class ConfigurationSyntaxError : public UsageError {
 public:
  ConfigurationSyntaxError(const std::string& what, ConfigurationMistake mistake)
      : UsageError(what), mistake_(std::move(mistake)) {}
  const ConfigurationMistake& mistake() const noexcept { return mistake_; }

 private:
  ConfigurationMistake mistake_;
};

/// All that is wrong with a configuration. One thread uses a report and the values of its document.
class ConfigurationReport {
 public:
  explicit ConfigurationReport(std::string_view source);

  /// Adds an error about the value at `path`, whose line is looked up in the document of the
  /// report.
  void error(std::string_view path, std::string_view what);
  /// Adds a warning likewise.
  void warning(std::string_view path, std::string_view what);
  /// Warns of a key that is ignored, and tells what may have been meant.
  void unknown_key(std::string_view path, std::string_view key,
                   std::span<const std::string_view> known);
  /// Whether the file may have one pattern more; each costs time and memory to compile.
  bool may_add_pattern() noexcept;

  /// Logs the warnings, then throws one UsageError that begins with the source and has a line for
  /// each error (the first 200), if there are any.
  void finish() const;

  /// The errors so far, the first 200, for a caller that does not want finish() to throw.
  const std::vector<ConfigurationMistake>& errors() const noexcept { return errors_; }
  /// The warnings so far, the first 20.
  const std::vector<ConfigurationMistake>& warnings() const noexcept { return warnings_; }
  std::size_t error_count() const noexcept { return error_count_; }      ///< All errors.
  std::size_t warning_count() const noexcept { return warning_count_; }  ///< All warnings.

 private:
  friend class ConfigurationDocument;
  friend class ConfigurationValue;
  // The JSON value at a path of the document; null without a document.
  const void* value_at(std::string_view path) const;
  void add_error(const void* json, std::string_view path, std::string_view what);
  void add_warning(const void* json, std::string_view path, std::string_view what,
                   std::string_view hint);
  ConfigurationMistake mistake(const void* json, std::string_view path, std::string_view what,
                               std::string_view hint) const;

  std::string source_;
  const ConfigurationDocument* document_ = nullptr;  // used while its values are read
  std::vector<ConfigurationMistake> errors_;
  std::vector<ConfigurationMistake> warnings_;
  std::size_t error_count_ = 0;
  std::size_t warning_count_ = 0;
  std::size_t patterns_ = 0;
};

}  // namespace cupel
