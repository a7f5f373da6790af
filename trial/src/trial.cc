// The queries of a trial.
//
// Each query takes one snapshot (the pinned one, or the newest after a poll) and answers from it
// alone, on the calling thread and without a lock. Damage that a poll met is thrown by the query
// before it answers, once. What needs several steps or values of a tensor is in tensor.cc,
// visiting.cc, step_values.cc and reduction_table.cc; waiting is in trial_wait.cc.

#include "cupel/trial/trial.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/format/layout.h"
#include "cupel/store/open_store.h"
#include "snapshot_steps.h"
#include "trial_view.h"

namespace cupel {

using trial_detail::CollectionFilter;
using trial_detail::NameFilter;
using trial_detail::NameLayout;
using trial_detail::SnapshotView;
using trial_detail::StepRows;
using trial_detail::TrialIndex;
using trial_detail::TrialView;
using trial_detail::WorkerSteps;

namespace {

std::string last_part(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  std::string part(slash == std::string_view::npos ? path : path.substr(slash + 1));
  if (part != "." && part != "..") return part;
  std::error_code ignored;
  return std::filesystem::weakly_canonical(path, ignored).filename().string();
}

/// Collects names of layouts, and returns them sorted, each once.
class NameCollector {
 public:
  NameCollector(const SnapshotView& view, std::optional<CollectionFilter> filter)
      : view_(view), filter_(filter) {}

  void add(const NameLayout& layout) {
    for (const std::uint32_t id : layout.before_reserved()) add(id);
    for (const std::uint32_t id : layout.after_reserved()) add(id);
    ++layouts_;
  }

  std::vector<std::string> sorted() {
    if (layouts_ > 1) {  // The names of one layout are sorted.
      const auto by_name = [](const std::string* a, const std::string* b) { return *a < *b; };
      std::sort(names_.begin(), names_.end(), by_name);
      names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    }
    std::vector<std::string> names;
    names.reserve(names_.size());
    for (const std::string* name : names_) names.push_back(*name);
    return names;
  }

 private:
  void add(std::uint32_t id) {
    const std::string& name = view_.tensor_name(id);
    if (!filter_ || filter_->selects(id, name)) names_.push_back(&name);
  }

