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
#include "cupel/trial/run_difference.h"
#include "cupel/trial/trial.h"
#include "reading.h"
#include "row_plan.h"
#include "step_merge.h"
#include "value_difference.h"

namespace cupel::trial_detail {

/// Walks two runs side by side, in the order of steps, names and workers, and gathers where they
/// part. Used once.
class RunComparer {
 public:
  RunComparer(const Trial& a, const Trial& b, const RunComparisonOptions& options);
  RunComparison compare();

 private:
  /// One of the runs, and how far the walk has come in it.
  struct Side {
    Side(const Trial& trial, const RunComparisonOptions& options);
    /// Begins to walk over global steps begin … last.
    void begin(std::int64_t first, std::int64_t last);
    void next_step() { parts = merge->next(); }
    /// What is selected of the step.
    void select(bool is_here);
    bool at_end() const noexcept { return next == plan->rows.size(); }
    const std::string& name() const noexcept;
    Reading::Row row() const noexcept;
    const StepPart* part_of(std::string_view worker) const noexcept;
    bool has_worker(std::string_view worker) const noexcept;
    const RowForm& form_of(const Reading::Row& row) const noexcept;
    DifferenceSide step_side() const noexcept;
    DifferenceSide row_side(const Reading::Row& row) const;

    const Trial& trial;
    const Reading reading;
    NameSelection selection;
    std::optional<StepMerge> merge;
    std::span<const StepPart> parts;  ///< Of the next step; none at the end.
    std::shared_ptr<const RowPlan> plan;
    std::size_t next = 0;  ///< Of the plan's rows.
    /// Workers of the other run that were told to be missing: at this step, and from the whole run.
    std::set<std::string_view> missing_here, missing;
  };

  bool is_wanted(std::span<const StepPart> parts) const noexcept;
  void compare_step(bool in_a, bool in_b);
  void compare_step_rows();
  /// Of the next row of a run, which the other has not next.
  void compare_unmatched(const Side& has, Side& lacks);
  void compare_rows(const std::string& name, const Reading::Row& a, const Reading::Row& b);
  void compare_values(const std::string& name, const Reading::Row& a, const Reading::Row& b);
  /// Whether the two had any statistics in common.
  bool compare_statistics(const std::string& name, const Reading::Row& a, const Reading::Row& b);
  TensorValue read(const Side& side, const std::string& name, const Reading::Row& row);

  RunDifference difference_at(DifferenceKind kind, const std::string& name, const Reading::Row& a,
                              const Reading::Row& b) const;
  /// Adds a difference; `lacks` is the run that has nothing there.
  void tell_only(DifferenceKind kind, const Side& lacks, const DifferenceSide& what,
                 const std::string& tensor = {}, std::string_view worker = {});
  void add(RunDifference difference);
  bool is_full() const noexcept { return !found_.complete; }
  std::int64_t steps_ahead(const Side& side, std::int64_t settled) const;
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
