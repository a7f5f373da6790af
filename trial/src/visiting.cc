// Visiting the selected records of steps.
//
// The calling thread merges the steps of all workers, takes the plan of the selection for each
// step, and calls the visitor for each row of it. Rows are read where the index holds them. The
// values that the visitor asks for are prefetched within the step (ValuePrefetch). Exceptions of
// the visitor pass through.

#include <algorithm>

#include "cupel/stats/statistics.h"
#include "cupel/trial/name_selection.h"
#include "cupel/trial/trial.h"
#include "row_plan.h"
#include "snapshot_view.h"
#include "step_merge.h"
#include "trial_view.h"
#include "value_prefetch.h"

namespace cupel {

using trial_detail::RowForm;
using trial_detail::RowPlan;
using trial_detail::SelectionState;
using trial_detail::SnapshotView;
using trial_detail::StepMerge;
using trial_detail::StepPart;
using trial_detail::TrialIndex;
using trial_detail::ValueCache;
using trial_detail::ValuePrefetch;

struct RecordView::Place {
  const SnapshotView& view;
  SnapshotView::Row row = {};
  std::uint32_t id = 0;
  std::size_t nth = 0;  // of the plan's rows
  ValuePrefetch* values = nullptr;
  trial_detail::ValueCache* cache = nullptr;

  const RowForm& form() const noexcept {
    return view.snapshot().data->forms[row.block().form(row.row)];
  }

  /// Visits what is selected at the global steps begin … last; returns how many records it visited.
  static std::size_t visit_steps(const SnapshotView& view, TrialIndex& index, std::int64_t begin,
                                 std::int64_t last, SelectionState& selection,
                                 const Trial::RecordVisitor& visit);
};

std::size_t RecordView::Place::visit_steps(const SnapshotView& view, TrialIndex& index,
                                           std::int64_t begin, std::int64_t last,
                                           SelectionState& selection,
                                           const Trial::RecordVisitor& visit) {
  selection.use(view.snapshot(), index);
  Place place{view};
  const RecordView record(place);
  std::size_t visited = 0;
  StepMerge merge(view, begin, last);
  for (auto parts = merge.next(); !parts.empty(); parts = merge.next()) {
    const std::shared_ptr<const RowPlan> plan = selection.plan(parts);
    ValuePrefetch values(index, parts, plan->rows);
    place.values = &values;
    place.cache = &index.values();
    for (place.nth = 0; place.nth < plan->rows.size(); ++place.nth) {
      const RowPlan::Row& row = plan->rows[place.nth];
      const StepPart& part = parts[row.part];
      place.row = {&view.workers()[part.worker], part.rows,
                   std::size_t{part.rows->first_row} + row.position};
      place.id = row.id;
      visit(record);
    }
    visited += plan->rows.size();
  }
  return visited;
}

const std::string& RecordView::tensor() const noexcept {
  return place_.view.tensor_name(place_.id);
}
std::string_view RecordView::worker() const noexcept { return place_.row.worker->name; }
std::int64_t RecordView::step() const noexcept { return place_.row.rows->step; }
Mode RecordView::mode() const noexcept { return place_.row.rows->mode; }
std::int64_t RecordView::mode_step() const noexcept { return place_.row.rows->mode_step; }
DType RecordView::dtype() const noexcept { return place_.form().dtype; }
std::int64_t RecordView::elements() const noexcept { return place_.form().elements; }
bool RecordView::has_value() const noexcept { return place_.row.block().has_value(place_.row.row); }
std::optional<ValueCounts> RecordView::counts() const noexcept {
  return place_.row.block().counts(place_.row.row);
}
std::optional<double> RecordView::reduction(Reduction reduction) const noexcept {
  return place_.row.block().reduction(place_.row.row, reduction);
}
ReductionValues RecordView::reductions() const noexcept {
  return place_.row.block().reductions(place_.row.row);
}
std::optional<double> RecordView::computed(Reduction reduction) const {
  if (!has_value() || dtype() == DType::Utf8) return std::nullopt;
  ReductionSet set;
  set.add(reduction);
  const bool by_statistics = place_.cache->is_on() && beyond_one_pass(set).empty();
  const ValueCache::Key key{&place_.row.block(), place_.row.row};
  if (by_statistics)
    if (const auto known = place_.cache->statistics(key)) return known->get(reduction);
  const std::optional<TensorValue> value = place_.values->take(place_.nth, reduction);
  if (!value) return std::nullopt;
  if (!by_statistics) return compute_reductions(value->view(), set).get(reduction);
  const Statistics statistics = compute_statistics(value->view());
  place_.cache->put(key, statistics);
  return statistics.get(reduction);
}
std::optional<TensorValue> RecordView::value() const {
  if (!has_value()) return std::nullopt;
  return place_.values->take(place_.nth, std::nullopt);
}
TensorRecord RecordView::record() const { return place_.view.record(place_.row); }

std::size_t Trial::visit_step(std::int64_t step, NameSelection& selection,
                              const RecordVisitor& visit, Mode mode) const {
  const SnapshotView view = view_->read();
  const std::optional<std::int64_t> global = view.global_step(mode, step);
  if (!global) return 0;
  return RecordView::Place::visit_steps(view, *view_->index, *global, *global,
                                        SelectionState::of(selection), visit);
}

std::size_t Trial::visit_steps(const StepRange& steps, NameSelection& selection,
                               const RecordVisitor& visit) const {
  const SnapshotView view = view_->read();
  const std::int64_t listed = view.listed(false);
  const std::int64_t last = steps.end && *steps.end <= listed ? *steps.end - 1 : listed;
  return RecordView::Place::visit_steps(view, *view_->index, steps.begin.value_or(0), last,
                                        SelectionState::of(selection), visit);
}

}  // namespace cupel
