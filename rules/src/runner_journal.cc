// The journal of a runner: its lines, then the state that covers them, then the status.
//
// The order matters: lines behind the state were reported by a runner that was killed, and are cut
// off and reported again by the runner that resumes. Where the store is slow, writes are collected;
// before an action they are not. Only the thread of run() uses the journal; StoreError ends run().

#include "runner_journal.h"

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"

namespace cupel::rules_detail {
namespace {

constexpr std::string_view kStatusSuffix = ".status.json";

// What an action is known by.
std::set<std::string> actions_of(const RunnerState& state) {
  std::set<std::string> actions;
  for (const RunnerState::PendingAction& action : state.pending)
    actions.insert(action.incident + " " + std::to_string(action.action));
  return actions;
}

// Tells one runner from all others.
std::string random_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i) name += std::to_string(random()) + (i < 3 ? "-" : "");
  return name;
}

}  // namespace

RunnerJournal::RunnerJournal(const RunnerOptions& options, const StoreSchemes& schemes)
    : path_(options.out), place_(open_journal(options, schemes)), runner_(random_name()) {
  const std::string state_path = path_ + std::string(kStateSuffix);
  if (const auto text = place_->read(kStateSuffix))
    found_ = parse_runner_state(*text, state_path);
  else if (place_->size() > 0)
    throw UsageError(path_ + " is there, and " + state_path +
                     " is not: it is not this runner's to write; remove it or choose another");
}

void RunnerJournal::begin() {
  const std::uint64_t known = found_ ? found_->bytes : 0;
  if (place_->size() < known)
    log(LogLevel::Warning, path_ + " has lost lines: it has " + std::to_string(place_->size()) +
                               " of " + std::to_string(known) +
                               " bytes; new ones are added behind them");
  place_->cut(std::min(place_->size(), known));
}

void RunnerJournal::write() {
  if (text_.empty()) return;
  place_->append(text_);
  text_.clear();
}

bool RunnerJournal::commit(RunnerState state, const std::string& now, Urgency urgency) {
  std::vector<RuleRecord> records;
  for (const RunnerState::Rule& rule : state.rules) records.push_back(rule.record);
  state.bytes = place_->size() + text_.size();
  state.runner = runner_;
  std::string text = to_json(state);
  if (text == last_state_) {  // it would cover more lines if there were any
    due_.reset();
    return true;
  }
  const Time time = std::chrono::steady_clock::now();
  std::set<std::string> actions = actions_of(state);
  const bool all_are_told = std::ranges::includes(last_actions_, actions);
  if (urgency == Urgency::Soon && time < next_write_ && all_are_told) {
    due_ = next_write_;
    return false;
  }
  next_write_ = time + place_->pause();
  try {
    if (!last_state_.empty()) place_->require_ours(runner_);
    write();
    place_->replace(kStateSuffix, text);
    last_actions_ = std::move(actions);
    write_status(records, now, false);
    last_state_ = std::move(text);
  } catch (const StoreError& failure) {
    if (urgency == Urgency::Now || !failure.retryable) throw;
    log(LogLevel::Warning, failure.what());
    next_write_ = std::chrono::steady_clock::now() + place_->pause();  // it may have taken long
    due_ = next_write_;
    return false;
  }
  due_.reset();
  return true;
}

void RunnerJournal::close(const std::vector<RuleRecord>& records, const std::string& now) {
  place_->require_ours(runner_);
  write();
  write_status(records, now, true);
}

void RunnerJournal::write_status(const std::vector<RuleRecord>& records, const std::string& now,
                                 bool ended) {
  bool changed = status_texts_.empty();
  status_texts_.resize(records.size());
  status_times_.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::string text = status_text(records[i], ended);
    if (text == status_texts_[i]) continue;
    status_texts_[i] = std::move(text);
    status_times_[i] = now;
    changed = true;
  }
  if (!changed) return;
  try {
    place_->replace(kStatusSuffix, status_json(records, status_times_, ended));
  } catch (const StoreError&) {
    status_texts_.clear();  // so that the next one is written
    throw;
  }
}

}  // namespace cupel::rules_detail
