// The collections files of a run.
//
// The refreshing thread reads the files; all files are listed in one request, and a file is read
// again when its identity or size has changed. The result is immutable, so queries share it.
// Filters are made by the first query that needs one, under a mutex, and taken over by the next
// version if the collection did not change.
//
// A damaged or removed file is reported, and its earlier content stays valid. When all files are
// gone, or one names another run, the run is lost.

#include "run_collections.h"

#include <algorithm>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/mutex.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"

namespace cupel::trial_detail {

namespace {

constexpr std::size_t kMaxPatternFilters = 256;

bool select_alike(const Collection& a, const Collection& b) {
  return a.tensor_names() == b.tensor_names() &&
         a.include_regex().texts() == b.include_regex().texts();
}

/// Files of format 1.0 list the names that the worker saved; later files list a part of the names
/// that joined. Everything else is the same in the files of all workers.
void add_names(Collection& merged, const Collection& other) {
  for (const std::string& tensor : other.tensor_names()) merged.add_tensor_name(tensor);
}

void add(std::optional<Collection>& merged, const Collection& other) {
  if (merged) {
    add_names(*merged, other);
  } else {
    merged = other;
  }
}

/// Nothing if the file is gone.
std::optional<RunCollections::File> read_file(const Store& store, const ObjectInfo& info) {
  const std::uint64_t most = format_limits().collections_file;
  if (info.size > most) throw FormatError(info.key, 0, "the file is too long");
  const auto bytes = store.get(info.key, most);
  if (!bytes) return std::nullopt;
  return RunCollections::File{info.identity, info.size, crc32c(*bytes),
                              decode_collections_file(info.key, *bytes)};
}

}  // namespace

bool NameFilter::selects(std::uint32_t id, const std::string& name) const {
  {
    const ReaderLock lock(mutex_);
    if (id < answers_.size() && answers_[id] != Answer::Unknown) return answers_[id] == Answer::Yes;
  }
  const bool selected = collection_.contains(name);
  const WriterLock lock(mutex_);
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
  }
  if (before != nullptr) filters_ = filters_still_right(*before);
}

RunCollections::Filters RunCollections::filters_still_right(const RunCollections& before) const {
  Filters filters;
  {
    const MutexLock lock(before.mutex_);
    filters = before.filters_;
  }
  std::erase_if(filters, [&](const auto& entry) {
    const auto now = find(entry.first);
    return !now || !select_alike(entry.second->collection(), *now);
  });
  return filters;
}

std::optional<Collection> RunCollections::find(std::string_view name) const {
  std::optional<Collection> merged;
  for (const auto& [worker, file] : files_) {
    const auto found = file.content.collections.find(name);
    if (found != file.content.collections.end()) add(merged, found->second);
  }
  return merged;
}

Collections RunCollections::all() const {
  Collections all;
  for (const auto& [worker, file] : files_) {
    for (const auto& [name, collection] : file.content.collections) {
      const auto [merged, is_new] = all.try_emplace(name, collection);
      if (!is_new) add_names(merged->second, collection);
    }
  }
  return all;
}

std::shared_ptr<const RunCollections> RunCollections::read(const Store& store) {
  Files files;
  for (const ObjectInfo& info : store.list(kCollectionsPrefix)) {
    const std::optional<std::string> worker = parse_collections_key(info.key);
    if (!worker) continue;
    if (auto file = read_file(store, info)) files.emplace(*worker, *std::move(file));
  }
  return std::make_shared<const RunCollections>(std::move(files));
}

RunCollections::News RunCollections::read_changes(const Store& store) const {
  std::map<std::string, ObjectInfo, NaturalOrder> there;
  for (ObjectInfo& info : store.list(kCollectionsPrefix))
    if (const auto worker = parse_collections_key(info.key))
      there.emplace(*worker, std::move(info));
  // The listing of a directory may miss a file that is being renamed meanwhile.
  for (const auto& [worker, file] : files_)
    if (!there.contains(worker))
      if (auto info = store.stat(collections_key(worker))) there.emplace(worker, *std::move(info));

  News news;
  const auto is_known = [&](const auto& entry) {
    const auto known = files_.find(entry.first);
    return known != files_.end() && known->second.identity == entry.second.identity &&
           known->second.size == entry.second.size;
  };
  // Most polls end here, and copy nothing.
  if (there.size() == files_.size() && std::ranges::all_of(there, is_known)) return news;
  Files files = files_;
  bool changed = false;
  for (auto& [worker, file] : files) {
    if (there.contains(worker) || file.identity.empty()) continue;
    file.identity.clear();
    changed = true;
    news.damage.emplace_back(collections_key(worker), 0, "the file was there and is gone");
  }
  for (const auto& [worker, info] : there) {
    const auto known = files.find(worker);
    if (known != files.end() && known->second.identity == info.identity &&
        known->second.size == info.size)
      continue;
    try {
      auto file = read_file(store, info);
      if (!file) continue;  // It was removed after the listing.
      files.insert_or_assign(worker, *std::move(file));
    } catch (const FormatError& error) {
      if (known != files.end()) known->second.identity = info.identity;
      if (known != files.end()) known->second.size = info.size;
      news.damage.push_back(error);
    }
    changed = true;
  }
  if (!changed) return news;

  for (const auto& [worker, file] : files)
    if (!news.loss) news.loss = replacement(worker, file, files);
  news.replaced = news.loss.has_value();
  const auto is_gone = [](const auto& entry) { return entry.second.identity.empty(); };
  if (!news.loss && std::ranges::all_of(files, is_gone))
    news.loss = FormatError(collections_key(files.begin()->first), 0,
                            "the file was there and is gone: the run was removed");
  news.changed = std::make_shared<const RunCollections>(std::move(files), this);
  return news;
}

/// The error for a worker that belongs to another run than before; nothing if it does not. Workers
/// that began together may each have named the run, and agree on one of the names in a new attempt.
std::optional<FormatError> RunCollections::replacement(const std::string& worker, const File& now,
                                                       const Files& files) const {
  const auto before = files_.find(worker);
  if (before == files_.end()) return std::nullopt;
  const CollectionsFile& was = before->second.content;
  const CollectionsFile& is = now.content;
  if (is.run == was.run) return std::nullopt;
  const auto names_it = [&](const auto& entry) { return entry.second.content.run == is.run; };
  const auto is_new_and_names_it = [&](const auto& entry) {
    return !files_.contains(entry.first) && names_it(entry);
  };
  if (is.attempt > was.attempt &&
      (std::ranges::any_of(files_, names_it) || std::ranges::any_of(files, is_new_and_names_it)))
    return std::nullopt;
  return FormatError(collections_key(worker), 0,
                     "the run was replaced by another one while it was read: it was run " +
                         was.run + ", and now there is run " + is.run);
}

const NameFilter* RunCollections::filter(std::string_view collection) const {
  const MutexLock lock(mutex_);
  const auto known = filters_.find(collection);
  if (known != filters_.end()) return known->second.get();
  auto found = find(collection);
  if (!found) return nullptr;
  auto filter = std::make_shared<const NameFilter>(*std::move(found));
  return filters_.emplace(std::string(collection), std::move(filter)).first->second.get();
}

std::shared_ptr<const NameFilter> PatternFilters::get(const PatternList& patterns) {
  std::vector<std::string> texts = patterns.texts();
  const MutexLock lock(mutex_);
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
