// Comparing two runs: the walk over steps and rows of both indexes.
//
// The walk merges two sorted lists, first of steps, then of (name, worker) within a step. An
// element of one list only is a difference; the comparison of rows that both runs have is in
// row_comparison.cc. The calling thread walks, from one snapshot of each run. The walk ends at the
// limit of differences, or with the first exception.

#include "run_comparer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cupel/core/natural_order.h"
#include "trial_view.h"

namespace cupel {

const char* to_string(DifferenceKind kind) noexcept {
  static constexpr const char* kNames[] = {"step",  "mode",    "worker", "tensor",   "dtype",
                                           "shape", "element", "count",  "reduction"};
  return kNames[static_cast<std::size_t>(kind)];
}

RunComparison compare_runs(const Trial& a, const Trial& b, const RunComparisonOptions& options) {
  return trial_detail::RunComparer(a, b, options).compare();
}

namespace trial_detail {

namespace {

constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();

std::int64_t step_of(std::span<const StepPart> parts) noexcept {
  return parts.empty() ? kNoStep : parts.front().rows->step;
}

std::uint64_t rows_of(std::span<const StepPart> parts) noexcept {
  std::uint64_t rows = 0;
  for (const StepPart& part : parts) rows += part.rows->layout->visible();
  return rows;
}

}  // namespace

RunComparer::Side::Side(const Trial& run, const RunComparisonOptions& options)
    : trial(run),
      view(TrialView::of(run).read()),
      selection(options.collections, options.patterns),
      plan(std::make_shared<const RowPlan>()) {
  SelectionState::of(selection).use(view.snapshot(), *TrialView::of(run).index);
}

void RunComparer::Side::begin(std::int64_t first, std::int64_t last) {
  merge.emplace(view, first, last);
  next_step();
}

void RunComparer::Side::select(bool is_here) {
  static const auto kNothing = std::make_shared<const RowPlan>();
  plan = is_here ? SelectionState::of(selection).plan(parts) : kNothing;
  next = 0;
  missing_here.clear();
}

const std::string& RunComparer::Side::name() const noexcept {
  return view.tensor_name(plan->rows[next].id);
}

SnapshotView::Row RunComparer::Side::row() const noexcept {
  const RowPlan::Row& row = plan->rows[next];
  const StepPart& part = parts[row.part];
  return {&view.workers()[part.worker], part.rows,
          std::size_t{part.rows->first_row} + row.position};
}

const StepPart* RunComparer::Side::part_of(std::string_view worker) const noexcept {
  const auto found = std::ranges::find_if(
      parts, [&](const StepPart& part) { return view.workers()[part.worker].name == worker; });
  return found == parts.end() ? nullptr : &*found;
}

bool RunComparer::Side::has_worker(std::string_view worker) const noexcept {
  return std::ranges::any_of(
      view.workers(), [&](const Snapshot::Worker& candidate) { return candidate.name == worker; });
}

DifferenceSide RunComparer::Side::step_side() const noexcept {
  const StepRows& rows = *parts.front().rows;
  return {.mode = rows.mode, .mode_step = rows.mode_step};
}

RunComparer::RunComparer(const Trial& a, const Trial& b, const RunComparisonOptions& options)
    : options_(options), tolerance_(options.rtol, options.atol), a_(a, options), b_(b, options) {}

RunComparison RunComparer::compare() {
  // Both runs have passed this step; steps behind it may still come in one of them.
  const std::int64_t passed = std::min(a_.view.listed(false), b_.view.listed(false));
  const std::int64_t first = std::max<std::int64_t>(0, options_.steps.begin.value_or(0));
  const std::int64_t last =
      options_.steps.end && *options_.steps.end <= passed ? *options_.steps.end - 1 : passed;
  found_.steps_ahead_in_a = steps_ahead(a_, passed);
  found_.steps_ahead_in_b = steps_ahead(b_, passed);
  if (options_.progress) count_rows(first, last);

  a_.begin(first, last);
  b_.begin(first, last);
  while (!is_full() && !(a_.parts.empty() && b_.parts.empty())) {
    const std::int64_t step_a = step_of(a_.parts), step_b = step_of(b_.parts);
    step_ = std::min(step_a, step_b);
    const bool in_a = step_a == step_, in_b = step_b == step_;
    if ((in_a && is_wanted(a_.parts)) || (in_b && is_wanted(b_.parts))) compare_step(in_a, in_b);
    rows_done_ += (in_a ? rows_of(a_.parts) : 0) + (in_b ? rows_of(b_.parts) : 0);
    a_.next = b_.next = 0;
    report();
    if (in_a) a_.next_step();
    if (in_b) b_.next_step();
  }
  return std::move(found_);
}

bool RunComparer::is_wanted(std::span<const StepPart> parts) const noexcept {
  return options_.mode == Mode::Global || parts.front().rows->mode == options_.mode;
}

void RunComparer::compare_step(bool in_a, bool in_b) {
  a_.select(in_a);
  b_.select(in_b);
  if (a_.at_end() && b_.at_end()) return;  // No selected row is in the step.
  if (!in_a) return add_unmatched(DifferenceKind::Step, a_, b_.step_side());
  if (!in_b) return add_unmatched(DifferenceKind::Step, b_, a_.step_side());
  ++found_.steps;
  if (a_.step_side().mode != b_.step_side().mode)
    add({.kind = DifferenceKind::Mode, .step = step_, .a = a_.step_side(), .b = b_.step_side()});
  compare_step_rows();
  if (found_.same()) ++found_.steps_before;
}

void RunComparer::compare_step_rows() {
  const NaturalOrder workers_in_order;
  while (!is_full() && !(a_.at_end() && b_.at_end())) {
    bool in_a = !a_.at_end(), in_b = !b_.at_end();
    if (in_a && in_b) {
      const std::string_view worker_a = a_.row().worker->name, worker_b = b_.row().worker->name;
      const int order = a_.name().compare(b_.name());
      in_b = order > 0 || (order == 0 && !workers_in_order(worker_a, worker_b));
      in_a = order < 0 || (order == 0 && !workers_in_order(worker_b, worker_a));
    }
    if (in_a && in_b) {
      compare_rows(a_.name(), a_.row(), b_.row());
    } else if (in_a) {
      compare_unmatched(a_, b_);
    } else {
      compare_unmatched(b_, a_);
    }
    if (in_a) ++a_.next;
    if (in_b) ++b_.next;
  }
}

void RunComparer::compare_unmatched(const Side& has, Side& lacks) {
  const SnapshotView::Row row = has.row();
  const std::string_view worker = row.worker->name;
  if (const StepPart* part = lacks.part_of(worker)) {
    // The collections of the two runs may select different names.
    const NameTable& names = lacks.view.snapshot().data->names;
    const std::optional<std::uint32_t> id = names.find(has.name());
    const std::uint32_t position = id ? part->rows->layout->position(*id) : NameLayout::kAbsent;
    if (position == NameLayout::kAbsent)
      return add_unmatched(DifferenceKind::Tensor, lacks, has.row_side(row), has.name(), worker);
    const SnapshotView::Row twin{&lacks.view.workers()[part->worker], part->rows,
                                 std::size_t{part->rows->first_row} + position};
    return &has == &a_ ? compare_rows(has.name(), row, twin) : compare_rows(has.name(), twin, row);
  }
  const bool is_known = lacks.has_worker(worker);
  if (!(is_known ? lacks.missing_here : lacks.missing).insert(worker).second) return;
  add_unmatched(DifferenceKind::Worker, lacks, has.step_side(), {}, worker);
}

void RunComparer::add_unmatched(DifferenceKind kind, const Side& lacks, const DifferenceSide& what,
                                const std::string& tensor, std::string_view worker) {
  RunDifference difference{
      .kind = kind, .step = step_, .tensor = tensor, .worker = std::string(worker)};
  (&lacks == &a_ ? difference.b : difference.a) = what;
  add(std::move(difference));
}

void RunComparer::add(RunDifference difference) {
  if (is_full()) return;
  found_.differences.push_back(std::move(difference));
  found_.complete = options_.limit == 0 || found_.differences.size() < options_.limit;
}

/// The number of steps of a run behind the last step that both runs have passed.
std::int64_t RunComparer::steps_ahead(const Side& side, std::int64_t passed) const {
  if (passed == kNoStep) return 0;
  const std::int64_t listed = side.view.listed(false);
  const std::int64_t first = std::max(passed + 1, options_.steps.begin.value_or(0));
  std::int64_t steps = 0;
  StepMerge merge(side.view, first, listed);
  for (auto parts = merge.next(); !parts.empty(); parts = merge.next())
    if (options_.steps.contains(step_of(parts)) && is_wanted(parts)) ++steps;
  return steps;
}

void RunComparer::count_rows(std::int64_t first, std::int64_t last) {
  for (const Side* side : {&a_, &b_}) {
    StepMerge merge(side->view, first, last);
    for (auto parts = merge.next(); !parts.empty(); parts = merge.next()) rows_ += rows_of(parts);
  }
}

void RunComparer::report() const {
  if (options_.progress) options_.progress(rows_done_ + a_.next + b_.next, rows_);
}

}  // namespace trial_detail
}  // namespace cupel
