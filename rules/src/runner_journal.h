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

namespace cupel::runner_detail {

/// A runner's files: FILE with its lines, FILE.state with what it takes to go on, FILE.status.json
/// for people and programs that want to know how the rules stand.
///
/// Lines are in FILE before the state tells of them; what stands behind those that it tells of was
/// said by a runner that was killed, or that ended, and is said again by the one that goes on.
/// Where writing costs, lines and state are written now and then.
class RunnerJournal {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Reads the state, if there is one. Throws UsageError when another runner has FILE open,
  /// FormatError for a damaged state, StoreError.
  explicit RunnerJournal(const RunnerOptions& options);
  RunnerJournal(const RunnerJournal&) = delete;
  RunnerJournal& operator=(const RunnerJournal&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// What an earlier runner left.
  const std::optional<RunnerState>& found() const noexcept { return found_; }
  /// Removes what stands in FILE behind the state that was found; without one, everything.
  void begin();
  /// Adds a line, which is in FILE after the next commit() that keeps it.
  void add(std::string_view json) { (text_ += json) += '\n'; }

  /// Soon: when it is time, or actions depend on it; a store that fails for a moment is asked again
  /// later. Now: or StoreError.
  enum class Urgency { Soon, Now };
  /// Writes the lines, then the state that tells of them, then how the rules stand at the time
  /// `now`, as lines have it. Whether the journal holds everything.
  bool commit(RunnerState state, const std::string& now, Urgency urgency);
  /// When what commit() has put off is due; nothing if nothing is.
  std::optional<Time> due() const noexcept { return due_; }
  /// Writes lines that no state tells of, and how the rules stand at the end.
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
  std::set<std::string> last_actions_;  // that it tells of
  Time next_write_{};
  std::optional<Time> due_;
  std::vector<std::string> status_texts_;
  std::vector<std::string> status_times_;
};

}  // namespace cupel::runner_detail
