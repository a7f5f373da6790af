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

/// Which files of a run there are, as one look after another finds them. One thread.
///
/// What a look says of workers that have ended is as old as the beginning of the look or older, and
/// what it says of index files is not: so a worker that has ended has no index file that the look
/// does not know.
class RunLook {
 public:
  struct Begin {
    bool ended = false;  ///< The end marker was there before all else that the look asks for.
    bool whole = false;  ///< Everything is to be looked at, not index files alone.
  };

  virtual ~RunLook() = default;

  /// Begins a look. Of each known worker `behind` has the key behind which index files are to be
  /// listed.
  virtual Begin begin(std::span<const std::string> behind, std::size_t expected_workers) = 0;
  /// The names of those that are known to have ended.
  virtual std::vector<std::string> ended_workers() = 0;
  /// Those that are there now or were when the look began.
  virtual std::vector<ObjectInfo> index_files() = 0;
  /// What is known of one, of which `last` was known before; nothing when it is gone.
  virtual std::optional<ObjectInfo> index_file(const ObjectInfo& last) = 0;
  /// Lists once more where a worker's index files show that one of them was missed. Nothing of a
  /// store in which none is.
  virtual std::optional<std::vector<ObjectInfo>> list_again(const std::string& behind) = 0;
};

/// Asks the store for everything at each look.
class AskingLook final : public RunLook {
 public:
  /// Borrows it.
  explicit AskingLook(const Store& store) : store_(store) {}

  Begin begin(std::span<const std::string> behind, std::size_t expected_workers) override;
  std::vector<std::string> ended_workers() override;
  std::vector<ObjectInfo> index_files() override;
  std::optional<ObjectInfo> index_file(const ObjectInfo& last) override;
  std::optional<std::vector<ObjectInfo>> list_again(const std::string&) override {
    return std::nullopt;
  }

 private:
  const Store& store_;
  std::string behind_;
};

/// Makes do with one listing a look.
///
/// The keys of new index files and of the end marker sort behind those of the index files that are
/// known, so one listing has them all. Only every now and then, and at the end, everything is
/// looked at. A store's listing is true of each key at some moment while it was made, not of all at
/// one: a marker that is seen counts for a look that begins afterwards.
class ListingLook final : public RunLook {
 public:
  /// Borrows the store. `whole_each`: how often everything is looked at.
  ListingLook(const Store& store, std::shared_ptr<const TrialClock> clock,
              std::chrono::milliseconds whole_each);

  Begin begin(std::span<const std::string> behind, std::size_t expected_workers) override;
  std::vector<std::string> ended_workers() override { return ended_workers_; }
  std::vector<ObjectInfo> index_files() override { return listed_; }
  std::optional<ObjectInfo> index_file(const ObjectInfo& last) override;
  std::optional<std::vector<ObjectInfo>> list_again(const std::string& behind) override;

 private:
  void look_at_news(std::span<const std::string> behind, std::size_t expected_workers);
  void look_at_all(std::size_t expected_workers);
  std::string listing_begin(std::span<const std::string> behind,
                            std::size_t expected_workers) const;
  void list(std::string_view prefix, std::string after);

  const Store& store_;
  const std::shared_ptr<const TrialClock> clock_;
  const std::chrono::milliseconds whole_each_;
  std::optional<TrialClock::Time> last_whole_;
  bool ended_ = false;    // the marker was seen
  bool crowded_ = false;  // there is much behind the index that is not of the run
  std::vector<std::string> ended_workers_;
  std::vector<ObjectInfo> listed_;  // index files of this look, which are all
  std::string behind_;              // this key
  std::string crowd_begin_;         // the run has about kMostKnown index files behind it
};

}  // namespace cupel::trial_detail
