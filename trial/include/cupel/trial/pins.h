#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace cupel {

class Snapshot;
class Trial;

// Guards that decide what a view of a run shows while they live. Each restores the state before it,
// so guards nest. A guard is made and destroyed while no other thread queries the view.

/// Pins a view to a snapshot, and to the steps up to a global step, until the guard is destroyed.
///
/// Behind that step the view shows nothing: no steps, no tensors, no end. Up to it every step
/// counts as complete, because the caller chose the step.
class PinnedView {
 public:
  /// `snapshot` is what the view shows (RunFollower::snapshot()); null is UsageError. `up_to_step`
  /// is the last global step that it shows; default: all steps of the snapshot.
  PinnedView(Trial& view, std::shared_ptr<const Snapshot> snapshot,
             std::optional<std::int64_t> up_to_step);
  ~PinnedView();
  PinnedView(const PinnedView&) = delete;
  PinnedView& operator=(const PinnedView&) = delete;

 private:
  friend class Refresh;
  struct Unpin {};
  PinnedView(Trial& view, Unpin);
  Trial& view_;
  std::shared_ptr<const Snapshot> before_;
  std::optional<std::int64_t> limit_before_;
};

/// Pins each view to its newest snapshot, until the guard is destroyed.
class NoRefresh {
 public:
  explicit NoRefresh(Trial& view);
  explicit NoRefresh(std::initializer_list<Trial*> views);
  explicit NoRefresh(const std::vector<Trial*>& views);
  ~NoRefresh();
  NoRefresh(const NoRefresh&) = delete;
  NoRefresh& operator=(const NoRefresh&) = delete;

 private:
  void pin(Trial& view);
  std::vector<std::unique_ptr<PinnedView>> pins_;
};

/// Unpins views, so that they follow their runs until the guard is destroyed.
class Refresh {
 public:
  explicit Refresh(Trial& view);
  explicit Refresh(std::initializer_list<Trial*> views);
  explicit Refresh(const std::vector<Trial*>& views);
  ~Refresh();
  Refresh(const Refresh&) = delete;
  Refresh& operator=(const Refresh&) = delete;

 private:
  void unpin(Trial& view);
  std::vector<std::unique_ptr<PinnedView>> pins_;
};

}  // namespace cupel
