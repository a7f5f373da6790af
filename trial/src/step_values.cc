#include <algorithm>
#include <optional>
#include <string>

#include "cupel/trial/trial.h"
#include "reading.h"
#include "row_plan.h"
#include "step_merge.h"
#include "value_reader.h"
#include "view.h"
#include "worker_order.h"

namespace cupel {

using trial_detail::Reading;
using trial_detail::RowPlan;
using trial_detail::StepMerge;
using trial_detail::StepRows;

std::vector<TensorValue> Trial::inputs(std::int64_t step, Mode mode) const {
  return values_at(step, mode, NameSelection({"inputs"}));
}
std::vector<TensorValue> Trial::labels(std::int64_t step, Mode mode) const {
  return values_at(step, mode, NameSelection(std::vector<std::string>(), "labels*"));
}
std::vector<TensorValue> Trial::predictions(std::int64_t step, Mode mode) const {
  return values_at(step, mode, NameSelection(std::vector<std::string>(), "predictions*"));
}

std::vector<TensorValue> Trial::values_at(std::int64_t step, Mode mode,
                                          const NameSelection& selection) const {
  const Reading reading = view_->read();
  const std::optional<std::int64_t> global = reading.global_step(mode, step);
  if (!global) reading.throw_missing(step, mode);
  selection.state_->use(reading.snapshot(), *view_->index);
  StepMerge merge(reading, *global, *global);
  const auto parts = merge.next();
  std::vector<RowPlan::Row> rows = selection.state_->plan(parts)->rows;
  // By name, then worker: of each name the first is kept.
  const auto same_name = [](const RowPlan::Row& a, const RowPlan::Row& b) { return a.id == b.id; };
  rows.erase(std::unique(rows.begin(), rows.end(), same_name), rows.end());
  // What orders workers orders these too: "labels_2" before "labels_10".
  const trial_detail::WorkerOrder in_order;
  std::sort(rows.begin(), rows.end(), [&](const RowPlan::Row& a, const RowPlan::Row& b) {
    return in_order(reading.tensor_name(a.id), reading.tensor_name(b.id));
  });

  std::vector<trial_detail::ValuePlace> places;
  for (const RowPlan::Row& row : rows) {
    const StepRows& saved = *parts[row.part].rows;
    const std::size_t at = std::size_t{saved.first_row} + row.position;
    if (saved.block->has_value(at)) places.push_back({&saved, at});
  }
  std::vector<TensorValue> values;
  for (auto& value : view_->index->reader().read(places))
    if (value) values.push_back(*std::move(value));
  return values;
}

}  // namespace cupel
