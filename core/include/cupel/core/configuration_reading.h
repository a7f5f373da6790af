#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/configuration_report.h"
#include "cupel/core/pattern.h"

namespace cupel {

/// Reads configurations in JSON that people wrote: every mistake is collected with its line and the
/// keys that lead to it, and all are reported at once.
///
///     const ConfigurationDocument document(text, "hook.json");
///     ConfigurationReport report("hook.json");
///     const auto steps = read_steps(document.root(report).member("save_steps"));
///     report.finish();

/// A JSON value, and the keys that lead to it. Borrows document and report.
class ConfigurationValue {
 public:
  bool is_null() const noexcept;
  bool is_object() const noexcept;
  bool is_array() const noexcept;
  bool is_text() const noexcept;
  const std::string& text() const;    ///< Of text only.
  std::size_t size() const noexcept;  ///< Items or members; 0 of anything else.

  /// Null where there is no such member.
  ConfigurationValue member(std::string_view key) const;
  bool has_member(std::string_view key) const;
  ConfigurationValue item(std::size_t index) const;
  void for_each_member(const std::function<void(const std::string& key,
                                                const ConfigurationValue& value)>& visit) const;
  void for_each_item(const std::function<void(const ConfigurationValue& value)>& visit) const;

  const std::string& path() const noexcept { return path_; }
  ConfigurationReport& report() const noexcept { return *report_; }
  std::string json_text() const;  ///< The value as JSON.
  /// The value as messages show it.
  std::string shown() const;
  /// Adds "<path>: must be <legal>, not <given>"; `given` is by default the value.
  void refuse(std::string_view legal) const;
  void refuse(std::string_view legal, std::string_view given) const;

 private:
  friend class ConfigurationDocument;
  friend struct ConfigurationJson;
  ConfigurationValue(const void* json, const void* place, std::string path,
                     ConfigurationReport& report) noexcept
      : json_(json), place_(place), path_(std::move(path)), report_(&report) {}
  const void* json_;   // the JSON library's, which headers do not show
  const void* place_;  // the same, or the object around it where there is no such member
  std::string path_;
  ConfigurationReport* report_;
};

/// A parsed text. Its values are valid as long as the document.
class ConfigurationDocument {
 public:
  /// Throws UsageError that begins with `source`: ConfigurationSyntaxError, with line and column,
  /// of text that is no JSON or has more than 64 levels; another one of more than 16 MiB of text.
  /// Of a key that is given twice the last one counts.
  ConfigurationDocument(std::string_view json, std::string_view source);
  ~ConfigurationDocument();
  ConfigurationDocument(const ConfigurationDocument&) = delete;
  ConfigurationDocument& operator=(const ConfigurationDocument&) = delete;

  /// The whole value. From now on the report finds lines in this document, which must live as long
  /// as errors and warnings are added to the report.
  ConfigurationValue root(ConfigurationReport& report) const;

 private:
  friend class ConfigurationReport;
  friend struct ConfigurationJson;
  struct Parsed;
  std::unique_ptr<const Parsed> parsed_;
};

/// The text of a file, at most 16 MiB. Throws UsageError naming the file, with `hint` behind the
/// reason, when it cannot be read or is no regular file; it never waits.
std::string read_configuration_text(const std::string& path, std::string_view hint = {});

/// Text as messages show it: quoted, control characters and stray bytes escaped, shortened when it
/// is long.
std::string shown_text(std::string_view text);

/// Each reads one value. Nothing for null, which stands for the default, and for an illegal value,
/// which is then an error of the report. Numbers and booleans may be JSON's or text.
std::optional<bool> read_bool(const ConfigurationValue& value);
std::optional<std::int64_t> read_whole_number(
    const ConfigurationValue& value, std::int64_t least,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());
std::optional<std::vector<std::int64_t>> read_steps(const ConfigurationValue& value);
std::optional<std::string> read_text(const ConfigurationValue& value, std::string_view legal);
std::optional<std::string> read_path(const ConfigurationValue& value);
std::optional<PatternList> read_patterns(const ConfigurationValue& value);
/// The text, which ReductionConfig::parse then accepts.
std::optional<std::string> read_reductions(const ConfigurationValue& value);
/// Text as it is, and numbers, booleans and arrays as JSON writes them.
std::optional<std::string> read_any_text(const ConfigurationValue& value);

/// Whether it is an array or an object; false for null and, with an error, for anything else.
bool expect_array(const ConfigurationValue& value);
bool expect_object(const ConfigurationValue& value);

}  // namespace cupel
