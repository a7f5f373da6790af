#include "overhead_governor.h"

#include <algorithm>

namespace cupel::writer_detail {

std::string SavingLevel::to_text() const {
  if (every > 1) return "1 of " + std::to_string(every) + " due steps";
  if (reductions_only) return "reductions only";
  return in_background ? "background" : "full";
}

bool OverheadGovernor::observe(Duration now, Duration spent, bool was_due, bool is_behind) {
  if (observed_ == Duration::zero()) {  // what came before the first step is no step's cost
    due_observed_ = now;
    due_spent_ = spent;
    was_due = false;
  }
  const auto passed = static_cast<double>((now - observed_).count());
  const auto taken = static_cast<double>((spent - spent_).count());
  observed_ = now;
  spent_ = spent;
  const double least = -budget_ * static_cast<double>(kMostCredit.count());
  debt_ns_ = std::max(least, debt_ns_ + taken - budget_ * passed);

  if (was_due) {
    const auto since_due = static_cast<double>((now - due_observed_).count());
    const auto spent_since = static_cast<double>((spent - due_spent_).count());
    recent_share_ = since_due <= 0 ? 0 : spent_since / since_due;
    due_observed_ = now;
    due_spent_ = spent;
    if (debt_ns_ > 0 && recent_share_ > budget_) return lower(now);
  }
  if (debt_ns_ <= 0 && !is_behind && now - changed_ >= pause_) return raise(now);
  return false;
}

bool OverheadGovernor::lower(Duration now) {
  if (now - changed_ > kLongestPause) {
    pause_ = kFirstPause;  // another matter than the last time
  } else if (raised_) {
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  const SavingLevel before = level_;
  if (!level_.in_background) {
    level_.in_background = true;
  } else if (!level_.reductions_only) {
    level_.reductions_only = true;
  } else {
    level_.every = std::min(2 * level_.every, kMostSkipped);
  }
  if (level_ == before) return false;
  raised_ = false;
  changed_ = now;
  return true;
}

bool OverheadGovernor::raise(Duration now) {
  if (level_ == full_) return false;
  if (level_.every > 1) {
    level_.every /= 2;
  } else if (level_.reductions_only) {
    level_.reductions_only = false;
  } else {
    level_.in_background = full_.in_background;
  }
  if (raised_) pause_ = kFirstPause;  // the level before this one was affordable
  raised_ = true;
  changed_ = now;
  return true;
}

}  // namespace cupel::writer_detail
