#include "cupel/trial/tensor.h"

#include <algorithm>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/stats/statistics.h"
#include "reading.h"
#include "value_reader.h"
#include "view.h"

namespace cupel {

using trial_detail::HoldsTensor;
using trial_detail::Reading;
using trial_detail::RowForm;

namespace {

/// The raw value of a row; throws TensorUnavailableForStep when there is none.
TensorValue require_value(TrialIndex& index, const Reading::Row& row, const std::string& name,
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

std::optional<Shape> saved_shape(const Reading& reading, const Reading::Row& row) {
  const RowForm& form = reading.snapshot().data->forms[row.block().form(row.row)];
  if (!form.has_shape && !row.block().has_value(row.row)) return std::nullopt;
  return trial_detail::shape_of(form);
}

}  // namespace

Tensor::Tensor(const Trial& trial, std::string name, std::uint32_t id)
    : trial_(&trial), name_(std::move(name)), id_(id) {}

std::vector<std::int64_t> Tensor::steps(Mode mode, bool show_incomplete_steps) const {
  return trial_->view_->read().steps(mode, show_incomplete_steps, HoldsTensor(id_));
}

std::vector<std::int64_t> Tensor::prev_steps(std::int64_t step, std::size_t n, Mode mode) const {
  return trial_->view_->read().prev_steps(mode, step, n, HoldsTensor(id_));
}

std::vector<std::string> Tensor::workers(std::int64_t step, Mode mode) const {
  const Reading reading = trial_->view_->read();
  // Throws what is to be said when nobody has it.
  static_cast<void>(reading.require_row(id_, step, mode, {}));
  std::vector<std::string> names;
  for (const Reading::Row& row : reading.rows(id_, *reading.global_step(mode, step)))
    names.emplace_back(row.worker->name);
  return names;
}

TensorValue Tensor::value(std::int64_t step, Mode mode, std::string_view worker) const {
  const Reading reading = trial_->view_->read();
  const Reading::Row row = reading.require_row(id_, step, mode, worker);
  return require_value(*trial_->view_->index, row, name_, step, mode);
}

std::map<std::int64_t, TensorValue> Tensor::values(Mode mode, std::string_view worker) const {
  const Reading reading = trial_->view_->read();
  std::vector<std::int64_t> steps;
  std::vector<trial_detail::ValuePlace> places;
  reading.for_each_row(id_, mode, worker, [&](std::int64_t step, const Reading::Row& row) {
    if (!row.block().has_value(row.row)) return;
    steps.push_back(step);
    places.push_back({row.rows, row.row});
  });
  std::vector<std::optional<TensorValue>> read = trial_->view_->index->reader().read(places);
  std::map<std::int64_t, TensorValue> values;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (read[i]) values.emplace_hint(values.end(), steps[i], *std::move(read[i]));
  return values;
}

double Tensor::reduction_value(std::int64_t step, std::string_view reduction,
                               const ReductionQuery& query) const {
  const Reduction wanted = require_reduction(reduction, query.abs);
  const Reading reading = trial_->view_->read();
  const Reading::Row row = reading.require_row(id_, step, query.mode, query.worker);
  if (const auto saved = row.block().reduction(row.row, wanted)) return *saved;
  if (!row.block().has_value(row.row))
    throw TensorUnavailableForStep(
        name_, step, query.mode, row.block().has_reductions(row.row),
        "neither its value was saved nor its " + std::string(to_string(wanted)));
  const TensorValue value = require_value(*trial_->view_->index, row, name_, step, query.mode);
  if (value.dtype() == DType::Utf8)
    throw TensorUnavailableForStep(name_, step, query.mode, false, "text has no reductions");
  ReductionSet set;
  set.add(wanted);
  return *compute_reductions(value.view(), set).get(wanted);
}

std::optional<SavedReduction> Tensor::find_reduction(std::int64_t step, Reduction reduction,
                                                     Mode mode, std::string_view worker) const {
  const Reading reading = trial_->view_->read();
  const Reading::Row row = reading.require_row(id_, step, mode, worker);
  const auto saved = row.block().reduction(row.row, reduction);
  if (!saved) return std::nullopt;
  return SavedReduction{*saved, row.rows->step, row.worker->name};
}

ReductionValues Tensor::reduction_values(std::int64_t step, Mode mode,
                                         std::string_view worker) const {
  const Reading reading = trial_->view_->read();
  const Reading::Row row = reading.require_row(id_, step, mode, worker);
  return row.block().reductions(row.row);
}

Shape Tensor::shape(std::int64_t step, Mode mode, std::string_view worker) const {
  const Reading reading = trial_->view_->read();
  const Reading::Row row = reading.require_row(id_, step, mode, worker);
  if (const std::optional<Shape> shape = saved_shape(reading, row)) return *shape;
  throw ShapeUnavailableForStep(name_, step, mode, row.block().has_reductions(row.row));
}

std::map<std::int64_t, Shape> Tensor::shapes(Mode mode, std::string_view worker) const {
  const Reading reading = trial_->view_->read();
  std::map<std::int64_t, Shape> shapes;
  reading.for_each_row(id_, mode, worker, [&](std::int64_t step, const Reading::Row& row) {
    if (const std::optional<Shape> shape = saved_shape(reading, row)) shapes.emplace(step, *shape);
  });
  return shapes;
}

std::vector<TensorRecord> Tensor::records(std::int64_t step, Mode mode) const {
  const Reading reading = trial_->view_->read();
  std::vector<TensorRecord> records;
  const std::optional<std::int64_t> global = reading.global_step(mode, step);
  if (!global) return records;
  for (const Reading::Row& row : reading.rows(id_, *global)) records.push_back(reading.record(row));
  return records;
}

TensorRecord Tensor::record(std::int64_t step, Mode mode, std::string_view worker) const {
  const Reading reading = trial_->view_->read();
  return reading.record(reading.require_row(id_, step, mode, worker));
}

}  // namespace cupel
