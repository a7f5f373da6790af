// Questions about the steps and rows of a snapshot.
//
// A view is made for one query and used by one thread; snapshots do not change. Searches are binary
// within each worker, and the workers are tried in order. A step that is missing becomes one of
// four errors, depending on whether the run has passed it, may still commit it, or has ended.

#include "snapshot_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cupel/core/error.h"
#include "snapshot_steps.h"

namespace cupel::trial_detail {

SnapshotView::SnapshotView(std::shared_ptr<const Snapshot> snapshot)
    : held_(std::move(snapshot)),
      snapshot_(held_.get()),
      limit_(kNoLimit),
      passed_(snapshot_->passed) {}

SnapshotView::SnapshotView(const Snapshot* pinned, std::optional<std::int64_t> limit)
    : snapshot_(pinned), limit_(limit.value_or(kNoLimit)), passed_(snapshot_->passed) {
  if (!limit) return;
  if (passed_ < limit_) passed_ = std::max(passed_, last_step(limit_));
  passed_ = std::min(passed_, limit_);
}

const StepRows* SnapshotView::find_any(std::int64_t global) const noexcept {
  for (const Snapshot::Worker& worker : workers())
    if (const StepRows* rows = find(worker, global)) return rows;
  return nullptr;
}

std::vector<std::int64_t> SnapshotView::steps_from(std::int64_t first, bool show_incomplete) const {
  std::vector<std::int64_t> merged;
  for (const Snapshot::Worker& worker : workers()) {
    const std::size_t count =
        worker.steps->count_until(listed(show_incomplete), worker.sizes.steps);
    std::vector<std::int64_t> own;
    for (std::size_t i = count; i > 0 && worker.steps->step(i - 1).step >= first; --i)
      own.push_back(worker.steps->step(i - 1).step);
    std::ranges::reverse(own);
    merge_sorted(merged, std::move(own));
  }
  return merged;
}

std::int64_t SnapshotView::last_step(std::int64_t until) const noexcept {
  std::int64_t last = -1;
  for (const Snapshot::Worker& worker : workers()) {
    const std::size_t count = worker.steps->count_until(until, worker.sizes.steps);
    if (count > 0) last = std::max(last, worker.steps->step(count - 1).step);
  }
  return last;
}

std::int64_t SnapshotView::last_step_of(Mode mode) const {
  if (mode == Mode::Global) return last_step(limit_);
  const std::vector<std::int64_t> all = steps(mode, true, [](const StepRows&) { return true; });
  return all.empty() ? -1 : all.back();
}

std::optional<SnapshotView::First> SnapshotView::first_at_or_after(std::int64_t step,
                                                                   Mode mode) const noexcept {
  std::optional<First> first;
  for (const Snapshot::Worker& worker : workers()) {
    if (mode == Mode::Global) {
      const std::size_t before = worker.steps->count_until(step - 1, worker.sizes.steps);
      if (before == worker.sizes.steps) continue;
      const std::int64_t global = worker.steps->step(before).step;
      if (global <= limit_ && (!first || global < first->step)) first = First{global, global};
    } else if (const StepRows* rows = worker.steps->at_or_after(mode, step, worker.sizes, limit_)) {
      if (!first || rows->mode_step < first->step) first = First{rows->mode_step, rows->step};
    }
  }
  return first;
}

std::optional<std::int64_t> SnapshotView::global_step(Mode mode, std::int64_t step) const noexcept {
  if (!is_valid(mode) || step < 0) return std::nullopt;
  if (mode == Mode::Global) return find_any(step) != nullptr ? std::optional(step) : std::nullopt;
  const std::optional<First> first = first_at_or_after(step, mode);
  return first && first->step == step ? std::optional(first->global) : std::nullopt;
}

StepState SnapshotView::state(std::int64_t step, Mode mode) const noexcept {
  if (!is_valid(mode) || step < 0) return StepState::Unavailable;
  const std::optional<First> first = first_at_or_after(step, mode);
  if (first && first->step == step)
    return first->global <= passed_ ? StepState::Available : StepState::NotYetAvailable;
  const bool is_passed =
      ended() || (first && first->global <= passed_) || (mode == Mode::Global && step <= passed_);
  return is_passed ? StepState::Unavailable : StepState::NotYetAvailable;
}

void SnapshotView::throw_missing(std::int64_t step, Mode mode) const {
  if (state(step, mode) != StepState::Unavailable) throw StepNotYetAvailable(step, mode);
  if (ended() && is_valid(mode))
    if (const std::int64_t last = last_step_of(mode); step > last)
      throw NoMoreData(step, mode, last);
  throw StepUnavailable(step, mode);
}

std::optional<SnapshotView::Row> SnapshotView::row_of(const Snapshot::Worker& worker,
                                                      std::uint32_t tensor,
                                                      std::int64_t global) const noexcept {
  const StepRows* rows = find(worker, global);
  if (rows == nullptr) return std::nullopt;
  const std::uint32_t position = rows->layout->position(tensor);
  if (position == NameLayout::kAbsent) return std::nullopt;
  return Row{&worker, rows, std::size_t{rows->first_row} + position};
}

std::vector<SnapshotView::Row> SnapshotView::rows(std::uint32_t tensor, std::int64_t global) const {
  std::vector<Row> rows;
  for (const Snapshot::Worker& worker : workers())
    if (const std::optional<Row> row = row_of(worker, tensor, global)) rows.push_back(*row);
  return rows;
}

SnapshotView::Row SnapshotView::require_row(std::uint32_t tensor, std::int64_t step, Mode mode,
                                            std::string_view worker) const {
  require_worker(worker);
  const std::optional<std::int64_t> global = global_step(mode, step);
  if (!global) throw_missing(step, mode);
  bool may_come = *global > passed_;
  for (const Snapshot::Worker& candidate : workers()) {
    if (!worker.empty() && candidate.name != worker) continue;
    if (const std::optional<Row> row = row_of(candidate, tensor, *global)) return *row;
    if (candidate.name == worker && find(candidate, *global) != nullptr) may_come = false;
  }
  if (may_come) throw StepNotYetAvailable(step, mode);
  throw TensorUnavailableForStep(tensor_name(tensor), step, mode, false);
}

TensorRecord SnapshotView::record(const Row& row) const {
  const RowForm& form = snapshot_->data->forms[row.block().form(row.row)];
  TensorRecord record;
  record.step = row.rows->step;
  record.mode = row.rows->mode;
  record.mode_step = row.rows->mode_step;
  record.worker = row.worker->name;
  record.dtype = form.dtype;
  record.elements = form.elements;
  record.has_value = row.block().has_value(row.row);
  record.bytes = static_cast<std::int64_t>(row.block().value_bytes(row.row));
  if (form.has_shape) record.shape.emplace(form.extents);
  record.counts = row.block().counts(row.row);
  record.reductions = row.block().reductions(row.row);
  return record;
}

bool SnapshotView::has_tensor(std::uint32_t id) const noexcept {
  for (const Snapshot::Worker& worker : workers()) {
    for (std::size_t i = 0; i < worker.sizes.uses; ++i) {
      const WorkerSteps::LayoutUse& use = worker.steps->use(i);
      if (use.step > limit_) break;
      if (use.layout->contains(id)) return true;
    }
  }
  return false;
}

void SnapshotView::require_worker(std::string_view name) const {
  const auto is_it = [&](const Snapshot::Worker& worker) { return worker.name == name; };
  if (!name.empty() && std::ranges::none_of(workers(), is_it))
    throw InvalidWorker(std::string(name));
}

void merge_sorted(std::vector<std::int64_t>& into, std::vector<std::int64_t> steps) {
  if (!std::ranges::is_sorted(steps))
    std::ranges::sort(steps);  // A program may count mode steps down.
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  if (into.empty()) {
    into = std::move(steps);
    return;
  }
  std::vector<std::int64_t> merged;
  merged.reserve(std::max(into.size(), steps.size()));
  std::ranges::set_union(into, steps, std::back_inserter(merged));
  into = std::move(merged);
}

}  // namespace cupel::trial_detail
