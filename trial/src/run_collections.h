#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/core/natural_order.h"
#include "cupel/format/collections_file.h"
#include "cupel/store/store.h"
#include "names.h"

namespace cupel::trial_detail {

/// Remembers for every tensor name whether a collection or a list of patterns selects it, so that
/// each name is matched once. Any thread.
class NameFilter {
 public:
  explicit NameFilter(Collection collection) : collection_(std::move(collection)) {}

  bool selects(std::uint32_t id, const std::string& name) const;
  const Collection& collection() const noexcept { return collection_; }

 private:
  enum class Answer : std::uint8_t { Unknown, No, Yes };
  const Collection collection_;
  mutable SharedMutex mutex_;
  mutable std::vector<Answer> answers_ CUPEL_GUARDED_BY(mutex_);  // by name id
};

/// The contents of the collections files of all workers. Immutable. Collections of several files
/// are merged when a query asks for them, so that a run with very many collections is opened fast.
class RunCollections {
 public:
  struct File {
    std::string identity;  ///< Empty if the file is gone.
    std::uint64_t size = 0;
    std::uint32_t crc32c = 0;
    CollectionsFile content;
  };
  using Files = std::map<std::string, File, NaturalOrder>;  // by worker

  /// Takes the filters of collections that did not change from `before`, if it is given.
  explicit RunCollections(Files files, const RunCollections* before = nullptr);

  /// Reads all files. Throws FormatError for a damaged one.
  static std::shared_ptr<const RunCollections> read(const Store& store);

  /// What has changed since these files were read.
  struct News {
    /// The collections with the changes; null if nothing has changed.
    std::shared_ptr<const RunCollections> changed = nullptr;
    /// Damage of files that were damaged or removed; their earlier content stays valid.
    std::vector<FormatError> damage = {};
    /// Why the run that was read is gone. Nothing in `changed` belongs to it then.
    std::optional<FormatError> loss = std::nullopt;
    /// Whether another run is in its place.
    bool replaced = false;
  };
  /// Reads the files that are new or changed.
  News read_changes(const Store& store) const;

  const Files& files() const noexcept { return files_; }
  /// A collection, merged from all files; nothing if no file has it.
  std::optional<Collection> find(std::string_view name) const;
  /// All collections, merged.
  Collections all() const;
  /// The number of workers of the newest attempt.
  std::int64_t num_workers() const noexcept { return num_workers_; }
  /// The filter of a collection; null if the run has no collection of this name. Any thread.
  const NameFilter* filter(std::string_view collection) const;

 private:
  std::optional<FormatError> replacement(const std::string& worker, const File& now,
                                         const Files& files) const;

  using Filters = std::map<std::string, std::shared_ptr<const NameFilter>, std::less<>>;
  Filters filters_still_right(const RunCollections& before) const;

  Files files_;
  std::int64_t num_workers_ = 1;
  mutable Mutex mutex_;
  mutable Filters filters_ CUPEL_GUARDED_BY(mutex_);  // of collections that were asked for
};

/// The filters of patterns in queries, by the texts of the patterns. Any thread.
class PatternFilters {
 public:
  std::shared_ptr<const NameFilter> get(const PatternList& patterns);

 private:
  Mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<const NameFilter>> filters_
      CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel::trial_detail
