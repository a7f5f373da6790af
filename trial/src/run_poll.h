#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cupel/store/store.h"
#include "cupel/trial/trial_clock.h"

namespace cupel::trial_detail {

/// Finds the files of a run, in one poll after another. One thread.
///
/// Within a poll, the ended workers are at least as old as the index files: a worker that is listed
/// as ended has no index file that the poll does not know.
class RunPoll {
 public:
  struct Begin {
    /// The end marker was there before everything else that the poll asks for.
    bool ended = false;
    /// The poll asks for all files, not only for new index files.
    bool full = false;
  };

  virtual ~RunPoll() = default;

  /// Begins a poll. `after` has, for each known worker, the key after which its index files are to
  /// be listed.
  virtual Begin begin(std::span<const std::string> after, std::size_t expected_workers) = 0;
  /// The names of the workers that have ended.
  virtual std::vector<std::string> ended_workers() = 0;
  /// The index files that are there now, or were there when the poll began.
  virtual std::vector<ObjectInfo> index_files() = 0;
  /// An index file as it is now, of which `last` was known before; nothing when it is gone.
  virtual std::optional<ObjectInfo> index_file(const ObjectInfo& last) = 0;
  /// Lists the index files after a key once more, because the numbers of a worker's segments show
  /// that the listing missed one. Nothing where listings miss none.
  virtual std::optional<std::vector<ObjectInfo>> list_again(const std::string& after) = 0;
};

/// Asks the store for all files in every poll: for stores in which requests cost nothing.
class FullPoll final : public RunPoll {
 public:
  /// Borrows the store.
  explicit FullPoll(const Store& store) : store_(store) {}

  Begin begin(std::span<const std::string> after, std::size_t expected_workers) override;
  std::vector<std::string> ended_workers() override;
  std::vector<ObjectInfo> index_files() override;
  std::optional<ObjectInfo> index_file(const ObjectInfo& last) override;
  std::optional<std::vector<ObjectInfo>> list_again(const std::string&) override {
    return std::nullopt;
  }

 private:
  const Store& store_;
  std::string after_;
};

/// Makes one listing per poll: for stores in which every request costs time and money.
///
/// The keys of new index files and of the end marker sort after those of the known index files, so
/// one listing has them all. At the end of the run, and once per `full_interval`, a poll asks for
/// all files. A listing shows each key as it was at some moment while the listing was made, not all
/// keys at one moment: an end marker that a listing shows counts from the next poll on.
class ListingPoll final : public RunPoll {
 public:
  /// Borrows the store.
  ListingPoll(const Store& store, std::shared_ptr<const TrialClock> clock,
              std::chrono::milliseconds full_interval);

  Begin begin(std::span<const std::string> after, std::size_t expected_workers) override;
  std::vector<std::string> ended_workers() override { return ended_workers_; }
  std::vector<ObjectInfo> index_files() override { return listed_; }
  std::optional<ObjectInfo> index_file(const ObjectInfo& last) override;
  std::optional<std::vector<ObjectInfo>> list_again(const std::string& after) override;

 private:
  void list_new(std::span<const std::string> after, std::size_t expected_workers);
  void list_all(std::size_t expected_workers);
  std::string listing_begin(std::span<const std::string> after, std::size_t expected_workers) const;
  void list(std::string_view prefix, std::string after);

  const Store& store_;
  const std::shared_ptr<const TrialClock> clock_;
  const std::chrono::milliseconds full_interval_;
  std::optional<TrialClock::Time> last_full_;
  bool ended_ = false;    // the end marker was seen
  bool crowded_ = false;  // many foreign objects lie behind the index, so it is listed alone
  std::vector<std::string> ended_workers_;
  std::vector<ObjectInfo> listed_;  // all index files after the key after_
  std::string after_;
  std::string recent_begin_;  // the run has about kMostKnown index files after this key
};

}  // namespace cupel::trial_detail
