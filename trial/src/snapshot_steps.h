#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot_view.h"

// The queries of SnapshotView that list steps by a condition.

namespace cupel::trial_detail {

/// The condition that a step holds a tensor. Remembers the answer for the last layout, because most
/// steps repeat the layout of the step before.
class HoldsTensor {
 public:
  explicit HoldsTensor(std::uint32_t id) noexcept : id_(id) {}
  bool operator()(const StepRows& rows) noexcept {
    if (rows.layout != layout_) {
      layout_ = rows.layout;
      holds_ = layout_->contains(id_);
    }
    return holds_;
  }

 private:
  std::uint32_t id_;
  const NameLayout* layout_ = nullptr;
  bool holds_ = false;
};

/// Adds `steps` to a sorted list that has each step once.
void merge_sorted(std::vector<std::int64_t>& into, std::vector<std::int64_t> steps);

template <class F>
std::vector<std::int64_t> SnapshotView::steps(Mode mode, bool show_incomplete, F&& selects) const {
  std::vector<std::int64_t> merged;
  if (!is_valid(mode)) return merged;
  const std::int64_t until = listed(show_incomplete);
  for (const Snapshot::Worker& worker : workers()) {
    std::vector<std::int64_t> own;
    const std::size_t count = worker.steps->count_until(until, worker.sizes.steps);
    if (mode == Mode::Global) {
      for (std::size_t i = 0; i < count; ++i)
        if (const StepRows& rows = worker.steps->step(i); selects(rows)) own.push_back(rows.step);
    } else {
      const std::size_t of_mode = worker.sizes.of_mode[WorkerSteps::slot(mode)];
      for (std::size_t i = 0; i < of_mode; ++i) {
        const std::size_t index = worker.steps->of_mode(mode, i);
        if (index >= count) break;
        if (const StepRows& rows = worker.steps->step(index); selects(rows))
          own.push_back(rows.mode_step);
      }
    }
    merge_sorted(merged, std::move(own));
  }
  return merged;
}

template <class F>
std::vector<std::int64_t> SnapshotView::prev_steps(Mode mode, std::int64_t step, std::size_t n,
                                                   F&& selects) const {
  std::vector<std::int64_t> merged;
  if (!is_valid(mode)) return merged;
  for (const Snapshot::Worker& worker : workers()) {
    std::vector<std::int64_t> own;
    // Backwards, so that a few steps cost little in a long run.
    const auto take = [&](const StepRows& rows, std::int64_t number) {
      if (number <= step && selects(rows)) own.push_back(number);
      return n != 0 && own.size() == n;
    };
    if (mode == Mode::Global) {
      const std::int64_t until = std::min(step, listed(false));
      for (std::size_t i = worker.steps->count_until(until, worker.sizes.steps); i > 0; --i)
        if (take(worker.steps->step(i - 1), worker.steps->step(i - 1).step)) break;
    } else {
      const bool rising = worker.steps->rises(mode);
      for (std::size_t i = worker.steps->of_mode_until(mode, step, worker.sizes, listed(false));
           i > 0; --i) {
        const StepRows& rows = worker.steps->step(worker.steps->of_mode(mode, i - 1));
        if (take(rows, rows.mode_step) && rising) break;
      }
    }
    std::ranges::reverse(own);
    merge_sorted(merged, std::move(own));
  }
  if (n != 0 && merged.size() > n)
    merged.erase(merged.begin(), merged.end() - static_cast<std::ptrdiff_t>(n));
  return merged;
}

template <class F>
void SnapshotView::for_each_row(std::uint32_t tensor, Mode mode, std::string_view worker,
                                F&& visit) const {
  require_worker(worker);
  for (const std::int64_t step : steps(mode, false, HoldsTensor(tensor))) {
    const std::optional<std::int64_t> global = global_step(mode, step);
    if (!global) continue;
    for (const Snapshot::Worker& candidate : workers()) {
      if (!worker.empty() && candidate.name != worker) continue;
      const std::optional<Row> row = row_of(candidate, tensor, *global);
      if (!row) continue;
      visit(step, *row);
      break;
    }
  }
}

}  // namespace cupel::trial_detail
