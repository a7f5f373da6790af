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

// Plans are only a shortcut: a run whose every step has other names must not keep them all.
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

/// Runs of a plan's rows. Of one part, rows that follow each other in both orders make a run; of
/// several, those of each part are gathered first.
std::vector<RowPlan::Run> runs_of(const std::vector<RowPlan::Row>& rows, std::size_t parts) {
  std::vector<std::vector<RowPlan::Run>> by_part(parts);
  for (std::uint32_t at = 0; at < rows.size(); ++at) {
    const RowPlan::Row& row = rows[at];
    std::vector<RowPlan::Run>& runs = by_part[row.part];
    if (!runs.empty()) {
      RowPlan::Run& run = runs.back();
      const std::uint32_t last = run.to + (run.length - 1) * run.stride;
      if (row.position == run.from + run.length && (run.length == 1 || at - last == run.stride)) {
        run.stride = at - last;
        ++run.length;
        continue;
      }
    }
    runs.push_back({row.part, row.position, at, 1, 1});
  }
  std::vector<RowPlan::Run> all;
  for (const std::vector<RowPlan::Run>& runs : by_part)
    all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

}  // namespace

NameSelection::NameSelection() : NameSelection(std::vector<std::string>()) {}
NameSelection::NameSelection(std::vector<std::string> collections, PatternList patterns)
    : state_(std::make_unique<State>(std::move(collections), std::move(patterns))) {}
NameSelection::~NameSelection() = default;
NameSelection::NameSelection(NameSelection&&) noexcept = default;
NameSelection& NameSelection::operator=(NameSelection&&) noexcept = default;

const std::vector<std::string>& NameSelection::collections() const noexcept {
  return state_->collections;
}
const PatternList& NameSelection::patterns() const noexcept { return state_->patterns; }

void NameSelection::State::use(const Snapshot& snapshot, TrialIndex& index) {
  const bool other_run = data_ != snapshot.data;
  const std::size_t joined = snapshot.data->joined.size();
  if (!other_run && run_collections_ == snapshot.collections && joined_ == joined) return;
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
  joined_ = joined;
}

bool NameSelection::State::selects(std::uint32_t id) const {
  if (collections.empty() && patterns.empty()) return true;
  return std::any_of(filters_.begin(), filters_.end(), [&](const CollectionFilter& filter) {
    return filter.selects(id, data_->names[id]);
  });
}

std::shared_ptr<const RowPlan> NameSelection::State::plan(std::span<const StepPart> parts) {
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

RowPlan NameSelection::State::make(std::span<const StepPart> parts) const {
  RowPlan plan;
  for (std::uint32_t p = 0; p < parts.size(); ++p)
    for_each_visible(*parts[p].rows->layout, [&](std::uint32_t position, std::uint32_t id) {
      if (selects(id)) plan.rows.push_back({p, position, id});
    });
  if (parts.size() > 1)  // one part is sorted already
    std::sort(plan.rows.begin(), plan.rows.end(),
              [&](const RowPlan::Row& a, const RowPlan::Row& b) {
                if (a.id == b.id) return a.part < b.part;
                return data_->names[a.id] < data_->names[b.id];
              });
  plan.runs = runs_of(plan.rows, parts.size());
  return plan;
}

}  // namespace cupel
