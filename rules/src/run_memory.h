#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cupel/trial/trial.h"

namespace cupel {

/// Which steps a rule that remembers earlier ones has taken in.
///
/// What a rule remembers when it judges a step is then the same however it came there: it takes in
/// what the run holds before the first step that it is given, and takes everything in anew when a
/// restarted training has gone back behind a step that it knew.
class RunMemory {
 public:
  /// Makes the rule remember every step before `step`: calls `forget()` if what it has is void, and
  /// `remember(record)` for what was selected at the steps it does not know, step after step. The
  /// caller remembers `step` itself.
  template <class Forget, class Remember>
  void bring_before(std::int64_t step, const Trial& run, NameSelection& names, Forget&& forget,
                    Remember&& remember) {
    if (is_void(run) || step < next_) {
      forget();
      next_ = 0;
    }
    known_ = run.snapshot();
    if (next_ < step) run.visit_steps({next_, step}, names, remember);
    next_ = step + 1;
  }
  /// Makes the next call begin at the first step.
  void start_over() noexcept { known_ = nullptr; }

 private:
  bool is_void(const Trial& run) const {
    if (!known_) return true;
    const auto rewound_to = run.rewound_to(*known_);
    return rewound_to && *rewound_to < next_;
  }
  std::shared_ptr<const Snapshot> known_;  // as of the step judged last
  std::int64_t next_ = 0;                  // every step before this one is remembered
};

/// What a rule remembers of each tensor and worker.
template <class History>
class CopyHistories {
 public:
  /// That of the record's tensor and worker, made if there is none.
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
