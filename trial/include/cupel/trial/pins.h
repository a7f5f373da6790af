#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace cupel {

class Snapshot;
class Trial;

// Guards that say what a view of a run shows while they live. Each puts back what was before it,
// so that they nest; they are made and ended while no other thread queries the view.

/// Pins a view to a snapshot, and to the steps up to a global step, until the guard is destroyed.
///
/// Behind that step nothing is there yet: no steps, no tensors, no end. Up to it every step counts
/// as complete, because whoever pins has decided to look.
class PinnedView {
 public:
  /// Throws UsageError for no snapshot.
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

/// Pins views to what each has seen so far, until the guard is destroyed.
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

/// Lets views follow their runs, pinned or not, until the guard is destroyed.
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
