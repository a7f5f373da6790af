#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/error.h"
#include "cupel/format/collections_file.h"
#include "cupel/store/store.h"
#include "names.h"
#include "worker_order.h"

namespace cupel::trial_detail {

/// Remembers for every tensor name whether a collection or a list of patterns selects it, so that
/// each name is searched once. Any thread.
class NameFilter {
 public:
  explicit NameFilter(Collection collection) : collection_(std::move(collection)) {}

  bool selects(std::uint32_t id, const std::string& name) const;
  const Collection& collection() const noexcept { return collection_; }

 private:
  enum class Answer : std::uint8_t { Unknown, No, Yes };
  const Collection collection_;
  mutable std::shared_mutex mutex_;
  mutable std::vector<Answer> answers_;  // by name id; guarded by mutex_
};

/// What the collections files of all workers say together. Immutable; collections of several files
/// are merged when they are asked for, so that a run with very many is opened fast.
class RunCollections {
 public:
  struct File {
    std::string identity;  // empty: the file is gone
    std::uint64_t size = 0;
    std::uint32_t crc32c = 0;
    CollectionsFile content;
  };
  using Files = std::map<std::string, File, WorkerOrder>;  // by worker

  /// `before` lends the filters of collections that did not change.
  explicit RunCollections(Files files, const RunCollections* before = nullptr);

  /// Reads all files. Throws FormatError for a damaged one.
  static std::shared_ptr<const RunCollections> read(const Store& store);

  /// What a later look at the files found.
  struct News {
    std::shared_ptr<const RunCollections> changed = nullptr;  ///< Null if nothing did.
    /// Of files that are damaged or gone since the last look: what they said before holds.
    std::vector<FormatError> damage = {};
    /// Why there is no longer the run that was read. Nothing that came with it belongs to that.
    std::optional<FormatError> loss = std::nullopt;
    bool replaced = false;  ///< Another run is in its place.
  };
  /// Reads the files that are new or changed.
  News read_changes(const Store& store) const;

  const Files& files() const noexcept { return files_; }
  /// With what every file says of it; nothing if none names it.
  std::optional<Collection> find(std::string_view name) const;
  Collections all() const;
  /// Of the newest attempt.
  std::int64_t num_workers() const noexcept { return num_workers_; }
  /// Null for a collection the run does not have. Any thread.
  const NameFilter* filter(std::string_view collection) const;

 private:
  std::optional<FormatError> replacement(const std::string& worker, const File& now,
                                         const Files& files) const;

  using Filters = std::map<std::string, std::shared_ptr<const NameFilter>, std::less<>>;
  Filters filters_still_right(const RunCollections& before) const;

  Files files_;
  std::int64_t num_workers_ = 1;
  mutable std::mutex mutex_;
  mutable Filters filters_;  // of collections that were asked for; guarded by mutex_
};

/// Filters of patterns given in queries, by their texts.
class PatternFilters {
 public:
  std::shared_ptr<const NameFilter> get(const PatternList& patterns);

 private:
  std::mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<const NameFilter>>
      filters_;  // guarded by mutex_
};

}  // namespace cupel::trial_detail
