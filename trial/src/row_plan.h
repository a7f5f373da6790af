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

/// Which rows of a step are selected, and their order: by tensor name, then worker. Holds for all
/// steps whose workers saved the same names. Immutable.
struct RowPlan {
  struct Row {
    std::uint32_t part;      ///< Of the step's.
    std::uint32_t position;  ///< In the part's layout.
    std::uint32_t id;        ///< Of the name.
  };
  /// Rows that lie one after another in a part; in the plan's order they are `stride` apart.
  struct Run {
    std::uint32_t part, from;
    std::uint32_t to, length, stride;
  };
  std::vector<Row> rows;
  std::vector<Run> runs;
};

}  // namespace cupel::trial_detail

namespace cupel {

/// Resolves a selection against the names of a run; one thread at a time.
struct NameSelection::State {
  State(std::vector<std::string> wanted_collections, PatternList wanted_patterns)
      : collections(std::move(wanted_collections)), patterns(std::move(wanted_patterns)) {}

  /// Makes what plan() says that of a snapshot; `index` is warned of collections that the run does
  /// not have.
  void use(const Snapshot& snapshot, TrialIndex& index);
  std::shared_ptr<const trial_detail::RowPlan> plan(std::span<const trial_detail::StepPart> parts);

  const std::vector<std::string> collections;
  const PatternList patterns;

 private:
  using Key = std::vector<const trial_detail::NameLayout*>;
  using Plans = std::map<Key, std::shared_ptr<const trial_detail::RowPlan>>;

  bool selects(std::uint32_t id) const;
  trial_detail::RowPlan make(std::span<const trial_detail::StepPart> parts) const;

  // Held, so that pointers into them stay what they are.
  std::shared_ptr<const trial_detail::IndexData> data_;
  std::shared_ptr<const trial_detail::RunCollections> run_collections_;
  std::shared_ptr<const trial_detail::NameFilter> pattern_filter_;
  std::vector<trial_detail::CollectionFilter> filters_;
  std::size_t joined_ = 0;  // memberships that were known when the filters were made
  Plans plans_;
  Plans::const_iterator last_ = plans_.end();
  std::size_t planned_rows_ = 0;
};

}  // namespace cupel
