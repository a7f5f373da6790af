#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cupel/rules/rule_needs.h"
#include "cupel/rules/run_memory.h"
#include "cupel/trial/trial.h"

namespace cupel {

/// Selects the tensors of a need, and the tensors of a fallback in a run that has none of them.
///
///     if (names_.choose(step, base_trial())) forget();
///     base_trial().visit_step(step, names_.names(), [&](const RecordView& record) {
///       if (names_.counts(record)) judge(record);
///     });
///
/// The choice for a step follows from the run up to that step, in all modes and of all workers: it
/// is the first of the need's own names and its fallbacks of which anything was saved. A rule
/// therefore judges a step alike live, afterwards, and after a restart. The choice changes where a
/// tensor of an earlier choice is saved for the first time: steps before that one keep their
/// verdicts, and from that step on only the earlier choice counts. A restarted training that takes
/// steps back takes back what was chosen by them. TensorRule selects in this way; the thread that
/// judges uses the object.
class PreferredSelection {
 public:
  explicit PreferredSelection(const NeededTensors& tensors);

  /// Chooses for a step that `run` is pinned to, or has. Returns whether the choice differs from
  /// that of the previous call: what was remembered of other tensors is then void. What reading the
  /// run throws is let out, and the choice is as before.
  bool choose(std::int64_t step, const Trial& run);

  /// The selection that is chosen; at first, and where the run has nothing of any choice, that of
  /// the need itself.
  NameSelection& names() noexcept { return choices_[chosen_].names; }
  /// Whether the record, which names() selects, counts: a fallback may ask for more than names()
  /// does.
  bool counts(const RecordView& record) const { return counts(record, choices_[chosen_]); }
  bool is_fallback() const noexcept { return chosen_ > 0; }
  /// Returns the chosen tensors in words.
  const std::string& description() const noexcept { return choices_[chosen_].description; }

 private:
  struct Choice {
    NameSelection names;
    std::string description;
    PatternList among_collections = {};  // names() has the collections, and all their tensors
    std::size_t least_rank = 0;
  };
  static bool counts(const RecordView& record, const Choice& choice);
  // Whether anything of the choice was saved at the steps begin … last.
  static bool is_in(const Trial& run, std::int64_t begin, std::int64_t last, Choice& choice);

  std::vector<Choice> choices_;
  std::size_t chosen_ = 0;
  std::size_t best_ = 0;       // of which the run has anything; the number of choices: of none
  std::int64_t searched_ = 0;  // the steps before this one were searched for better choices
  RunMemory memory_;
};

}  // namespace cupel
