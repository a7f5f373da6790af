// The actions of a runner: orders from findings, outcomes into lines.
//
// The narrator hands over each line that begins an incident; every action of the rule becomes an
// order, which is pending until its outcome is a line. Orders are started only after the state with
// them was written, so that a runner that resumes after a kill knows of everything that may have
// begun. Everything but hurry() belongs to the thread of run().

#include "runner_actions.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "claims.h"
#include "cupel/core/mutex.h"
#include "rule_report.h"

namespace cupel::rules_detail {
namespace {

constexpr std::chrono::seconds kHurry{5};

}  // namespace

// A text leaves out what may be secret, so that actions at two places can have the same.
const Action* action_of(const RunnerState::PendingAction& pending,
                        const std::vector<Action>& actions) {
  const auto is_it = [&](const Action& action) {
    return pending.text.empty() || to_text(action) == pending.text;
  };
  if (pending.action < actions.size() && is_it(actions[pending.action]))
    return &actions[pending.action];
  if (pending.text.empty()) return nullptr;
  const auto found = std::ranges::find_if(actions, is_it);
  return found == actions.end() ? nullptr : &*found;
}

RunnerActions::RunnerActions(std::string run, ActionQueueOptions options,
                             std::function<void()> on_outcome)
    : run_(std::move(run)),
      claims_directory_(options.performer.claims_directory),
      on_outcome_(std::move(on_outcome)),
      queue_(std::move(options), [this](const ActionQueue::Outcome& outcome) {
        {
          const MutexLock lock(mutex_);
          outcomes_.push_back(outcome);
        }
        news_.notify_all();
        on_outcome_();
      }) {}

void RunnerActions::order(const std::vector<Action>& actions, const VerdictLine& line) {
  const std::string json = to_json(line);
  const std::string step = line.step ? std::to_string(*line.step) : "-";
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string incident = run_ + "/" + line.name + "/" + step + "/" + std::to_string(i);
    pending_.push_back({line.name, i, to_text(actions[i]), incident, json});
    ordered_.push_back({actions[i], incident, line});
  }
}

void RunnerActions::take_over(const RunnerState::PendingAction& pending, const Action& action,
                              const std::string& file) {
  ordered_.push_back({action, pending.incident, parse_verdict_line(pending.line, file), true});
  pending_.push_back(pending);
}

void RunnerActions::start() {
  for (const ActionQueue::Outcome& outcome : std::exchange(finished_, {})) {
    if (claims_directory_.empty()) continue;
    for (int attempt = 1; attempt <= outcome.attempts; ++attempt)
      remove_claim(claim_path(claims_directory_, outcome.order.incident, attempt));
  }
  for (ActionOrder& order : std::exchange(ordered_, {})) {
    if (queue_.add(std::move(order))) ++begun_;
  }
}

std::vector<VerdictLine> RunnerActions::take_outcomes() {
  std::vector<ActionQueue::Outcome> outcomes;
  {
    const MutexLock lock(mutex_);
    outcomes.swap(outcomes_);
  }
  std::vector<VerdictLine> lines;
  std::set<std::string, std::less<>> incidents;
  for (ActionQueue::Outcome& outcome : outcomes) {
    --begun_;
    if (outcome.left && !claims_directory_.empty()) continue;  // the next runner's
    incidents.insert(outcome.order.incident);
    lines.push_back(outcome.line());
    lines.back().time = time_text();
    finished_.push_back(std::move(outcome));
  }
  std::erase_if(pending_,
                [&](const auto& pending) { return incidents.contains(pending.incident); });
  return lines;
}

void RunnerActions::finish(std::chrono::milliseconds at_most) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + at_most;
  MutexLock lock(mutex_);
  const auto all_came = [this]() CUPEL_REQUIRES(mutex_) { return outcomes_.size() == begun_; };
  news_.wait_until(lock, deadline, [&]() CUPEL_REQUIRES(mutex_) { return hurries_ || all_came(); });
  if (!all_came()) news_.wait_until(lock, std::min(deadline, Clock::now() + kHurry), all_came);
  if (all_came()) return;
  lock.unlock();
  queue_.close(std::chrono::milliseconds(0));
}

void RunnerActions::hurry() {
  {
    const MutexLock lock(mutex_);
    hurries_ = true;
  }
  news_.notify_all();
}

}  // namespace cupel::rules_detail
