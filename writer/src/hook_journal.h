#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/writer/hook.h"
#include "run_ledger.h"
#include "tensor_table.h"

namespace cupel::writer_detail {

// Everything that a hook reports: problems in its log and its report, errors to the user who wants
// them thrown, and, by the ledger, notes to the readers of the run.
//
// A mistake of the caller costs one call: it is a problem of the report or, with OnError::Throw, a
// UsageError. A failure ends saving. Problems and mistakes may come from any thread; the rest is
// called between steps, by the thread that changes the step.
class HookJournal {
 public:
  explicit HookJournal(OnError on_error) : throws_(on_error == OnError::Throw) {}

  bool throws_mistakes() const noexcept { return throws_; }

  // Adds a problem to the report, and to the log. The report has the first hundred.
  void add_problem(std::string what, LogLevel severity = LogLevel::Warning);
  // Adds problems that are in the log already.
  void add_logged_problems(std::vector<std::string> problems);

  // A mistake of the caller. Of one tensor the first mistake is reported.
  void add_mistake(const std::string& what);
  void add_mistake(NamedTensor& tensor, const std::string& what);
  // Of names that no tensor can have the first ten are reported, each once.
  void add_illegal_name(std::string_view name, const char* defect);
  // Mistakes that are reported once, whichever tensor they concern.
  enum class Once : std::uint8_t { BesideStepChange, BetweenSteps, StepNumber, ExitInsideCall };
  void add_mistake(Once kind, const std::string& what);
  bool is_first(Once kind) noexcept;  // and never again
  // A warning for the log only, the first time.
  void warn_before_first_step(std::string_view name);

  // A mistake that is found while the step changes. It is thrown by throw_late_mistakes(), so that
  // it costs no step. When the hook closes, late mistakes become problems.
  void add_late_mistake(std::string what);
  void throw_late_mistakes();
  void report_late_mistakes() noexcept;

  // Saving has ended because of an error.
  void add_failure(const char* what) noexcept;
  bool has_failed() const noexcept { return failed_; }

  // Notes to readers, and the steps that the run misses.
  RunLedger& ledger() noexcept { return ledger_; }
  // Counts a step that is missed; `what` is the mistake that the first of several is.
  void add_missed(Missed why, std::int64_t step, const std::string& what);

  // The report's numbers, filled in at close().
  HookReport& numbers() noexcept { return report_; }
  // Completes the report. `never_saved` are names that no saved collection wanted.
  void close(std::vector<std::string> never_saved);
  // The report; where there is no memory to copy it, its numbers.
  HookReport report() const noexcept;

 private:
  const bool throws_;
  std::atomic<bool> failed_{false};
  std::atomic<unsigned> reported_once_{0};  // a bit for each Once
  std::atomic<bool> warned_before_first_step_{false};
  std::vector<std::string> late_mistakes_;
  RunLedger ledger_;
  HookReport report_;
  Mutex mutex_;
  std::vector<std::string> problems_ CUPEL_GUARDED_BY(mutex_);
  std::vector<std::size_t> illegal_names_ CUPEL_GUARDED_BY(mutex_);  // that were reported, hashed
};

}  // namespace cupel::writer_detail
