#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "cupel/format/layout.h"

namespace cupel::delivery_detail {

// The files that are to be uploaded, and their order. It knows no store and no threads: its user
// takes the next job, does it, and reports the result.
class UploadQueue {
 public:
  using Clock = std::chrono::steady_clock;

  struct Segment {
    SegmentName name;
    std::uint64_t values_bytes = 0;
    std::uint64_t index_bytes = 0;
    bool may_be_there = false;  // an earlier process may have uploaded it
    Clock::time_point since;
    std::uint64_t bytes() const noexcept { return values_bytes + index_bytes; }
  };

  enum class Kind { CollectionsFile, Values, Index, End };
  struct Job {
    Kind kind = Kind::Values;
    Segment segment = {};       // of the jobs Values and Index
    bool is_there = false;      // the index is in the store; only the local files are to be removed
    std::uint64_t version = 0;  // of the collections file
  };

  UploadQueue(std::size_t parallelism, std::uint64_t most_bytes)
      : parallelism_(parallelism), most_bytes_(most_bytes) {}

  void add(Segment segment);
  void collections_changed() { ++collections_changed_; }
  // Nothing is added any more. `ends`: the end of the run is uploaded after everything else.
  void finish(bool ends);

  // Returns a job that can begin now; nothing while everything waits for jobs that are under way.
  std::optional<Job> next();
  // Reports that a job of next() is done. `is_there`: the segment was found in the store.
  void done(const Job& job, bool is_there = false);
  // Reports that a job of next() failed; next() returns it again.
  void failed(const Job& job);

  bool is_finished() const noexcept;
  std::size_t segments_waiting() const noexcept { return entries_.size(); }
  std::uint64_t bytes_waiting() const noexcept { return bytes_waiting_; }
  std::optional<Clock::time_point> waiting_since() const noexcept;

 private:
  // The values of a segment.
  enum class Stage { Waiting, UnderWay, Uploaded, Found };
  struct Entry {
    Segment segment;
    std::uint64_t collections = 0;  // the version that its index needs
    Stage stage = Stage::Waiting;
  };
  std::optional<Job> next_in_order();
  bool collections_are_due() const noexcept;
  bool front_is_ready() const noexcept;
  void set_stage_of_values(const Job& job, Stage stage);

  const std::size_t parallelism_;
  const std::uint64_t most_bytes_;
  std::deque<Entry> entries_;  // that are not uploaded yet
  std::uint64_t bytes_waiting_ = 0;
  std::uint64_t bytes_under_way_ = 0;
  bool in_order_under_way_ = false;  // a job that next_in_order() gave out
  std::uint64_t collections_changed_ = 0, collections_uploaded_ = 0;
  bool finishing_ = false, ends_ = false, ended_ = false;
};

}  // namespace cupel::delivery_detail
