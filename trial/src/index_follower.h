#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/natural_order.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/layout.h"
#include "cupel/store/store.h"
#include "index_builder.h"
#include "index_source.h"
#include "index_walk.h"
#include "run_collections.h"
#include "run_poll.h"

namespace cupel::trial_detail {

/// Reads the index files of a run as they appear, grow, are sealed and are followed by others, and
/// appends their rows by an IndexBuilder.
///
/// The refreshing thread owns it. After a StoreError the next call goes on where this one stopped.
/// Damage ends the attempt of its worker at that place; the rest of the run is still read.
class IndexFollower {
 public:
  /// Borrows `store`, `poll`, `builder` and `state`. A store in which every request costs is sent
  /// up to `requests_at_once` requests at the same time.
  IndexFollower(const Store& store, RunPoll& poll, IndexBuilder& builder, IndexState& state,
                std::size_t requests_at_once);
  ~IndexFollower();

  /// For each known worker the key after which its index files are to be listed.
  std::vector<std::string> listing_begins() const;

  /// Reads the index files that the poll finds; true if steps came, or were taken back.
  /// `run_ended`: the end marker was there before. `progress` may be empty.
  bool follow(bool run_ended, const RunCollections& collections,
              const IndexSource::Progress& progress);

  /// Whether the collections files must be read again: steps were read that may need newer ones,
  /// or damage was met that they may explain.
  bool needs_collections() const noexcept { return needs_collections_; }
  void collections_were_read() noexcept { needs_collections_ = false; }

  /// The damage of index files, in the order in which it was met.
  const std::vector<FormatError>& damage() const noexcept { return damage_; }

 private:
  struct Segment;
  struct Worker;
  struct MissesPredecessor {};

  Worker& worker_of(const std::string& name);
  void list_new();
  bool add_listed(const std::vector<ObjectInfo>& listed);
  std::vector<ObjectInfo> unread_files() const;
  void follow_worker(Worker& worker, bool run_ended, std::int32_t newest_attempt);
  void update(Worker& worker, Segment& segment);
  void read(Worker& worker, Segment& segment, ObjectInfo info);
  void set_size(Segment& segment, std::uint64_t size);
  WalkEnd read_to(Worker& worker, Segment& segment, std::uint64_t size);
  bool outside_range(const Segment& segment, const Segment* next) const noexcept;
  void pass_over(Worker& worker, const Segment& segment);
  void check_beginning(Worker& worker, Segment& segment);
  void check_run(Worker& worker, const Segment& segment);
  static void check_number(Worker& worker, Segment& segment);
  void check_collections(Worker& worker, const Segment& segment);
  void take(Worker& worker, Segment& segment, const IndexBatch& batch);

  const Store& store_;
  RunPoll& poll_;
  IndexBuilder& builder_;
  IndexState& state_;
  IndexWalker walker_;
  std::map<std::string, Worker, NaturalOrder> workers_;
  std::vector<FormatError> damage_;
  std::uint64_t listed_bytes_ = 0;
  bool needs_collections_ = false;
  // The arguments of the follow() that is running.
  const RunCollections* collections_ = nullptr;
  const IndexSource::Progress* progress_ = nullptr;
};

}  // namespace cupel::trial_detail
