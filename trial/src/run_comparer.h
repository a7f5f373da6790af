#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "cupel/trial/name_selection.h"
#include "cupel/trial/run_comparison.h"
#include "cupel/trial/trial.h"
#include "row_plan.h"
#include "snapshot_view.h"
#include "step_merge.h"
#include "value_difference.h"

namespace cupel::trial_detail {

/// Walks two runs side by side, in the order of steps, names and workers, and collects their
/// differences. Used once, by one thread.
class RunComparer {
 public:
  RunComparer(const Trial& a, const Trial& b, const RunComparisonOptions& options);
  RunComparison compare();

 private:
  /// One of the runs, and the position of the walk in it.
  struct Side {
    Side(const Trial& trial, const RunComparisonOptions& options);
    /// Begins to walk over the global steps first … last.
    void begin(std::int64_t first, std::int64_t last);
    void next_step() { parts = merge->next(); }
    /// Selects the rows of the step; none unless the run has the step.
    void select(bool is_here);
    bool at_end() const noexcept { return next == plan->rows.size(); }
    const std::string& name() const noexcept;
    SnapshotView::Row row() const noexcept;
    const StepPart* part_of(std::string_view worker) const noexcept;
    bool has_worker(std::string_view worker) const noexcept;
    const RowForm& form_of(const SnapshotView::Row& row) const noexcept;
    DifferenceSide step_side() const noexcept;
    DifferenceSide row_side(const SnapshotView::Row& row) const;

    const Trial& trial;
    const SnapshotView view;
    NameSelection selection;
    std::optional<StepMerge> merge;
    std::span<const StepPart> parts;  ///< The parts of the next step; empty at the end.
    std::shared_ptr<const RowPlan> plan;
    std::size_t next = 0;  ///< The next row of the plan.
    /// Workers of the other run that were reported as missing: at this step, and in the whole run.
    std::set<std::string_view> missing_here, missing;
  };

  bool is_wanted(std::span<const StepPart> parts) const noexcept;
  void compare_step(bool in_a, bool in_b);
  void compare_step_rows();
  /// Compares the next row of a run where the next row of the other run is another one.
  void compare_unmatched(const Side& has, Side& lacks);
  void compare_rows(const std::string& name, const SnapshotView::Row& a,
                    const SnapshotView::Row& b);
  void compare_values(const std::string& name, const SnapshotView::Row& a,
                      const SnapshotView::Row& b);
  /// False if the rows have no statistics in common.
  bool compare_statistics(const std::string& name, const SnapshotView::Row& a,
                          const SnapshotView::Row& b);
  TensorValue read(const Side& side, const std::string& name, const SnapshotView::Row& row);

  RunDifference difference_at(DifferenceKind kind, const std::string& name,
                              const SnapshotView::Row& a, const SnapshotView::Row& b) const;
  /// Adds a difference; `lacks` is the run that has nothing there.
  void add_unmatched(DifferenceKind kind, const Side& lacks, const DifferenceSide& what,
                     const std::string& tensor = {}, std::string_view worker = {});
  void add(RunDifference difference);
  bool is_full() const noexcept { return !found_.complete; }
  std::int64_t steps_ahead(const Side& side, std::int64_t passed) const;
  void count_rows(std::int64_t first, std::int64_t last);
  void report() const;

  const RunComparisonOptions& options_;
  const Tolerance tolerance_;
  Side a_, b_;
  std::int64_t step_ = 0;
  RunComparison found_;
  std::uint64_t rows_done_ = 0, rows_ = 0;
};

}  // namespace cupel::trial_detail
