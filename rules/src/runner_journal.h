#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_runner.h"
#include "journal_place.h"
#include "runner_state.h"

namespace cupel::rules_detail {

/// The files of a runner: FILE with its lines, FILE.state for the runner that resumes, and
/// FILE.status.json with the status of the rules, for people and programs.
///
/// Lines are in FILE before the state covers them. Lines behind those that the state covers were
/// written by a runner that was killed, or that ended, and the runner that resumes reports them
/// again. Where writing is slow, lines and state are written from time to time. Belongs to the
/// thread of run().
class RunnerJournal {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Reads the state, if there is one; `schemes` open the store of an `out` that is an address.
  /// Throws UsageError when another runner has FILE open, FormatError for a damaged state,
  /// StoreError.
  RunnerJournal(const RunnerOptions& options, const StoreSchemes& schemes);
  RunnerJournal(const RunnerJournal&) = delete;
  RunnerJournal& operator=(const RunnerJournal&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// The state that an earlier runner left.
  const std::optional<RunnerState>& found() const noexcept { return found_; }
  /// Removes the lines of FILE that the found state does not cover; without a state, all lines.
  void begin();
  /// Adds a line, which is in FILE after the next commit() that writes.
  void add(std::string_view json) { (text_ += json) += '\n'; }

  /// Soon: write when it is due, or where actions depend on it; a store that fails for a moment is
  /// retried later. Now: write, or throw StoreError.
  enum class Urgency { Soon, Now };
  /// Writes the lines, then the state that covers them, then the status of the rules at the time
  /// `now`, as lines have it. Returns whether the journal holds everything.
  bool commit(RunnerState state, const std::string& now, Urgency urgency);
  /// The time at which a write that commit() has put off is due; nothing if there is none.
  std::optional<Time> due() const noexcept { return due_; }
  /// Writes the lines that no state covers, and the status of the rules at the end.
  void close(const std::vector<RuleRecord>& records, const std::string& now);

 private:
  void write();
  void write_status(const std::vector<RuleRecord>& records, const std::string& now, bool ended);

  const std::string path_;
  const std::unique_ptr<JournalPlace> place_;
  const std::string runner_;
  std::optional<RunnerState> found_;
  std::string text_;
  std::string last_state_;
  std::set<std::string> last_actions_;  // that the last state covers
  Time next_write_{};
  std::optional<Time> due_;
  std::vector<std::string> status_texts_;
  std::vector<std::string> status_times_;
};

}  // namespace cupel::rules_detail
