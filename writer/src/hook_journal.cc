// What a hook reports goes three ways: to the log at once, to the caller as an exception if the
// options ask for that, and into the report of close(). Training threads may report beside each
// other, so the list of problems has a mutex. Where memory has run out the report loses texts, not
// numbers, and nothing is thrown.

#include "hook_journal.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/printable.h"

namespace cupel::writer_detail {
namespace {

constexpr std::size_t kMostProblems = 100;
constexpr std::size_t kMostIllegalNames = 10;
constexpr std::size_t kMostShownOfName = 80;

void log_lack_of_memory() {
  log(LogLevel::Warning, "no memory for all texts of the hook's report");
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

}  // namespace

void HookJournal::add_problem(std::string what, LogLevel severity) {
  log(severity, what);
  const MutexLock lock(mutex_);
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(what));
}

void HookJournal::add_logged_problems(std::vector<std::string> problems) {
  const MutexLock lock(mutex_);
  for (std::string& problem : problems) problems_.push_back(std::move(problem));
}

void HookJournal::add_mistake(const std::string& what) {
  if (throws_) throw UsageError(what);
  add_problem(what);
}

void HookJournal::add_mistake(NamedTensor& tensor, const std::string& what) {
  if (!tensor.defect_reported.exchange(true)) add_mistake(what);
}

void HookJournal::add_mistake(Once kind, const std::string& what) {
  if (is_first(kind)) add_mistake(what);
}

bool HookJournal::is_first(Once kind) noexcept {
  const unsigned bit = 1U << static_cast<unsigned>(kind);
  return (reported_once_.fetch_or(bit) & bit) == 0;
}

void HookJournal::add_illegal_name(std::string_view name, const char* defect) {
  std::string what = std::string(defect) + ": \"" + printable(name, kMostShownOfName) + '"';
  if (throws_) throw UsageError(what);
  {
    const MutexLock lock(mutex_);
    const std::size_t hash = std::hash<std::string_view>()(name);
    if (illegal_names_.size() == kMostIllegalNames ||
        std::ranges::find(illegal_names_, hash) != illegal_names_.end())
      return;
    illegal_names_.push_back(hash);
    if (illegal_names_.size() == kMostIllegalNames)
      what += "; further names that no tensor can have are not reported";
  }
  add_problem(std::move(what));
}

void HookJournal::warn_before_first_step(std::string_view name) {
  if (warned_before_first_step_.exchange(true)) return;
  log(LogLevel::Warning,
      "saved before the first next_step(), and so not saved (said once): " + printable(name));
}

void HookJournal::add_late_mistake(std::string what) {
  if (throws_) {
    late_mistakes_.push_back(std::move(what));
  } else {
    add_mistake(what);
  }
}

void HookJournal::throw_late_mistakes() {
  if (!late_mistakes_.empty()) add_mistake(joined(std::exchange(late_mistakes_, {})));
}

// There is no next step that could throw them.
void HookJournal::report_late_mistakes() noexcept {
  try {
    for (const std::string& what : late_mistakes_) add_problem(what);
  } catch (const std::exception&) {
    log_lack_of_memory();
  }
}

void HookJournal::add_failure(const char* what) noexcept {
  if (failed_.exchange(true)) return;
  try {
    const std::string message = "saving has ended, training goes on: " + std::string(what);
    {
      const MutexLock lock(mutex_);
      problems_.emplace_back(what);
    }
    log(LogLevel::Error, message);
  } catch (const std::exception&) {  // no memory even for that
    log(LogLevel::Error, "saving has ended, training goes on");
  }
}

void HookJournal::add_missed(Missed why, std::int64_t step, const std::string& what) {
  if (ledger_.add(why, step)) add_late_mistake(what);
}

void HookJournal::close(std::vector<std::string> never_saved) {
  {
    const MutexLock lock(mutex_);
    report_.problems = std::move(problems_);
  }
  report_.never_saved = std::move(never_saved);
  report_.notes = ledger_.notes();
}

HookReport HookJournal::report() const noexcept {
  try {
    return report_;
  } catch (const std::exception&) {
    HookReport numbers;
    numbers.steps_begun = report_.steps_begun;
    numbers.steps_committed = report_.steps_committed;
    numbers.last_committed_step = report_.last_committed_step;
    numbers.rows = numbers.tensors_saved = report_.rows;
    numbers.value_bytes = report_.value_bytes;
    numbers.steps_dropped = report_.steps_dropped;
    numbers.steps_left_out = report_.steps_left_out;
    numbers.overhead = report_.overhead;
    numbers.waiting = report_.waiting;
    numbers.steps_not_uploaded = report_.steps_not_uploaded;
    numbers.bytes_not_uploaded = report_.bytes_not_uploaded;
    numbers.disabled = report_.disabled;
    return numbers;
  }
}

}  // namespace cupel::writer_detail
