#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cupel/delivery/segment_events.h"
#include "cupel/format/events_writer.h"
#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"
#include "cupel/store/store.h"
#include "cupel/writer/hook_options.h"
#include "step_record.h"

namespace cupel::writer_detail {

// Which worker's files are written, and when they are cut.
struct SegmentPolicy {
  std::string run;
  std::string worker;
  std::int32_t attempt = 0;
  std::uint32_t collections_crc32c = 0;  // of the collections file that was written at the start
  ReductionSet columns;
  std::uint64_t segment_bytes = 0;
  std::chrono::milliseconds segment_age{};
  Sync sync = Sync::Seal;
  // The delivery of the run to a remote store, and the local store in its spool, which the segments
  // are written to. Null where the segments are written to a store that can append.
  SegmentEvents* events = nullptr;
  LocalStore* spool = nullptr;
};

// Writes the segments of one worker one after another: values, then the index entry that makes
// their step exist, then, between steps, the seal. Values and entries gather in memory until
// flush(): where the store is slow, one write takes several steps. A new segment begins with the
// first value or step after a seal. One thread. StoreError from any call leaves the committed steps
// as they are; nothing may be called after it, but give_up_gathered() after StoreFull.
class SegmentWriter {
 public:
  using Clock = std::chrono::steady_clock;

  SegmentWriter(Store& store, SegmentPolicy policy) : store_(store), policy_(std::move(policy)) {}

  // Writes values that lie one after another in `data` as one batch of the step, and sets their
  // locations. `data` does not change until flush().
  void write_values(std::int64_t step, std::span<Record* const> values,
                    std::span<const std::byte> data);

  // The same for one value in pieces, which are written at once.
  void begin_stream(std::int64_t step, Record& value);
  void stream(std::span<const std::byte> piece);
  void end_stream(std::uint64_t missing);  // writes so many missing bytes as zeros

  // Makes the step exist with the next flush(). The records are sorted by name, without duplicates,
  // and not empty. Where readers refuse so many rows at once, nothing has happened: returns the
  // bytes of the rows.
  std::optional<std::uint64_t> commit(const StepHeader& step,
                                      std::span<const Record* const> records);
  // The step whose values were written will not exist. The values stay in the file, unreferenced. A
  // segment that was begun for them is removed, because a segment is named after its first step.
  void abandon_step();

  // Whether writing goes on after StoreFull, by give_up_gathered(): deliveries may make room. Else
  // a full store ends saving.
  bool survives_full_store() const noexcept { return policy_.events != nullptr; }
  // After StoreFull: gives up all steps that have gathered, and the values of the step that is
  // under way. The open segment ends with its last committed step. It is cut off, and sealed from
  // its files when segment_age is over, or before the next segment begins.
  void give_up_gathered();

  // Adds a step with nothing but one text, of at most 48 bytes. May be called after an error.
  // Throws StoreError where the error left anything behind the last committed step: a reader takes
  // that for a step to come only as long as nothing follows.
  void append_note(const StepHeader& step, std::string_view tensor, const std::string& text);

  // Writes the gathered values, then the gathered index entries.
  void flush();
  std::size_t gathered_bytes() const noexcept { return gathered_bytes_; }
  // Whether there are steps that no flush() has brought into the index file.
  bool has_gathered_steps() const noexcept { return open_ && open_->gathered_steps > 0; }

  // Seals the open segment, if any, and makes it durable as policy.sync asks. Between steps, and
  // after a flush().
  void seal();

  // Whether the segment should be sealed now: it is large enough with the gathered steps, it is as
  // old as segment_age, room is short, or a cut-off segment is to be tried again.
  bool due_for_sealing(Clock::time_point now) const;
  // Returns when due_for_sealing() will be true by age; nothing where there is no segment.
  std::optional<Clock::time_point> sealing_time() const;

 private:
  struct Open {
    Open(const SegmentName& segment_name, const SegmentIdentity& identity, ReductionSet columns)
        : name(segment_name), index(identity, columns), events(identity) {}
    SegmentName name;
    IndexWriter index;
    std::uint64_t index_size = 0;
    std::size_t steps = 0;  // in the index file
    bool ahead = false;     // the encoder is ahead of the file
    std::size_t gathered_steps = 0;
    std::vector<std::byte> gathered_index;
    std::optional<std::uint64_t> sealed_size;  // of the index file that may have replaced this one
    EventsWriter events;
    std::uint64_t events_size = 0;
    std::uint64_t events_batches = 0;
    std::uint64_t number = 0;  // of the files that this object began
    Clock::time_point since = Clock::now();
  };
  Open& open(std::int64_t step);
  template <class Write>
  void write_with_room(std::uint64_t bytes, Write&& write);
  void go_on_after_error();
  void finish_cut_off();
  std::span<const std::string> unnamed_tags(const NamedTensor& tensor) const;
  void write_batch(std::int64_t step, std::span<Record* const> values,
                   std::span<const std::byte> data);
  void gather_index(const StepHeader& step, std::span<const IndexRow> rows);
  void gather_events(std::vector<std::byte> bytes);
  void forget_gathered();
  void flush_events();
  bool is_between_steps() const noexcept;

  Store& store_;
  SegmentPolicy policy_;
  std::int64_t next_segment_ = 0;
  std::uint64_t files_begun_ = 0;
  std::optional<Open> open_;
  struct CutOff {
    SegmentName name;
    Clock::time_point try_at;
  };
  std::optional<CutOff> cut_off_;  // is sealed before another segment begins
  bool is_short_of_room_ = false;  // after the last write
  std::int64_t last_step_ = -1;    // in an index file
  std::int64_t newest_step_ = -1;  // encoded
  bool inside_step_ = false;  // values of a step that is not committed yet are in the open segment
  std::size_t stream_padding_ = 0;
  std::vector<std::span<const std::byte>> gathered_events_;
  std::list<std::vector<std::byte>> gathered_headers_;  // what lies between values
  std::size_t gathered_bytes_ = 0;
};

}  // namespace cupel::writer_detail
