#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cupel::writer_detail {

/// How much less than configured a hook saves, so as not to slow the training down. Each level
/// includes those before it.
struct SavingLevel {
  bool in_background = false;    ///< next_step() does not wait for commits.
  bool reductions_only = false;  ///< Raw values beyond 64 bytes are left out, reductions saved.
  std::int64_t every = 1;        ///< Only each so-many-th of the steps that are due is saved.

  /// "full", "background", "reductions only", "1 of 4 due steps".
  std::string to_text() const;
  friend bool operator==(const SavingLevel&, const SavingLevel&) = default;
};

/// Keeps the share of a training's time that saving takes below a budget.
///
/// Time that saving has taken is a debt that passing time pays off at the budget's rate; credit is
/// kept for a minute's worth at most, so that a long quiet time does not excuse a long stop. While
/// there is debt, a due step that costs more than its share lowers the level by one; debt paid off
/// raises it again, after a pause that doubles each time the higher level turns out too dear.
///
/// Knows no clock: the caller passes the time. One thread.
class OverheadGovernor {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr std::int64_t kMostSkipped = 1024;  ///< The largest SavingLevel::every.
  static constexpr Duration kFirstPause = std::chrono::seconds(2);
  static constexpr Duration kLongestPause = std::chrono::minutes(2);
  static constexpr Duration kMostCredit = std::chrono::minutes(1);

  /// `budget` is a share, above 0 and below 1. The time begins at 0. `full` is the level that
  /// nothing is taken away from.
  explicit OverheadGovernor(double budget, const SavingLevel& full = {})
      : budget_(budget), full_(full), level_(full) {}

  /// Takes, between two steps, the time since the beginning and how much of it saving has taken;
  /// `was_due` if anything was to be saved in the step that has ended. The level is not raised
  /// while what was saved before still waits for the store (`is_behind`). Returns whether it
  /// changed.
  bool observe(Duration now, Duration spent, bool was_due, bool is_behind = false);

  const SavingLevel& level() const noexcept { return level_; }
  const SavingLevel& full() const noexcept { return full_; }
  /// The share that saving took since the last due step before the present one.
  double recent_share() const noexcept { return recent_share_; }
  double budget() const noexcept { return budget_; }

  /// Whether the due step that begins is to be saved; counts it.
  bool admit() noexcept { return due_steps_++ % level_.every == 0; }

 private:
  bool lower(Duration now);
  bool raise(Duration now);

  double budget_;
  SavingLevel full_, level_;
  std::int64_t due_steps_ = 0;
  double debt_ns_ = 0;
  Duration observed_{}, spent_{};          // at the last observation
  Duration due_observed_{}, due_spent_{};  // at the last one behind a due step
  Duration changed_{};                     // when the level changed last
  Duration pause_ = kFirstPause;
  bool raised_ = false;  // the last change was upwards
  double recent_share_ = 0;
};

}  // namespace cupel::writer_detail
