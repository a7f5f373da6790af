#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mode.h"
#include "cupel/trial/step_state.h"
#include "cupel/trial/tensor.h"
#include "snapshot.h"

namespace cupel::trial_detail {

/// A snapshot as one query sees it: whole, or up to the global step that its view is pinned to.
///
/// Up to that step everything counts as complete, since the caller who pinned the view chose the
/// step. Behind it nothing exists, and the run has not ended.
class SnapshotView {
 public:
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  /// Shares the snapshot.
  explicit SnapshotView(std::shared_ptr<const Snapshot> snapshot);
  /// Borrows the snapshot of a pin; shows steps up to `limit`.
  SnapshotView(const Snapshot* pinned, std::optional<std::int64_t> limit);

  const Snapshot& snapshot() const noexcept { return *snapshot_; }
  const std::vector<Snapshot::Worker>& workers() const noexcept { return snapshot_->workers; }
  std::int64_t limit() const noexcept { return limit_; }
  bool ended() const noexcept { return snapshot_->ended && limit_ == kNoLimit; }
  /// The greatest passed global step: steps up to here are complete, and no other will come.
  std::int64_t passed() const noexcept { return passed_; }
  /// The greatest global step that is listed.
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
  /// The global step of a step of a mode, if any worker saved it.
  std::optional<std::int64_t> global_step(Mode mode, std::int64_t step) const noexcept;

  // The following templates are defined in snapshot_steps.h.

  /// The sorted steps of a mode with rows of any worker for which `selects(const StepRows&)`.
  template <class F>
  std::vector<std::int64_t> steps(Mode mode, bool show_incomplete, F&& selects) const;
  /// The last `n` (0: all) listed steps <= `step`, ascending.
  template <class F>
  std::vector<std::int64_t> prev_steps(Mode mode, std::int64_t step, std::size_t n,
                                       F&& selects) const;
  /// Calls `visit(step, row)` for the tensor's listed steps, with the row of `worker`; without it,
  /// of the first worker that has the tensor there.
  template <class F>
  void for_each_row(std::uint32_t tensor, Mode mode, std::string_view worker, F&& visit) const;
  /// The sorted listed global steps that are not before `first`.
  std::vector<std::int64_t> steps_from(std::int64_t first, bool show_incomplete) const;
  /// The greatest global step <= `until` that any worker saved; -1 if none.
  std::int64_t last_step(std::int64_t until) const noexcept;
  /// The greatest step of a mode; -1 if none.
  std::int64_t last_step_of(Mode mode) const;

  StepState state(std::int64_t step, Mode mode) const noexcept;
  /// Throws StepUnavailable, StepNotYetAvailable or NoMoreData for a step that nobody saved.
  [[noreturn]] void throw_missing(std::int64_t step, Mode mode) const;

  /// One tensor's row of one worker at one step.
  struct Row {
    const Snapshot::Worker* worker;
    const StepRows* rows;
    std::size_t row;  ///< In the block.
    const RowBlock& block() const noexcept { return *rows->block; }
  };
  /// The tensor's rows of all workers that saved it at a global step, in the order of workers.
  std::vector<Row> rows(std::uint32_t tensor, std::int64_t global) const;
  /// The row of a worker; without `worker`, of the first one that has the tensor. Throws like
  /// Tensor::value() when there is none.
  Row require_row(std::uint32_t tensor, std::int64_t step, Mode mode,
                  std::string_view worker) const;
  TensorRecord record(const Row& row) const;

  /// Whether any committed step holds the tensor.
  bool has_tensor(std::uint32_t id) const noexcept;
  /// Throws InvalidWorker when the run has no worker of this name; "" stands for any worker.
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

}  // namespace cupel::trial_detail
