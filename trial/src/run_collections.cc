#include "run_collections.h"

#include <algorithm>
#include <utility>

#include "cupel/format/layout.h"

namespace cupel::trial_detail {

namespace {

constexpr std::size_t kMaxPatternFilters = 256;

bool select_alike(const Collection& a, const Collection& b) {
  return a.tensor_names() == b.tensor_names() &&
         a.include_regex().texts() == b.include_regex().texts();
}

}  // namespace

bool NameFilter::selects(std::uint32_t id, const std::string& name) const {
  {
    const std::shared_lock lock(mutex_);
    if (id < answers_.size() && answers_[id] != Answer::Unknown) return answers_[id] == Answer::Yes;
  }
  const bool selected = collection_.contains(name);
  const std::unique_lock lock(mutex_);
  if (id >= answers_.size()) answers_.resize(std::max<std::size_t>(id + 1, answers_.size() * 2));
  answers_[id] = selected ? Answer::Yes : Answer::No;
  return selected;
}

RunCollections::RunCollections(Files files, const RunCollections* before)
    : files_(std::move(files)) {
  std::int32_t newest_attempt = -1;
  for (const auto& [worker, file] : files_) {
    if (file.content.attempt > newest_attempt) {
      newest_attempt = file.content.attempt;
      num_workers_ = file.content.num_workers;
    } else if (file.content.attempt == newest_attempt) {
      num_workers_ = std::max(num_workers_, file.content.num_workers);
    }
    for (const auto& [name, collection] : file.content.collections) {
      const auto [merged, is_new] = all_.try_emplace(name, collection);
      if (is_new) continue;
      for (const std::string& tensor : collection.tensor_names())
        merged->second.add_tensor_name(tensor);
    }
  }
  for (const auto& [name, collection] : all_) {
    std::shared_ptr<const NameFilter> filter;
    if (before != nullptr) {
      const auto old = before->filters_.find(name);
      if (old != before->filters_.end() && select_alike(old->second->collection(), collection))
        filter = old->second;
    }
    if (!filter) filter = std::make_shared<const NameFilter>(collection);
    filters_.emplace(name, std::move(filter));
  }
}

std::shared_ptr<const RunCollections> RunCollections::read(const Store& store,
                                                           const RunCollections* before) {
  Files files;
  bool changed = before == nullptr;
  for (const ObjectInfo& info : store.list(kCollectionsPrefix)) {
    const std::optional<std::string> worker = parse_collections_key(info.key);
    if (!worker) continue;
    if (before != nullptr) {
      const auto old = before->files_.find(*worker);
      if (old != before->files_.end() && old->second.identity == info.identity &&
          old->second.size == info.size) {
        files.emplace(*worker, old->second);
        continue;
      }
    }
    const auto bytes = store.get(info.key);
    if (!bytes) continue;  // removed since it was listed
    files.emplace(*worker,
                  File{info.identity, info.size, decode_collections_file(info.key, *bytes)});
    changed = true;
  }
  if (!changed && files.size() == before->files_.size()) return nullptr;
  return std::make_shared<const RunCollections>(std::move(files), before);
}

const NameFilter* RunCollections::filter(std::string_view collection) const noexcept {
  const auto found = filters_.find(collection);
  return found == filters_.end() ? nullptr : found->second.get();
}

std::shared_ptr<const NameFilter> PatternFilters::get(const PatternList& patterns) {
  std::vector<std::string> texts = patterns.texts();
  const std::unique_lock lock(mutex_);
  const auto found = filters_.find(texts);
  if (found != filters_.end()) return found->second;
  if (filters_.size() >= kMaxPatternFilters) filters_.clear();
  Collection selection("regex");
  selection.set_include_regex(patterns);
  auto filter = std::make_shared<const NameFilter>(std::move(selection));
  filters_.emplace(std::move(texts), filter);
  return filter;
}

}  // namespace cupel::trial_detail
