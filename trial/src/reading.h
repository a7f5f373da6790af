#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mode.h"
#include "cupel/trial/trial.h"
#include "snapshot.h"

namespace cupel::trial_detail {

/// Whether layouts hold a tensor; remembers the last answer, because steps mostly repeat their
/// layout.
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

/// A snapshot as one query sees it: whole, or up to the global step that its view is pinned to.
///
/// Up to a pinned step everything counts as complete, because whoever pinned it has decided to
/// look; behind it nothing exists, and a run that is pinned so never looks ended.
class Reading {
 public:
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  /// Keeps the snapshot alive.
  explicit Reading(std::shared_ptr<const Snapshot> snapshot);
  /// Borrows it from a pin.
  Reading(const Snapshot* pinned, std::optional<std::int64_t> limit);

  const Snapshot& snapshot() const noexcept { return *snapshot_; }
  const std::vector<Snapshot::Worker>& workers() const noexcept { return snapshot_->workers; }
  std::int64_t limit() const noexcept { return limit_; }
  bool ended() const noexcept { return snapshot_->ended && limit_ == kNoLimit; }
  /// The greatest global step whose fate is settled, and up to which steps are listed.
  std::int64_t passed() const noexcept { return passed_; }
  /// Up to where steps are listed.
  std::int64_t listed(bool show_incomplete) const noexcept {
    return show_incomplete ? limit_ : passed_;
  }

  /// The step's rows of a worker; null if it saved nothing there.
  const StepRows* find(const Snapshot::Worker& worker, std::int64_t global) const noexcept {
    if (global > limit_) return nullptr;
    return worker.steps->find(global, worker.sizes.steps);
  }
  /// The first worker's rows at a global step.
  const StepRows* find_any(std::int64_t global) const noexcept;
  /// The global step behind a step of a mode, if any worker saved it.
  std::optional<std::int64_t> global_step(Mode mode, std::int64_t step) const noexcept;

  /// Sorted steps of a mode whose rows `selects(const StepRows&)`.
  template <class F>
  std::vector<std::int64_t> steps(Mode mode, bool show_incomplete, F&& selects) const;
  /// The last `n` (0: all) listed steps <= `step`, ascending.
  template <class F>
  std::vector<std::int64_t> prev_steps(Mode mode, std::int64_t step, std::size_t n,
                                       F&& selects) const;
  /// Calls `visit(step, row)` for the tensor's listed steps, with the rows of a worker or of the
  /// first that has the step.
  template <class F>
  void for_each_row(std::uint32_t tensor, Mode mode, std::string_view worker, F&& visit) const;
  /// The greatest global step <= `until` that anybody saved; -1 if none.
  std::int64_t last_step(std::int64_t until) const noexcept;
  /// The greatest step of a mode; -1 if none.
  std::int64_t last_step_of(Mode mode) const;

  StepState state(std::int64_t step, Mode mode) const noexcept;
  /// Throws what is to be said of a step that nobody saved.
  [[noreturn]] void throw_missing(std::int64_t step, Mode mode) const;

  /// One tensor's row of one worker at one step.
  struct Row {
    const Snapshot::Worker* worker;
    const StepRows* rows;
    std::size_t row;  ///< In the block.
    const RowBlock& block() const noexcept { return *rows->block; }
  };
  /// Who has the tensor at a global step, by worker.
  std::vector<Row> rows(std::uint32_t tensor, std::int64_t global) const;
  /// A worker's row, or with no `worker` the first one's. Throws what is to be said when there is
  /// none.
  Row require_row(std::uint32_t tensor, std::int64_t step, Mode mode,
                  std::string_view worker) const;
  TensorRecord record(const Row& row) const;

  /// Whether any committed step holds the tensor.
  bool has_tensor(std::uint32_t id) const noexcept;
  /// Throws InvalidWorker when the run has no worker of this name; "" is none in particular.
  void require_worker(std::string_view name) const;
  const std::string& tensor_name(std::uint32_t id) const noexcept {
    return snapshot_->data->names[id];
  }

 private:
  struct First {
    std::int64_t step, global;
  };
  std::optional<Row> row_of(const Snapshot::Worker& worker, std::uint32_t tensor,
                            std::int64_t global) const noexcept;
  std::optional<First> first_at_or_after(std::int64_t step, Mode mode) const noexcept;

  std::shared_ptr<const Snapshot> held_;
  const Snapshot* snapshot_;
  std::int64_t limit_;
  std::int64_t passed_;
};

void merge_sorted(std::vector<std::int64_t>& into, std::vector<std::int64_t> steps);

template <class F>
std::vector<std::int64_t> Reading::steps(Mode mode, bool show_incomplete, F&& selects) const {
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
std::vector<std::int64_t> Reading::prev_steps(Mode mode, std::int64_t step, std::size_t n,
                                              F&& selects) const {
  std::vector<std::int64_t> merged;
  if (!is_valid(mode)) return merged;
  for (const Snapshot::Worker& worker : workers()) {
    std::vector<std::int64_t> own;
    // Backwards, so that a few steps cost little however long the run is.
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
void Reading::for_each_row(std::uint32_t tensor, Mode mode, std::string_view worker,
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
