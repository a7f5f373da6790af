#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cupel/rules/rule_runner.h"
#include "cupel/trial/trial_options.h"

namespace cupel::rules_detail {

/// Behind the name of the lines stands the name of what it takes to go on.
inline constexpr std::string_view kStateSuffix = ".state";

/// The place of a runner's files. One runner at a time owns a place, as far as the place can
/// enforce that.
class JournalPlace {
 public:
  virtual ~JournalPlace() = default;

  /// How many bytes of lines there are.
  virtual std::uint64_t size() const = 0;
  /// Nothing if there is no such file.
  virtual std::optional<std::string> read(std::string_view suffix) const = 0;
  /// Leaves so many bytes of the lines.
  virtual void cut(std::uint64_t size) = 0;
  /// Adds lines, all or none of them.
  virtual void append(std::string_view lines) = 0;
  /// Puts a text in the place of another; readers see the old or the new one.
  virtual void replace(std::string_view suffix, std::string_view text) = 0;
  /// Throws UsageError when the state that is there is another runner's.
  virtual void require_ours(std::string_view runner) const = 0;
  /// How long to gather what is to be written.
  virtual std::chrono::milliseconds pause() const noexcept = 0;
};

/// Files; the first is locked.
std::unique_ptr<JournalPlace> journal_in_files(const std::string& path);

/// What the options ask for: files, or objects that are put whole, in a store that `schemes` open.
/// These are locked as far as runners of this machine go. Throws UsageError when another runner has
/// the place.
std::unique_ptr<JournalPlace> open_journal(const RunnerOptions& options,
                                           const StoreSchemes& schemes);

/// Where a runner keeps what must be on its own machine: `<out>.actions`, or for objects a
/// directory of the user's state ($XDG_STATE_HOME, else ~/.local/state), which is then there.
std::string claims_directory_of(const RunnerOptions& options, const StoreSchemes& schemes);

}  // namespace cupel::rules_detail
