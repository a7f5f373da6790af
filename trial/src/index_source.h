#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/natural_order.h"
#include "cupel/store/store.h"
#include "index_data.h"
#include "run_collections.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// Everything that an index source has read of a run so far, beside the rows. TrialIndex makes its
/// snapshots from it.
struct IndexState {
  struct Worker {
    /// The committed steps of the worker, without those that a later attempt hid.
    std::shared_ptr<WorkerSteps> steps = std::make_shared<WorkerSteps>();
    /// The last committed step, also where TrialOptions::range_steps leaves it out.
    std::int64_t progress = -1;
    /// The attempt whose rows are read at present; -1 before the first commit.
    std::int32_t attempt = -1;
  };

  std::map<std::string, Worker, NaturalOrder> workers = {};
  /// The workers that will commit nothing more.
  std::set<std::string, std::less<>> ended_workers = {};
  /// Never null after IndexSource::find_run() has returned true.
  std::shared_ptr<const RunCollections> collections = nullptr;
  /// Every damage that was met, once each, in the order in which the source met it.
  std::vector<FormatError> damage = {};
  /// Why the run that was read is gone; also the last element of `damage`. Nothing more is read.
  std::optional<FormatError> loss = std::nullopt;
  /// Whether another run is in the place of the one that was read; then `loss` names both.
  bool replaced = false;
  /// For each time that a new attempt took back committed steps: the first of these steps.
  std::vector<std::int64_t> rewinds = {};
  /// The bytes of index files that were read.
  std::uint64_t index_bytes = 0;
};

/// Reads the index of a run: one implementation per format of runs. TrialIndex polls a source, and
/// publishes what the source has read as snapshots, which all queries answer from.
///
/// A source appends rows to data() by whole batches (IndexBuilder), so that no virtual function is
/// called for a row. A row that has a value holds it inline, or names key, offset, length and
/// CRC-32C of its bytes in the store. Notes of hooks are rows of reserved tensors.
///
/// The thread that holds TrialIndex's refresh lock calls everything but format(), has_ended() and
/// writer_lock(), which any thread calls at any time. After a StoreError the source goes on, at the
/// next call, where it was interrupted.
class IndexSource {
 public:
  /// Gets the bytes of index files that were read and those that are listed, in this order.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

  IndexSource() = default;
  virtual ~IndexSource() = default;
  IndexSource(const IndexSource&) = delete;
  IndexSource& operator=(const IndexSource&) = delete;

  /// The name of the format, as Trial::format() returns it. Never changes.
  virtual std::string_view format() const noexcept = 0;
  /// Asks the store whether the run has ended.
  virtual bool has_ended() const = 0;
  /// Whether a process holds the lock of a worker; Unseen where the format has no locks.
  virtual LockState writer_lock(std::string_view worker) const = 0;

  /// Looks for the run and reads its collections; false while there is no run. Throws FormatError
  /// for a damaged collections file.
  virtual bool find_run() = 0;
  /// Begins a poll; true if the run has ended. Whatever was committed before the end was written
  /// is found by the read_news() that follows.
  virtual bool begin_poll() = 0;
  /// Reads what was committed since the previous call; true if steps came, or a new attempt took
  /// steps back. With `ended` nothing more can come, so what is incomplete is damage. `progress`
  /// may be empty.
  virtual bool read_news(bool ended, const Progress& progress) = 0;
  /// After read_news() has thrown: reads the collections that the steps read so far need. False if
  /// the store fails again; then state() must not be published.
  virtual bool complete_after_failure() = 0;

  const IndexState& state() const noexcept { return state_; }
  const std::shared_ptr<IndexData>& data() const noexcept { return data_; }

 protected:
  IndexState state_;

 private:
  const std::shared_ptr<IndexData> data_ = std::make_shared<IndexData>();
};

}  // namespace cupel::trial_detail
