#include <algorithm>
#include <optional>
#include <string>

#include "cupel/core/natural_order.h"
#include "cupel/trial/trial.h"
#include "row_plan.h"
#include "snapshot_view.h"
#include "step_merge.h"
#include "trial_view.h"
#include "value_reader.h"

namespace cupel {

using trial_detail::RowPlan;
using trial_detail::SnapshotView;
using trial_detail::StepMerge;
using trial_detail::StepRows;
using trial_detail::TrialView;

namespace {

std::vector<TensorValue> values_at(const TrialView& trial, std::int64_t step, Mode mode,
                                   const NameSelection& selection) {
  const SnapshotView view = trial.read();
  const std::optional<std::int64_t> global = view.global_step(mode, step);
  if (!global) view.throw_missing(step, mode);
  trial_detail::SelectionState::of(selection).use(view.snapshot(), *trial.index);
  StepMerge merge(view, *global, *global);
  const auto parts = merge.next();
  std::vector<RowPlan::Row> rows = trial_detail::SelectionState::of(selection).plan(parts)->rows;
  // The rows are ordered by name, then worker; the first one of each name is kept.
  const auto same_name = [](const RowPlan::Row& a, const RowPlan::Row& b) { return a.id == b.id; };
  rows.erase(std::unique(rows.begin(), rows.end(), same_name), rows.end());
  // Names with numbers are ordered as workers are: "labels_2" before "labels_10".
  const NaturalOrder in_order;
  std::sort(rows.begin(), rows.end(), [&](const RowPlan::Row& a, const RowPlan::Row& b) {
    return in_order(view.tensor_name(a.id), view.tensor_name(b.id));
  });

  std::vector<trial_detail::ValuePlace> places;
  for (const RowPlan::Row& row : rows) {
    const StepRows& saved = *parts[row.part].rows;
    const std::size_t at = std::size_t{saved.first_row} + row.position;
    if (saved.block->has_value(at)) places.push_back({&saved, at});
  }
  std::vector<TensorValue> values;
  for (auto& value : trial.index->reader().read(places))
    if (value) values.push_back(*std::move(value));
  return values;
}

}  // namespace

std::vector<TensorValue> Trial::inputs(std::int64_t step, Mode mode) const {
  return values_at(*view_, step, mode, NameSelection({"inputs"}));
}
std::vector<TensorValue> Trial::labels(std::int64_t step, Mode mode) const {
  return values_at(*view_, step, mode, NameSelection(std::vector<std::string>(), "labels*"));
}
std::vector<TensorValue> Trial::predictions(std::int64_t step, Mode mode) const {
  return values_at(*view_, step, mode, NameSelection(std::vector<std::string>(), "predictions*"));
}

}  // namespace cupel
