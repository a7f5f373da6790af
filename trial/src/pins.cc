#include "cupel/trial/pins.h"

#include <utility>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"
#include "trial_view.h"

namespace cupel {

using trial_detail::TrialView;

namespace {

/// Ends pins in reverse order, because a view may be in a list twice.
void end_all(std::vector<std::unique_ptr<PinnedView>>& pins) noexcept {
  while (!pins.empty()) pins.pop_back();
}

}  // namespace

PinnedView::PinnedView(Trial& view, std::shared_ptr<const Snapshot> snapshot,
                       std::optional<std::int64_t> up_to_step)
    : view_(view), before_(TrialView::of(view).pinned), limit_before_(TrialView::of(view).limit) {
  if (!snapshot) throw UsageError("A view is pinned to a snapshot");
  TrialView::of(view).pinned = std::move(snapshot);
  TrialView::of(view).limit = up_to_step;
}

PinnedView::PinnedView(Trial& view, Unpin)
    : view_(view),
      before_(std::exchange(TrialView::of(view).pinned, nullptr)),
      limit_before_(std::exchange(TrialView::of(view).limit, std::nullopt)) {}

PinnedView::~PinnedView() {
  TrialView::of(view_).pinned = std::move(before_);
  TrialView::of(view_).limit = limit_before_;
}

NoRefresh::NoRefresh(Trial& view) { pin(view); }
NoRefresh::NoRefresh(std::initializer_list<Trial*> views) {
  for (Trial* view : views) pin(*view);
}
NoRefresh::NoRefresh(const std::vector<Trial*>& views) {
  for (Trial* view : views) pin(*view);
}
NoRefresh::~NoRefresh() { end_all(pins_); }

void NoRefresh::pin(Trial& view) {
  pins_.push_back(std::make_unique<PinnedView>(view, TrialView::of(view).snapshot(),
                                               TrialView::of(view).limit));
}

Refresh::Refresh(Trial& view) { unpin(view); }
Refresh::Refresh(std::initializer_list<Trial*> views) {
  for (Trial* view : views) unpin(*view);
}
Refresh::Refresh(const std::vector<Trial*>& views) {
  for (Trial* view : views) unpin(*view);
}
Refresh::~Refresh() { end_all(pins_); }

void Refresh::unpin(Trial& view) {
  pins_.push_back(std::unique_ptr<PinnedView>(new PinnedView(view, PinnedView::Unpin{})));
}

}  // namespace cupel
