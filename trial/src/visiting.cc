#include <algorithm>

#include "cupel/stats/statistics.h"
#include "cupel/trial/name_selection.h"
#include "cupel/trial/trial.h"
#include "reading.h"
#include "row_plan.h"
#include "step_merge.h"
#include "values_ahead.h"
#include "view.h"

namespace cupel {

using trial_detail::Reading;
using trial_detail::RowForm;
using trial_detail::RowPlan;
using trial_detail::StepMerge;
using trial_detail::StepPart;
using trial_detail::ValueCache;
using trial_detail::ValuesAhead;

struct RecordView::Place {
  const Reading& reading;
  Reading::Row row = {};
  std::uint32_t id = 0;
  std::size_t nth = 0;  // of the plan's rows
  ValuesAhead* values = nullptr;
  trial_detail::ValueCache* cache = nullptr;

  const RowForm& form() const noexcept {
    return reading.snapshot().data->forms[row.block().form(row.row)];
  }
};

const std::string& RecordView::tensor() const noexcept {
  return place_.reading.tensor_name(place_.id);
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
TensorRecord RecordView::record() const { return place_.reading.record(place_.row); }

std::size_t Trial::visit_step(std::int64_t step, NameSelection& selection,
                              const RecordVisitor& visit, Mode mode) const {
  const Reading reading = view_->read();
  const std::optional<std::int64_t> global = reading.global_step(mode, step);
  if (!global) return 0;
  return visit_parts(reading, *global, *global, selection, visit);
}

std::size_t Trial::visit_steps(const StepRange& steps, NameSelection& selection,
                               const RecordVisitor& visit) const {
  const Reading reading = view_->read();
  const std::int64_t listed = reading.listed(false);
  const std::int64_t last = steps.end && *steps.end <= listed ? *steps.end - 1 : listed;
  return visit_parts(reading, steps.begin.value_or(0), last, selection, visit);
}

/// Visits global steps begin … last.
std::size_t Trial::visit_parts(const Reading& reading, std::int64_t begin, std::int64_t last,
                               NameSelection& selection, const RecordVisitor& visit) const {
  selection.state_->use(reading.snapshot(), *view_->index);
  RecordView::Place place{reading};
  const RecordView record(place);
  std::size_t visited = 0;
  StepMerge merge(reading, begin, last);
  for (auto parts = merge.next(); !parts.empty(); parts = merge.next()) {
    const std::shared_ptr<const RowPlan> plan = selection.state_->plan(parts);
    ValuesAhead values(*view_->index, parts, plan->rows);
    place.values = &values;
    place.cache = &view_->index->values();
    for (place.nth = 0; place.nth < plan->rows.size(); ++place.nth) {
      const RowPlan::Row& row = plan->rows[place.nth];
      const StepPart& part = parts[row.part];
      place.row = {&reading.workers()[part.worker], part.rows,
                   std::size_t{part.rows->first_row} + row.position};
      place.id = row.id;
      visit(record);
    }
    visited += plan->rows.size();
  }
  return visited;
}

}  // namespace cupel
