#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner_state.h"

namespace cupel::runner_detail {

/// A runner's files: FILE with its lines, FILE.state with what it takes to go on, FILE.status.json
/// for people and programs that want to know how the rules stand.
///
/// Lines are in FILE before the state tells of them; what stands behind those that it tells of was
/// said by a runner that was killed, or that ended, and is said again by the one that goes on.
class RunnerJournal {
 public:
  /// Opens FILE and reads its state, if there is one. Throws UsageError when another runner has it
  /// open, FormatError for a damaged state, StoreError.
  explicit RunnerJournal(std::string path);
  ~RunnerJournal();
  RunnerJournal(const RunnerJournal&) = delete;
  RunnerJournal& operator=(const RunnerJournal&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// What an earlier runner left.
  const std::optional<RunnerState>& found() const noexcept { return found_; }
  /// Removes what stands in FILE behind the state that was found; without one, everything.
  void begin();
  /// Adds a line, which is in FILE after the next write().
  void add(std::string_view json) { (text_ += json) += '\n'; }
  void write();
  /// Writes the lines, then the state that tells of them.
  void commit(RunnerState state);
  /// Writes FILE.status.json where it has changed. `now` is the time as lines have it.
  void write_status(const std::vector<RuleRecord>& records, const std::string& now, bool ended);

 private:
  void replace(const std::string& suffix, std::string_view text) const;

  const std::string path_;
  int file_ = -1;
  std::optional<RunnerState> found_;
  std::string text_;
  std::uint64_t size_ = 0;
  std::string last_state_;
  std::vector<std::string> status_texts_;
  std::vector<std::string> status_times_;
};

}  // namespace cupel::runner_detail
