// Resolving a selection: which rows of a step it selects, and in which order.
//
// A name is matched once, by the filters of the run, and a combination of layouts is resolved once,
// into a plan. Most steps repeat the combination of the step before, which one comparison of
// pointers finds. Plans are dropped when they hold too many rows. When the collections of the run
// change, or a tensor joins one, the filters are made anew, and the plans if the filters differ.
// One thread at a time uses a selection.

#include "row_plan.h"

#include <algorithm>
#include <utility>

namespace cupel {

using trial_detail::CollectionFilter;
using trial_detail::IndexData;
using trial_detail::NameLayout;
using trial_detail::RowPlan;
using trial_detail::StepPart;

namespace {

// A run in which every step has other names must not keep all plans.
constexpr std::size_t kMaxPlannedRows = std::size_t{1} << 20U;

template <class F>
void for_each_visible(const NameLayout& layout, F&& visit) {
  const auto before = layout.before_reserved();
  const auto after = layout.after_reserved();
  const std::size_t gap_end = layout.size() - after.size();
  for (std::size_t i = 0; i < before.size(); ++i) visit(static_cast<std::uint32_t>(i), before[i]);
  for (std::size_t i = 0; i < after.size(); ++i)
    visit(static_cast<std::uint32_t>(gap_end + i), after[i]);
}

/// The ranges of a plan's rows, part by part: rows of a part that follow each other there, and are
/// equally far apart in the plan.
std::vector<RowPlan::Range> ranges_of(const std::vector<RowPlan::Row>& rows, std::size_t parts) {
  std::vector<std::vector<RowPlan::Range>> by_part(parts);
  for (std::uint32_t at = 0; at < rows.size(); ++at) {
    const RowPlan::Row& row = rows[at];
    std::vector<RowPlan::Range>& ranges = by_part[row.part];
    if (!ranges.empty()) {
      RowPlan::Range& range = ranges.back();
      const std::uint32_t last = range.to + (range.length - 1) * range.stride;
      if (row.position == range.from + range.length &&
          (range.length == 1 || at - last == range.stride)) {
        range.stride = at - last;
        ++range.length;
        continue;
      }
    }
    ranges.push_back({row.part, row.position, at, 1, 1});
  }
  std::vector<RowPlan::Range> all;
  for (const std::vector<RowPlan::Range>& ranges : by_part)
    all.insert(all.end(), ranges.begin(), ranges.end());
  return all;
}

}  // namespace

NameSelection::NameSelection() : NameSelection(std::vector<std::string>()) {}
NameSelection::NameSelection(std::vector<std::string> collections, PatternList patterns)
    : state_(std::make_unique<trial_detail::SelectionState>(std::move(collections),
                                                            std::move(patterns))) {}
NameSelection::~NameSelection() = default;
NameSelection::NameSelection(NameSelection&&) noexcept = default;
NameSelection& NameSelection::operator=(NameSelection&&) noexcept = default;

const std::vector<std::string>& NameSelection::collections() const noexcept {
  return state_->collections;
}
const PatternList& NameSelection::patterns() const noexcept { return state_->patterns; }

namespace trial_detail {

void SelectionState::use(const Snapshot& snapshot, TrialIndex& index) {
  const bool other_run = data_ != snapshot.data;
  const std::size_t member_count = snapshot.data->members.size();
  if (!other_run && run_collections_ == snapshot.collections && member_count_ == member_count)
    return;
  std::vector<CollectionFilter> filters;
  for (const std::string& name : collections) {
    if (const auto filter = snapshot.collection_filter(name))
      filters.push_back(*filter);
    else
      index.warn_once("The run has no collection of this name: " + name);
  }
  if (!patterns.empty()) {
    if (other_run) pattern_filter_ = snapshot.data->patterns.get(patterns);
    filters.push_back({.filter = pattern_filter_.get()});
  }
  if (other_run || filters != filters_) {
    plans_.clear();
    last_ = plans_.end();
    planned_rows_ = 0;
  }
  filters_ = std::move(filters);
  data_ = snapshot.data;
  run_collections_ = snapshot.collections;
  member_count_ = member_count;
}

bool SelectionState::selects(std::uint32_t id) const {
  if (collections.empty() && patterns.empty()) return true;
  return std::any_of(filters_.begin(), filters_.end(), [&](const CollectionFilter& filter) {
    return filter.selects(id, data_->names[id]);
  });
}

std::shared_ptr<const RowPlan> SelectionState::plan(std::span<const StepPart> parts) {
  const auto same = [](const NameLayout* layout, const StepPart& part) {
    return layout == part.rows->layout;
  };
  if (last_ != plans_.end() &&
      std::equal(last_->first.begin(), last_->first.end(), parts.begin(), parts.end(), same))
    return last_->second;
  Key key;
  for (const StepPart& part : parts) key.push_back(part.rows->layout);
  last_ = plans_.find(key);
  if (last_ != plans_.end()) return last_->second;
  auto made = std::make_shared<const RowPlan>(make(parts));
  if (planned_rows_ > kMaxPlannedRows) {
    plans_.clear();
    planned_rows_ = 0;
  }
  planned_rows_ += made->rows.size() + 1;
  last_ = plans_.emplace(std::move(key), std::move(made)).first;
  return last_->second;
}

RowPlan SelectionState::make(std::span<const StepPart> parts) const {
  RowPlan plan;
  for (std::uint32_t p = 0; p < parts.size(); ++p)
    for_each_visible(*parts[p].rows->layout, [&](std::uint32_t position, std::uint32_t id) {
      if (selects(id)) plan.rows.push_back({p, position, id});
    });
  if (parts.size() > 1)  // The rows of one part are sorted.
    std::sort(plan.rows.begin(), plan.rows.end(),
              [&](const RowPlan::Row& a, const RowPlan::Row& b) {
                if (a.id == b.id) return a.part < b.part;
                return data_->names[a.id] < data_->names[b.id];
              });
  plan.ranges = ranges_of(plan.rows, parts.size());
  return plan;
}

}  // namespace trial_detail

}  // namespace cupel
