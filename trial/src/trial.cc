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
#include "reading.h"
#include "view.h"

namespace cupel {

using trial_detail::CollectionFilter;
using trial_detail::NameFilter;
using trial_detail::NameLayout;
using trial_detail::Reading;
using trial_detail::StepRows;
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

/// Collects pointers to names and hands them out sorted, each once.
class NameCollector {
 public:
  NameCollector(const Reading& reading, std::optional<CollectionFilter> filter)
      : reading_(reading), filter_(filter) {}

  void add(const NameLayout& layout) {
    for (const std::uint32_t id : layout.before_reserved()) add(id);
    for (const std::uint32_t id : layout.after_reserved()) add(id);
    ++layouts_;
  }

  std::vector<std::string> sorted() {
    if (layouts_ > 1) {  // one layout is sorted already
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
    const std::string& name = reading_.tensor_name(id);
    if (!filter_ || filter_->selects(id, name)) names_.push_back(&name);
  }

  const Reading& reading_;
  std::optional<CollectionFilter> filter_;
  std::vector<const std::string*> names_;
  int layouts_ = 0;
};

std::vector<std::string> all_names(const Snapshot& snapshot) {
  const Reading reading(&snapshot, std::nullopt);
  NameCollector names(reading, std::nullopt);
  for (const Snapshot::Worker& worker : snapshot.workers)
    for (std::size_t i = 0; i < worker.sizes.uses; ++i) names.add(*worker.steps->use(i).layout);
  return names.sorted();
}

/// Lists the tensors that the collection's patterns find, once the run has ended. Before, they are
/// still to come. Keeps no answers: a run may have very many collections.
void add_found_names(const std::vector<std::string>& names, Collection& collection) {
  for (const std::string& name : names)
    if (collection.include_regex().matches(name)) collection.add_tensor_name(name);
}

}  // namespace

Trial::Trial(std::shared_ptr<const Store> store, TrialOptions options) {
  auto index = std::make_shared<TrialIndex>(std::move(store), options);
  if (options.name.empty()) options.name = last_part(index->store().location());
  view_.reset(new View{.index = std::move(index), .name = std::move(options.name)});
}

Trial::Trial(std::unique_ptr<View> view) : view_(std::move(view)) {}
Trial::~Trial() = default;

std::unique_ptr<Trial> Trial::view() const {
  std::unique_ptr<View> other(new View{.index = view_->index, .name = view_->name});
  return std::unique_ptr<Trial>(new Trial(std::move(other)));
}

std::unique_ptr<Trial> create_trial(std::string_view path, TrialOptions options) {
  std::shared_ptr<const Store> store = open_store(path);
  if (options.name.empty()) {
    const std::size_t begin = path.find_first_not_of(" \t\r\n");
    const std::size_t end = path.find_last_not_of(" \t\r\n");
    options.name = last_part(path.substr(begin, end - begin + 1));
  }
  return std::make_unique<Trial>(std::move(store), std::move(options));
}

const std::string& Trial::name() const noexcept { return view_->name; }
std::string Trial::location() const { return view_->index->store().location(); }

std::vector<std::string> Trial::run_ids() const {
  std::vector<std::string> ids;
  const std::shared_ptr<const Snapshot> now = snapshot();
  for (const auto& entry : now->collections->files()) {
    const std::string& id = entry.second.content.run;
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

std::optional<std::string> Trial::extra_file(std::string_view key) const {
  constexpr std::uint64_t kMostBytes = 4096;
  const auto bytes = view_->index->store().get(key, kMostBytes);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

std::vector<std::int64_t> Trial::steps(Mode mode, bool show_incomplete_steps) const {
  return view_->read().steps(mode, show_incomplete_steps, [](const StepRows&) { return true; });
}

std::vector<std::int64_t> Trial::steps_from(std::int64_t first, bool show_incomplete_steps) const {
  const Reading reading = view_->read();
  std::vector<std::int64_t> merged;
  for (const Snapshot::Worker& worker : reading.workers()) {
    const std::size_t count =
        worker.steps->count_until(reading.listed(show_incomplete_steps), worker.sizes.steps);
    std::vector<std::int64_t> own;
    for (std::size_t i = count; i > 0 && worker.steps->step(i - 1).step >= first; --i)
      own.push_back(worker.steps->step(i - 1).step);
    std::ranges::reverse(own);
    trial_detail::merge_sorted(merged, std::move(own));
  }
  return merged;
}

std::vector<Mode> Trial::modes() const {
  const Reading reading = view_->read();
  std::vector<Mode> modes;
  for (const Mode mode : {Mode::Train, Mode::Eval, Mode::Predict}) {
    const auto has_mode = [&](const Snapshot::Worker& worker) {
      return worker.steps->at_or_after(mode, 0, worker.sizes, reading.listed(false)) != nullptr;
    };
    if (std::ranges::any_of(reading.workers(), has_mode)) modes.push_back(mode);
  }
  return modes;
}

std::optional<Mode> Trial::mode(std::int64_t global_step) const {
  const Reading reading = view_->read();
  const StepRows* rows = reading.find_any(global_step);
  return rows == nullptr ? std::nullopt : std::optional(rows->mode);
}

std::optional<std::int64_t> Trial::mode_step(std::int64_t global_step) const {
  const Reading reading = view_->read();
  const StepRows* rows = reading.find_any(global_step);
  return rows == nullptr ? std::nullopt : std::optional(rows->mode_step);
}

std::optional<std::int64_t> Trial::global_step(Mode mode, std::int64_t mode_step) const {
  return view_->read().global_step(mode, mode_step);
}

std::int64_t Trial::last_complete_step() const {
  const Reading reading = view_->read();
  return reading.last_step(reading.passed());
}

std::vector<std::string> Trial::tensor_names(const TensorQuery& query) const {
  if (!query.regex.empty() && !query.collection.empty())
    throw UsageError("tensor_names takes a regex or a collection, not both");
  const Reading reading = view_->read();
  std::optional<CollectionFilter> filter;
  std::shared_ptr<const NameFilter> patterns;
  if (!query.regex.empty()) {
    patterns = reading.snapshot().data->patterns.get(query.regex);
    filter = CollectionFilter{.filter = patterns.get()};
  } else if (!query.collection.empty()) {
    filter = reading.snapshot().collection_filter(query.collection);
    if (!filter) {
      view_->index->warn_once("The run has no collection of this name: " + query.collection);
      return {};
    }
  }

  NameCollector names(reading, filter);
  if (query.step) {
    const auto global = reading.global_step(query.mode, *query.step);
    if (!global) return {};
    for (const Snapshot::Worker& worker : reading.workers())
      if (const StepRows* rows = reading.find(worker, *global)) names.add(*rows->layout);
    return names.sorted();
  }
  for (const Snapshot::Worker& worker : reading.workers()) {
    for (std::size_t i = 0; i < worker.sizes.uses; ++i) {
      const WorkerSteps::LayoutUse& use = worker.steps->use(i);
      if (use.step > reading.listed(false)) break;
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
  const Reading reading = view_->read();
  const std::optional<std::uint32_t> id = reading.snapshot().data->names.find(name);
  if (!id || is_reserved_tensor(name) || !reading.has_tensor(*id)) return std::nullopt;
  return Tensor(*this, std::string(name), *id);
}

Tensor Trial::tensor(std::string_view name) const {
  if (std::optional<Tensor> found = find_tensor(name)) return *std::move(found);
  throw TensorUnavailable(std::string(name));
}

bool Trial::has_tensor(std::string_view name) const { return find_tensor(name).has_value(); }

std::vector<std::string> Trial::workers() const {
  const Reading reading = view_->read();
  std::vector<std::string> names;
  for (const Snapshot::Worker& worker : reading.workers()) names.emplace_back(worker.name);
  return names;
}

std::int64_t Trial::num_workers() const {
  return view_->read().snapshot().collections->num_workers();
}

std::vector<std::string> Trial::missing_workers(std::int64_t global_step) const {
  const Reading reading = view_->read();
  std::vector<std::string> missing;
  if (reading.find_any(global_step) == nullptr) return missing;
  for (const Snapshot::Worker& worker : reading.workers())
    if (reading.find(worker, global_step) == nullptr) missing.emplace_back(worker.name);
  return missing;
}

Collections Trial::collections() const {
  const Reading reading = view_->read();
  const Snapshot& snapshot = reading.snapshot();
  Collections all = snapshot.collections->all();
  snapshot.data->joined.add_to(all, snapshot.data->names);
  if (!snapshot.ended) return all;
  const std::vector<std::string> names = all_names(snapshot);
  for (auto& [name, collection] : all)
    if (!collection.include_regex().empty()) add_found_names(names, collection);
  return all;
}

std::vector<std::string> Trial::collection_names() const {
  const Reading reading = view_->read();
  const Snapshot& snapshot = reading.snapshot();
  std::set<std::string, std::less<>> names;
  for (const auto& [worker, file] : snapshot.collections->files())
    for (const auto& [name, collection] : file.content.collections) names.insert(name);
  snapshot.data->joined.add_names_to(names);
  return {names.begin(), names.end()};
}

Collection Trial::collection(std::string_view name) const {
  const Reading reading = view_->read();
  const Snapshot& snapshot = reading.snapshot();
  Collection collection = snapshot.collections->find(name).value_or(Collection(std::string(name)));
  if (const auto* const members = snapshot.data->joined.members(name))
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

bool Trial::refresh_if_due() const { return view_->index->refresh_if_due(); }

bool Trial::looks_cost() const noexcept { return !view_->index->store().can_append(); }

std::shared_ptr<const Snapshot> Trial::snapshot() const {
  return view_->pinned ? view_->pinned : view_->index->newest();
}

void Trial::keep_values(std::uint64_t bytes) const { view_->index->values().keep(bytes); }

std::optional<std::int64_t> Trial::rewound_to(const Snapshot& since) const {
  return rewound_to(since.rewinds.size());
}

std::optional<std::int64_t> Trial::rewound_to(std::size_t rewinds_before) const {
  const std::shared_ptr<const Snapshot> now = snapshot();
  if (now->rewinds.size() <= rewinds_before) return std::nullopt;
  return *std::min_element(now->rewinds.begin() + static_cast<std::ptrdiff_t>(rewinds_before),
                           now->rewinds.end());
}

std::size_t Trial::rewinds() const { return snapshot()->rewinds.size(); }

std::vector<Note> Trial::notes(const StepRange& steps) const {
  const Reading reading = view_->read();
  std::vector<Note> notes;
  const Snapshot& snapshot = reading.snapshot();
  const std::optional<std::uint32_t> id = snapshot.data->names.find(kNoteTensor);
  if (!id) return notes;
  for (const Snapshot::Worker& worker : reading.workers()) {
    std::size_t first = 0;
    for (std::size_t left = steps.begin ? worker.sizes.reserved : 0; left > 0;) {
      const std::size_t half = left / 2;
      const bool is_before = worker.steps->reserved(first + half).step < *steps.begin;
      first += is_before ? half + 1 : 0;
      left = is_before ? left - half - 1 : half;
    }
    for (std::size_t i = first; i < worker.sizes.reserved; ++i) {
      const StepRows& rows = worker.steps->reserved(i);
      if (rows.step > reading.limit() || (steps.end && rows.step >= *steps.end)) break;
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
  const Reading reading = view_->read();
  const Snapshot& snapshot = reading.snapshot();
  TrialTotals totals;
  totals.index_bytes = snapshot.index_bytes;
  const std::optional<std::uint32_t> overhead = snapshot.data->names.find(kOverheadTensor);
  double sum = 0;
  int reporting = 0;
  for (const Snapshot::Worker& worker : reading.workers()) {
    const std::size_t count = worker.steps->count_until(reading.limit(), worker.sizes.steps);
    for (std::size_t i = 0; i < count; ++i) {
      const StepRows& rows = worker.steps->step(i);
      totals.rows += static_cast<std::int64_t>(rows.layout->visible());
      totals.value_bytes += rows.value_bytes;
      totals.newest_time_us = std::max(totals.newest_time_us, rows.time_us);
    }
    for (std::size_t i = worker.sizes.reserved; overhead && i > 0; --i) {
      const StepRows& rows = worker.steps->reserved(i - 1);
      if (rows.step > reading.limit()) continue;
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