  const SnapshotView& view_;
  std::optional<CollectionFilter> filter_;
  std::vector<const std::string*> names_;
  int layouts_ = 0;
};

std::vector<std::string> all_names(const Snapshot& snapshot) {
  const SnapshotView view(&snapshot, std::nullopt);
  NameCollector names(view, std::nullopt);
  for (const Snapshot::Worker& worker : snapshot.workers)
    for (std::size_t i = 0; i < worker.sizes.uses; ++i) names.add(*worker.steps->use(i).layout);
  return names.sorted();
}

/// Adds the names that the patterns of a collection match, for a run that has ended. Keeps no
/// results, because a run may have very many collections.
void add_found_names(const std::vector<std::string>& names, Collection& collection) {
  for (const std::string& name : names)
    if (collection.include_regex().matches(name)) collection.add_tensor_name(name);
}

}  // namespace

namespace trial_detail {

std::unique_ptr<Trial> TrialView::make_trial(std::shared_ptr<TrialIndex> index, std::string name) {
  auto view = std::make_unique<TrialView>();
  view->index = std::move(index);
  view->name = name.empty() ? last_part(view->index->store().location()) : std::move(name);
  return std::unique_ptr<Trial>(new Trial(std::move(view)));
}

}  // namespace trial_detail

Trial::Trial(std::shared_ptr<const Store> store, TrialOptions options)
    : view_(std::make_unique<TrialView>()) {
  view_->name = options.name;
  view_->index = TrialIndex::open(std::move(store), std::move(options));
  if (view_->name.empty()) view_->name = last_part(view_->index->store().location());
}

Trial::Trial(std::unique_ptr<TrialView> view) : view_(std::move(view)) {}
Trial::~Trial() = default;

std::unique_ptr<Trial> Trial::view() const {
  return TrialView::make_trial(view_->index, view_->name);
}
bool Trial::pinned() const noexcept { return view_->pinned != nullptr; }

std::unique_ptr<Trial> create_trial(std::string_view path, TrialOptions options) {
  std::shared_ptr<const Store> store = open_store(path, options.schemes);
  if (options.name.empty()) {
    const std::size_t begin = path.find_first_not_of(" \t\r\n");
    const std::size_t end = path.find_last_not_of(" \t\r\n");
    options.name = last_part(path.substr(begin, end - begin + 1));
  }
  return std::make_unique<Trial>(std::move(store), std::move(options));
}

const std::string& Trial::name() const noexcept { return view_->name; }
std::string Trial::location() const { return view_->index->store().location(); }

const StoreSchemes& Trial::schemes() const noexcept { return view_->index->schemes(); }

std::string_view Trial::format() const noexcept { return view_->index->source().format(); }

std::vector<std::int64_t> Trial::steps(Mode mode, bool show_incomplete_steps) const {
  return view_->read().steps(mode, show_incomplete_steps, [](const StepRows&) { return true; });
}

std::vector<Mode> Trial::modes() const {
  const SnapshotView view = view_->read();
  std::vector<Mode> modes;
  for (const Mode mode : {Mode::Train, Mode::Eval, Mode::Predict}) {
    const auto has_mode = [&](const Snapshot::Worker& worker) {
      return worker.steps->at_or_after(mode, 0, worker.sizes, view.listed(false)) != nullptr;
    };
    if (std::ranges::any_of(view.workers(), has_mode)) modes.push_back(mode);
  }
  return modes;
}

std::optional<Mode> Trial::mode(std::int64_t global_step) const {
  const SnapshotView view = view_->read();
  const StepRows* rows = view.find_any(global_step);
  return rows == nullptr ? std::nullopt : std::optional(rows->mode);
}

std::optional<std::int64_t> Trial::mode_step(std::int64_t global_step) const {
  const SnapshotView view = view_->read();
  const StepRows* rows = view.find_any(global_step);
  return rows == nullptr ? std::nullopt : std::optional(rows->mode_step);
}

std::optional<std::int64_t> Trial::global_step(Mode mode, std::int64_t mode_step) const {
  return view_->read().global_step(mode, mode_step);
}

std::int64_t Trial::last_complete_step() const {
  const SnapshotView view = view_->read();
  return view.last_step(view.passed());
}

std::vector<std::string> Trial::tensor_names(const TensorQuery& query) const {
  if (!query.regex.empty() && !query.collection.empty())
    throw UsageError("tensor_names takes a regex or a collection, not both");
  const SnapshotView view = view_->read();
  std::optional<CollectionFilter> filter;
  std::shared_ptr<const NameFilter> patterns;
  if (!query.regex.empty()) {
    patterns = view.snapshot().data->patterns.get(query.regex);
    filter = CollectionFilter{.filter = patterns.get()};
  } else if (!query.collection.empty()) {
    filter = view.snapshot().collection_filter(query.collection);
    if (!filter) {
      view_->index->warn_once("The run has no collection of this name: " + query.collection);
      return {};
    }
  }

  NameCollector names(view, filter);
  if (query.step) {
    const auto global = view.global_step(query.mode, *query.step);
    if (!global) return {};
    for (const Snapshot::Worker& worker : view.workers())
      if (const StepRows* rows = view.find(worker, *global)) names.add(*rows->layout);
    return names.sorted();
  }
  for (const Snapshot::Worker& worker : view.workers()) {
    for (std::size_t i = 0; i < worker.sizes.uses; ++i) {
      const WorkerSteps::LayoutUse& use = worker.steps->use(i);
      if (use.step > view.listed(false)) break;
      if (query.mode == Mode::Global || use.mode == query.mode) names.add(*use.layout);
    }
  }
  std::vector<std::string> sorted = names.sorted();
  if (sorted.empty() && filter)
    view_->index->warn_once("No tensor of the run is selected by " +
                            (patterns ? "the patterns: " +
                                            [&] {
                                              std::string texts;
                                              for (const std::string& text : query.regex.texts())
                                                texts += (texts.empty() ? "" : ", ") + text;
                                              return texts;
                                            }()
                                      : "the collection: " + query.collection));
  return sorted;
}

std::optional<Tensor> Trial::find_tensor(std::string_view name) const {
  const SnapshotView view = view_->read();
  const std::optional<std::uint32_t> id = view.snapshot().data->names.find(name);
  if (!id || is_reserved_tensor(name) || !view.has_tensor(*id)) return std::nullopt;
  return Tensor(*this, std::string(name), *id);
}

Tensor Trial::tensor(std::string_view name) const {
  if (std::optional<Tensor> found = find_tensor(name)) return *std::move(found);
  throw TensorUnavailable(std::string(name));
}

bool Trial::has_tensor(std::string_view name) const { return find_tensor(name).has_value(); }

std::vector<std::string> Trial::workers() const {
  const SnapshotView view = view_->read();
  std::vector<std::string> names;
  for (const Snapshot::Worker& worker : view.workers()) names.emplace_back(worker.name);
  return names;
}

std::int64_t Trial::num_workers() const {
  return view_->read().snapshot().collections->num_workers();
}

std::vector<std::string> Trial::missing_workers(std::int64_t global_step) const {
  const SnapshotView view = view_->read();
  std::vector<std::string> missing;
  if (view.find_any(global_step) == nullptr) return missing;
  for (const Snapshot::Worker& worker : view.workers())
    if (view.find(worker, global_step) == nullptr) missing.emplace_back(worker.name);
  return missing;
}

Collections Trial::collections() const {
  const SnapshotView view = view_->read();
  const Snapshot& snapshot = view.snapshot();
  Collections all = snapshot.collections->all();
  snapshot.data->members.add_to(all, snapshot.data->names);
  if (!snapshot.ended) return all;
  const std::vector<std::string> names = all_names(snapshot);
  for (auto& [name, collection] : all)
    if (!collection.include_regex().empty()) add_found_names(names, collection);
  return all;
}

std::vector<std::string> Trial::collection_names() const {
  const SnapshotView view = view_->read();
  const Snapshot& snapshot = view.snapshot();
  std::set<std::string, std::less<>> names;
  for (const auto& [worker, file] : snapshot.collections->files())
    for (const auto& [name, collection] : file.content.collections) names.insert(name);
  snapshot.data->members.add_names_to(names);
  return {names.begin(), names.end()};
}

Collection Trial::collection(std::string_view name) const {
  const SnapshotView view = view_->read();
  const Snapshot& snapshot = view.snapshot();
  Collection collection = snapshot.collections->find(name).value_or(Collection(std::string(name)));
  if (const auto* const members = snapshot.data->members.members(name))
    members->add_names_to(collection, snapshot.data->names);
  if (snapshot.ended && !collection.include_regex().empty())
    add_found_names(all_names(snapshot), collection);
  return collection;
}

StepState Trial::has_passed_step(std::int64_t step, Mode mode) const {
  return view_->read().state(step, mode);
}

bool Trial::ended() const { return view_->read().ended(); }

bool Trial::refresh() const { return view_->index->refresh(); }

std::vector<Note> Trial::notes(const StepRange& steps) const {
  const SnapshotView view = view_->read();
  std::vector<Note> notes;
  const Snapshot& snapshot = view.snapshot();
  const std::optional<std::uint32_t> id = snapshot.data->names.find(kNoteTensor);
  if (!id) return notes;
  for (const Snapshot::Worker& worker : view.workers()) {
    std::size_t first = 0;
    for (std::size_t left = steps.begin ? worker.sizes.reserved : 0; left > 0;) {
      const std::size_t half = left / 2;
      const bool is_before = worker.steps->reserved(first + half).step < *steps.begin;
      first += is_before ? half + 1 : 0;
      left = is_before ? left - half - 1 : half;
    }
    for (std::size_t i = first; i < worker.sizes.reserved; ++i) {
      const StepRows& rows = worker.steps->reserved(i);
      if (rows.step > view.limit() || (steps.end && rows.step >= *steps.end)) break;
      const std::uint32_t position = rows.layout->position(*id);
      if (position == NameLayout::kAbsent || !rows.block->has_value(rows.first_row + position))
        continue;
      const auto value = view_->index->reader().read(rows, rows.first_row + position);
      if (!value || value->dtype() != DType::Utf8) continue;
      for (std::string& text : value->strings())
        notes.push_back({rows.step, std::string(worker.name), std::move(text)});
    }
  }
  std::ranges::stable_sort(notes, {}, &Note::step);
  return notes;
}

TrialTotals Trial::totals() const {
  const SnapshotView view = view_->read();
  const Snapshot& snapshot = view.snapshot();
  TrialTotals totals;
  totals.index_bytes = snapshot.index_bytes;
  const std::optional<std::uint32_t> overhead = snapshot.data->names.find(kOverheadTensor);
  double sum = 0;
  int reporting = 0;
  for (const Snapshot::Worker& worker : view.workers()) {
    const std::size_t count = worker.steps->count_until(view.limit(), worker.sizes.steps);
    for (std::size_t i = 0; i < count; ++i) {
      const StepRows& rows = worker.steps->step(i);
      totals.rows += static_cast<std::int64_t>(rows.layout->visible());
      totals.value_bytes += rows.value_bytes;
      totals.newest_time_us = std::max(totals.newest_time_us, rows.time_us);
    }
    for (std::size_t i = worker.sizes.reserved; overhead && i > 0; --i) {
      const StepRows& rows = worker.steps->reserved(i - 1);
      if (rows.step > view.limit()) continue;
      const std::uint32_t position = rows.layout->position(*overhead);
      if (position == NameLayout::kAbsent || !rows.block->has_value(rows.first_row + position))
        continue;
      const auto value = view_->index->reader().read(rows, rows.first_row + position);
      if (!value || value->dtype() != DType::F64 || value->elements() != 1) continue;
      sum += value->at(0);
      ++reporting;
      break;
    }
  }
  if (reporting > 0) totals.overhead = sum / reporting;
  return totals;
}

}  // namespace cupel
