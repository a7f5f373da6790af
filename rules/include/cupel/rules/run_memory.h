#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cupel/trial/run_follower.h"
#include "cupel/trial/trial.h"

namespace cupel {

/// Keeps account of the steps that a rule has remembered, for rules that are no HistoryRule.
///
/// A rule then remembers the same when it judges a step, whichever step it was given first: it
/// remembers what the run holds before that step, and begins anew when a restarted training has
/// gone back behind a step that the rule has remembered. Used by the thread that judges.
class RunMemory {
 public:
  /// Brings the rule to the state in which every step before `step` is remembered. Calls `forget()`
  /// where the state of the rule is void, then `remember(record)` for each record of `names` at
  /// each step that is new, in order. The caller remembers `step` itself. What a callable throws is
  /// let out, and the next call begins at the first step.
  template <class Forget, class Remember>
  void bring_before(std::int64_t step, const Trial& run, NameSelection& names, Forget&& forget,
                    Remember&& remember) {
    if (is_void(run) || step < next_) {
      forget();
      next_ = 0;
    }
    known_ = nullptr;
    if (next_ < step) run.visit_steps({next_, step}, names, remember);
    known_ = RunFollower(run).snapshot();
    next_ = step + 1;
  }
  /// Makes the next bring_before() begin at the first step.
  void start_over() noexcept { known_ = nullptr; }

 private:
  bool is_void(const Trial& run) const {
    if (!known_) return true;
    const auto rewound_to = RunFollower(run).rewound_to(*known_);
    return rewound_to && *rewound_to < next_;
  }
  std::shared_ptr<const Snapshot> known_;  // as of the step judged last
  std::int64_t next_ = 0;                  // every step before this one is remembered
};

/// A History for each tensor and worker, made when it is first asked for.
template <class History>
class CopyHistories {
 public:
  /// Returns the history of the record's tensor and worker. Valid until clear().
  History& of(const RecordView& record) {
    // The trial keeps one string for each name, for as long as it lives.
    return histories_[{&record.tensor(), record.worker().data()}];
  }
  void clear() { histories_.clear(); }

 private:
  using Key = std::pair<const std::string*, const char*>;
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<const void*>()(key.first) * 31 + std::hash<const void*>()(key.second);
    }
  };
  std::unordered_map<Key, History, Hash> histories_;
};

}  // namespace cupel
