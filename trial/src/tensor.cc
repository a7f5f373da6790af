// The queries of one tensor.
//
// Each query takes one snapshot and finds the rows of the tensor in it; values are read through the
// ValueReader of the run, reductions come from the index where they were saved. Any thread. A query
// for a step that lacks the tensor throws what Tensor documents.

#include "cupel/trial/tensor.h"

#include <algorithm>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/stats/statistics.h"
#include "snapshot_steps.h"
#include "trial_view.h"
#include "value_reader.h"

namespace cupel {

using trial_detail::HoldsTensor;
using trial_detail::RowForm;
using trial_detail::SnapshotView;
using trial_detail::TrialIndex;
using trial_detail::TrialView;

namespace {

/// The raw value of a row; throws TensorUnavailableForStep when there is none.
TensorValue require_value(TrialIndex& index, const SnapshotView::Row& row, const std::string& name,
                          std::int64_t step, Mode mode) {
  const bool has_reductions = row.block().has_reductions(row.row);
  if (!row.block().has_value(row.row))
    throw TensorUnavailableForStep(name, step, mode, has_reductions, "its value was not saved");
  const trial_detail::ValueCache::Key key{&row.block(), row.row};
  const bool may_be_kept = index.values().is_on() && row.block().is_stored(row.row);
  if (may_be_kept)
    if (auto kept = index.values().value(key)) return *std::move(kept);
  if (auto value = index.reader().read(*row.rows, row.row)) {
    if (may_be_kept) index.values().put(key, *value);
    return *std::move(value);
  }
  throw TensorUnavailableForStep(name, step, mode, has_reductions,
                                 "the events file is missing: " + row.rows->files->events_key);
}

std::optional<Shape> saved_shape(const SnapshotView& view, const SnapshotView::Row& row) {
  const RowForm& form = view.snapshot().data->forms[row.block().form(row.row)];
  if (!form.has_shape && !row.block().has_value(row.row)) return std::nullopt;
  return trial_detail::shape_of(form);
}

}  // namespace

Tensor::Tensor(const Trial& trial, std::string name, std::uint32_t id)
    : trial_(&trial), name_(std::move(name)), id_(id) {}

std::vector<std::int64_t> Tensor::steps(Mode mode, bool show_incomplete_steps) const {
  return TrialView::of(*trial_).read().steps(mode, show_incomplete_steps, HoldsTensor(id_));
}

std::vector<std::int64_t> Tensor::prev_steps(std::int64_t step, std::size_t n, Mode mode) const {
  return TrialView::of(*trial_).read().prev_steps(mode, step, n, HoldsTensor(id_));
}

std::vector<std::string> Tensor::workers(std::int64_t step, Mode mode) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  // Throws when no worker has it.
  static_cast<void>(view.require_row(id_, step, mode, {}));
  std::vector<std::string> names;
  for (const SnapshotView::Row& row : view.rows(id_, *view.global_step(mode, step)))
    names.emplace_back(row.worker->name);
  return names;
}

TensorValue Tensor::value(std::int64_t step, Mode mode, std::string_view worker) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  const SnapshotView::Row row = view.require_row(id_, step, mode, worker);
  return require_value(*TrialView::of(*trial_).index, row, name_, step, mode);
}

std::map<std::int64_t, TensorValue> Tensor::values(Mode mode, std::string_view worker) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  std::vector<std::int64_t> steps;
  std::vector<trial_detail::ValuePlace> places;
  view.for_each_row(id_, mode, worker, [&](std::int64_t step, const SnapshotView::Row& row) {
    if (!row.block().has_value(row.row)) return;
    steps.push_back(step);
    places.push_back({row.rows, row.row});
  });
  std::vector<std::optional<TensorValue>> read =
      TrialView::of(*trial_).index->reader().read(places);
  std::map<std::int64_t, TensorValue> values;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (read[i]) values.emplace_hint(values.end(), steps[i], *std::move(read[i]));
  return values;
}

double Tensor::reduction_value(std::int64_t step, std::string_view reduction,
                               const ReductionQuery& query) const {
  const Reduction wanted = require_reduction(reduction, query.abs);
  const SnapshotView view = TrialView::of(*trial_).read();
  const SnapshotView::Row row = view.require_row(id_, step, query.mode, query.worker);
  if (const auto saved = row.block().reduction(row.row, wanted)) return *saved;
  if (!row.block().has_value(row.row))
    throw TensorUnavailableForStep(
        name_, step, query.mode, row.block().has_reductions(row.row),
        "neither its value was saved nor its " + std::string(to_string(wanted)));
  const TensorValue value =
      require_value(*TrialView::of(*trial_).index, row, name_, step, query.mode);
  if (value.dtype() == DType::Utf8)
    throw TensorUnavailableForStep(name_, step, query.mode, false, "text has no reductions");
  ReductionSet set;
  set.add(wanted);
  return *compute_reductions(value.view(), set).get(wanted);
}

std::optional<SavedReduction> Tensor::find_reduction(std::int64_t step, Reduction reduction,
                                                     Mode mode, std::string_view worker) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  const SnapshotView::Row row = view.require_row(id_, step, mode, worker);
  const auto saved = row.block().reduction(row.row, reduction);
  if (!saved) return std::nullopt;
  return SavedReduction{*saved, row.rows->step, row.worker->name};
}

ReductionValues Tensor::reduction_values(std::int64_t step, Mode mode,
                                         std::string_view worker) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  const SnapshotView::Row row = view.require_row(id_, step, mode, worker);
  return row.block().reductions(row.row);
}

Shape Tensor::shape(std::int64_t step, Mode mode, std::string_view worker) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  const SnapshotView::Row row = view.require_row(id_, step, mode, worker);
  if (const std::optional<Shape> shape = saved_shape(view, row)) return *shape;
  throw ShapeUnavailableForStep(name_, step, mode, row.block().has_reductions(row.row));
}

std::map<std::int64_t, Shape> Tensor::shapes(Mode mode, std::string_view worker) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  std::map<std::int64_t, Shape> shapes;
  view.for_each_row(id_, mode, worker, [&](std::int64_t step, const SnapshotView::Row& row) {
    if (const std::optional<Shape> shape = saved_shape(view, row)) shapes.emplace(step, *shape);
  });
  return shapes;
}

std::vector<TensorRecord> Tensor::records(std::int64_t step, Mode mode) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  std::vector<TensorRecord> records;
  const std::optional<std::int64_t> global = view.global_step(mode, step);
  if (!global) return records;
  for (const SnapshotView::Row& row : view.rows(id_, *global)) records.push_back(view.record(row));
  return records;
}

TensorRecord Tensor::record(std::int64_t step, Mode mode, std::string_view worker) const {
  const SnapshotView view = TrialView::of(*trial_).read();
  return view.record(view.require_row(id_, step, mode, worker));
}

}  // namespace cupel
