#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cupel/core/pattern.h"
#include "cupel/trial/name_selection.h"
#include "index_data.h"
#include "run_collections.h"
#include "snapshot.h"
#include "step_merge.h"
#include "trial_index.h"

namespace cupel::trial_detail {

/// The selected rows of a step in their order: by tensor name, then worker. Serves all steps whose
/// workers saved the same names. Immutable.
struct RowPlan {
  struct Row {
    std::uint32_t part;      ///< The index of the step's part.
    std::uint32_t position;  ///< The position in the layout of the part.
    std::uint32_t id;        ///< The number of the name.
  };
  /// Rows that follow each other in a part, from position `from` on; in the order of the plan the
  /// first is row `to`, and the next ones are `stride` apart.
  struct Range {
    std::uint32_t part, from;
    std::uint32_t to, length, stride;
  };
  std::vector<Row> rows;
  std::vector<Range> ranges;
};

/// Resolves a selection against the names of a run. One thread at a time.
class SelectionState {
 public:
  SelectionState(std::vector<std::string> wanted_collections, PatternList wanted_patterns)
      : collections(std::move(wanted_collections)), patterns(std::move(wanted_patterns)) {}

  static SelectionState& of(const NameSelection& selection) { return *selection.state_; }

  /// Makes plan() answer for a snapshot. `index` logs a warning for a collection that the run does
  /// not have.
  void use(const Snapshot& snapshot, TrialIndex& index);
  std::shared_ptr<const RowPlan> plan(std::span<const StepPart> parts);

  const std::vector<std::string> collections;
  const PatternList patterns;

 private:
  using Key = std::vector<const NameLayout*>;
  using Plans = std::map<Key, std::shared_ptr<const RowPlan>>;

  bool selects(std::uint32_t id) const;
  RowPlan make(std::span<const StepPart> parts) const;

  // Shared, so that the pointers in filters_ and plans_ stay valid.
  std::shared_ptr<const IndexData> data_;
  std::shared_ptr<const RunCollections> run_collections_;
  std::shared_ptr<const NameFilter> pattern_filter_;
  std::vector<CollectionFilter> filters_;
  std::size_t member_count_ = 0;  // memberships when the filters were made
  Plans plans_;
  Plans::const_iterator last_ = plans_.end();
  std::size_t planned_rows_ = 0;
};

}  // namespace cupel::trial_detail
