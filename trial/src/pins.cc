#include "cupel/trial/pins.h"

#include <utility>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"
#include "view.h"

namespace cupel {

namespace {

/// Last in, first out: a view may be in a list twice.
void end_all(std::vector<std::unique_ptr<PinnedView>>& pins) noexcept {
  while (!pins.empty()) pins.pop_back();
}

}  // namespace

PinnedView::PinnedView(Trial& view, std::shared_ptr<const Snapshot> snapshot,
                       std::optional<std::int64_t> up_to_step)
    : view_(view), before_(view.view_->pinned), limit_before_(view.view_->limit) {
  if (!snapshot) throw UsageError("A view is pinned to a snapshot");
  view.view_->pinned = std::move(snapshot);
  view.view_->limit = up_to_step;
}

PinnedView::PinnedView(Trial& view, Unpin)
    : view_(view),
      before_(std::exchange(view.view_->pinned, nullptr)),
      limit_before_(std::exchange(view.view_->limit, std::nullopt)) {}

PinnedView::~PinnedView() {
  view_.view_->pinned = std::move(before_);
  view_.view_->limit = limit_before_;
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
  pins_.push_back(std::make_unique<PinnedView>(view, view.snapshot(), view.view_->limit));
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
