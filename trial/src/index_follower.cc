// Following the index files of a run.
//
// While a segment is open, its writer appends to the index file; when the writer seals the segment,
// a complete file with the same rows in other batches replaces it. Either may happen between two
// polls, and also between taking the file's size and reading its bytes. So a file is known by its
// identity: a file with a new identity is read from its beginning by a new reader, and the rows
// that are known already are skipped. Where a read ends torn, short or in an error, the file is
// asked for once more, and if its identity is new, the read is repeated.
//
// A writer seals a segment before it begins the next. Therefore a segment with a successor is read
// once more and is then finished; if it is not sealed it is damaged, unless a later attempt shows
// that its writer died. Only the last segment of a worker is polled again and again.
//
// The refreshing thread runs all of it. A StoreError leaves what was read; the next call goes on
// from there.

#include "index_follower.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cupel::trial_detail {

struct IndexFollower::Segment {
  SegmentName name;
  IndexBuilder::Origin origin;
  ObjectInfo listed = {};
  std::unique_ptr<IndexReader> reader = {};
  std::string identity = {};
  std::uint64_t size = 0;  // at the last poll
  SegmentEnd end = SegmentEnd::Torn;
  std::int64_t rows = 0;          // known
  std::int64_t rows_to_skip = 0;  // of the known ones, in a file that replaced another
  std::int64_t last_step = -1;
  bool beginning_is_checked = false;  // of the file that the reader reads
  bool was_missed_before = false;     // a segment before this one was searched for

  const std::string& key() const noexcept { return origin.index_key; }
};

/// The index files of one worker, as far as they are known.
struct IndexFollower::Worker {
  const std::string& name;
  const IndexState::Worker& state;
  std::map<std::string, Segment> open = {};  // by key: listed, and may still change
  std::string newest_key = {};               // of all listed files
  std::string newest_done = {};              // every file up to this key is finished
  std::optional<std::int32_t> damaged_attempt = std::nullopt;
  std::int32_t numbered_attempt = -1;
  std::optional<std::int64_t> next_number = std::nullopt;  // of the segments of numbered_attempt
  std::optional<std::uint32_t> collections_crc32c = std::nullopt;  // named by the segment before
  std::string run = {};                                            // of the files of run_attempt
  std::int32_t run_attempt = -1;
};

IndexFollower::IndexFollower(const Store& store, RunPoll& poll, IndexBuilder& builder,
                             IndexState& state, std::size_t requests_at_once)
    : store_(store),
      poll_(poll),
      builder_(builder),
      state_(state),
      walker_(store, requests_at_once) {}

IndexFollower::~IndexFollower() = default;

std::vector<std::string> IndexFollower::listing_begins() const {
  std::vector<std::string> begins;
  for (const auto& [name, worker] : workers_) {
    begins.push_back(worker.newest_key);
    // In a store that replaces whole objects, an open segment may be put again: it is listed again.
    if (store_.can_append() || worker.open.empty()) continue;
    begins.back() = worker.open.begin()->first;
    begins.back().pop_back();
  }
  return begins;
}

bool IndexFollower::follow(bool run_ended, const RunCollections& collections,
                           const IndexSource::Progress& progress) {
  struct RestAtEnd {
    IndexWalker& walker;
    ~RestAtEnd() { walker.rest(); }
  } const rest{walker_};
  static_cast<void>(builder_.take_news());  // of a call that ended by an exception
  collections_ = &collections;
  progress_ = &progress;
  list_new();
  walker_.will_walk(unread_files());
  for (auto& [name, worker] : workers_) {
    const auto file = collections.files().find(name);
    follow_worker(worker, run_ended,
                  file == collections.files().end() ? -1 : file->second.content.attempt);
  }
  return builder_.take_news();
}

void IndexFollower::list_new() {
  // The listing of a directory may miss a file that is being renamed meanwhile. A file that has a
  // successor in the first listing was renamed before the second listing begins.
  if (add_listed(poll_.index_files()) && store_.can_append()) add_listed(poll_.index_files());
}

IndexFollower::Worker& IndexFollower::worker_of(const std::string& name) {
  const auto known = workers_.find(name);
  if (known != workers_.end()) return known->second;
  const auto state = state_.workers.try_emplace(name).first;
  return workers_.emplace(name, Worker{state->first, state->second}).first->second;
}

/// Whether any of the files is new.
bool IndexFollower::add_listed(const std::vector<ObjectInfo>& listed) {
  bool any = false;
  for (const ObjectInfo& info : listed) {
    const std::optional<SegmentName> name = SegmentName::parse_index_key(info.key);
    if (!name) continue;
    Worker& worker = worker_of(name->worker);
    if (info.key <= worker.newest_done) continue;
    worker.newest_key = std::max(worker.newest_key, info.key);
    const auto [segment, is_new] =
        worker.open.try_emplace(info.key, Segment{*name, {info.key, name->events_key()}});
    segment->second.listed = info;
    if (!is_new) continue;
    listed_bytes_ += info.size;
    any = true;
  }
  return any;
}

/// The files that are not read yet, in the order in which they will be followed.
std::vector<ObjectInfo> IndexFollower::unread_files() const {
  std::vector<ObjectInfo> files;
  for (const auto& [name, worker] : workers_) {
    for (auto at = worker.open.begin(); at != worker.open.end(); ++at) {
      const auto second = std::next(at);
      const Segment* const next = second == worker.open.end() ? nullptr : &second->second;
      const Segment& segment = at->second;
      if (!segment.reader && worker.damaged_attempt != segment.name.attempt &&
          !outside_range(segment, next))
        files.push_back(segment.listed);
    }
  }
  return files;
}

/// `newest_attempt` is that of the collections file, and may not have committed anything.
void IndexFollower::follow_worker(Worker& worker, bool run_ended, std::int32_t newest_attempt) {
  while (!worker.open.empty()) {
    Segment& segment = worker.open.begin()->second;
    const auto second = std::next(worker.open.begin());
    const Segment* next = second == worker.open.end() ? nullptr : &second->second;
    const bool last_of_attempt = next == nullptr || next->name.attempt != segment.name.attempt;
    if (worker.damaged_attempt != segment.name.attempt) {
      try {
        if (outside_range(segment, next)) {
          pass_over(worker, segment);
        } else {
          update(worker, segment);
          const bool is_newest = next == nullptr && newest_attempt <= segment.name.attempt;
          const bool must_be_sealed = !last_of_attempt || (is_newest && run_ended);
          if (must_be_sealed && segment.end != SegmentEnd::Sealed)
            throw not_sealed(segment.key(), segment.reader.get(), segment.end);
        }
      } catch (const MissesPredecessor&) {
        if (const auto again = poll_.list_again(worker.newest_done)) add_listed(*again);
        continue;
      } catch (const FormatError& error) {
        worker.damaged_attempt = segment.name.attempt;
        damage_.push_back(error);
        needs_collections_ = true;  // the run may have been replaced
      }
    }
    const bool done = next != nullptr || run_ended || segment.end == SegmentEnd::Sealed ||
                      worker.damaged_attempt == segment.name.attempt;
    if (!done) return;
    worker.newest_done = segment.key();
    worker.open.erase(worker.open.begin());
  }
}

/// Whether no row of the segment can be in the range, by the names of the segment and the next one.
bool IndexFollower::outside_range(const Segment& segment, const Segment* next) const noexcept {
  if (segment.rows > 0) return false;
  if (segment.name.first_step >= builder_.range_end()) return true;
  return next != nullptr && next->name.attempt == segment.name.attempt &&
         next->name.first_step <= builder_.range_begin();
}

void IndexFollower::pass_over(Worker& worker, const Segment& segment) {
  if (segment.name.attempt < worker.state.attempt) return;
  worker.numbered_attempt = segment.name.attempt;
  worker.next_number.reset();
  builder_.begin_attempt(worker.name, segment.name.attempt, segment.name.first_step);
  // The segment begins behind the range, or the next one begins before the range: the worker has
  // committed everything up to there.
  const std::int64_t reached = segment.name.first_step >= builder_.range_end()
                                   ? builder_.range_end() - 1
                                   : segment.name.first_step;
  builder_.advance(worker.name, reached);
}

/// Reads what is new in the segment's file.
void IndexFollower::update(Worker& worker, Segment& segment) {
  const std::optional<ObjectInfo> info = poll_.index_file(segment.listed);
  if (!info) throw FormatError(segment.key(), 0, "the index file was there and is gone");
  if (segment.reader && info->identity == segment.identity && info->size == segment.size) return;
  read(worker, segment, *info);
}

void IndexFollower::read(Worker& worker, Segment& segment, ObjectInfo info) {
  for (int repeat = 0;; ++repeat) {
    if (!segment.reader || info.identity != segment.identity) {
      segment.reader = std::make_unique<IndexReader>(segment.key());
      segment.identity = info.identity;
      segment.rows_to_skip = segment.rows;
      segment.beginning_is_checked = false;
    }
    WalkEnd walk;
    std::optional<FormatError> damage;
    std::optional<StoreError> failure;
    try {
      walk = read_to(worker, segment, info.size);
      segment.end = walk.end;
    } catch (const FormatError& error) {
      damage = error;
    } catch (const StoreError& error) {
      failure = error;
    }
    const bool clean = !damage && !failure && !walk.came_short && segment.end != SegmentEnd::Torn;
    if (clean) return set_size(segment, info.size);

    const std::optional<ObjectInfo> now = store_.stat(segment.key());
    if (!now && failure) throw *failure;
    if (!now) throw FormatError(segment.key(), 0, "the index file was removed while it was read");
    const bool replaced = now->identity != segment.identity;
    if (!replaced && damage) throw *damage;
    if (!replaced && failure) throw *failure;
    if (!replaced && now->size < segment.reader->consumed())
      throw FormatError(segment.key(), now->size, "the index file has become shorter");
    // The caller decides whether a torn end is damage: it knows whether more may come.
    if (!replaced && (now->size <= info.size || repeat >= kMaxRepeats))
      return set_size(segment, info.size);
    info = *now;
  }
}

void IndexFollower::set_size(Segment& segment, std::uint64_t size) {
  state_.index_bytes = state_.index_bytes - segment.size + size;
  segment.size = size;
}

/// Reads the file up to `size`, and appends its new rows.
WalkEnd IndexFollower::read_to(Worker& worker, Segment& segment, std::uint64_t size) {
  const auto take_batch = [&](const IndexBatch& batch) { take(worker, segment, batch); };
  WalkEnd walk;
  try {
    walk = segment.rows_to_skip > 0
               ? walker_.walk_again(segment.key(), *segment.reader, size, take_batch)
               : walker_.walk(segment.key(), *segment.reader, size, take_batch);
  } catch (const FormatError&) {
    throw;
  } catch (const StoreError&) {
    throw;  // All batches that the reader has passed were taken.
  } catch (...) {
    segment.reader.reset();  // The next reader skips the rows that were taken.
    throw;
  }
  if (walk.end == SegmentEnd::Sealed && !walk.came_short && segment.rows_to_skip > 0)
    throw FormatError(segment.key(), segment.reader->consumed(),
                      "the sealed segment lacks rows that it had while it was open");
  return walk;
}

/// Checks the identity of a file before any of its rows is taken.
void IndexFollower::check_beginning(Worker& worker, Segment& segment) {
  if (segment.beginning_is_checked) return;
  check_run(worker, segment);
  if (!store_.can_append()) check_number(worker, segment);
  check_collections(worker, segment);
  segment.beginning_is_checked = true;
}

/// A worker writes its segments in order and numbers them. If a number is missing, its segment is
/// there though the listing missed it: a listing is not made at one moment, and where a worker is
/// far behind the others, the listing began after its files.
void IndexFollower::check_number(Worker& worker, Segment& segment) {
  const std::int64_t number = segment.reader->identity()->segment;
  const bool goes_on = worker.numbered_attempt == segment.name.attempt;
  const std::int64_t expected = goes_on ? worker.next_number.value_or(number) : 0;
  if (number > expected && !std::exchange(segment.was_missed_before, true))
    throw MissesPredecessor{};
  worker.numbered_attempt = segment.name.attempt;
  worker.next_number = number + 1;
}

/// Has the collections files read again, unless the worker's file is known to be the one that the
/// segment needs, or a later one that the segment before named.
void IndexFollower::check_collections(Worker& worker, const Segment& segment) {
  const std::optional<std::uint32_t>& named = segment.reader->collections_crc32c();
  const auto file = collections_->files().find(segment.name.worker);
  const bool has_file =
      file != collections_->files().end() && file->second.content.attempt >= segment.name.attempt;
  const bool is_known =
      named && (*named == worker.collections_crc32c || *named == file->second.crc32c);
  if (!has_file || !is_known) needs_collections_ = true;
  worker.collections_crc32c = named;
}

/// All files of an attempt belong to one run; a file of another run has replaced one of them.
void IndexFollower::check_run(Worker& worker, const Segment& segment) {
  const std::string& run = segment.reader->identity()->run;
  if (worker.run_attempt != segment.name.attempt) {
    const auto file = collections_->files().find(segment.name.worker);
    if (file != collections_->files().end() &&
        file->second.content.attempt == segment.name.attempt && !file->second.content.run.empty() &&
        file->second.content.run != run)
      throw FormatError(segment.key(), 0,
                        "the file is of run " + run +
                            ", and the worker's collections file of run " +
                            file->second.content.run);
    worker.run_attempt = segment.name.attempt;
    worker.run = run;
  }
  if (run != worker.run)
    throw FormatError(
        segment.key(), 0,
        "the file is of run " + run + ", and what was read before it of run " + worker.run);
}

void IndexFollower::take(Worker& worker, Segment& segment, const IndexBatch& batch) {
  check_beginning(worker, segment);
  builder_.begin_batch();
  if (*progress_) (*progress_)(state_.index_bytes + batch.message_offset, listed_bytes_);
  for_each_step(batch, [&](std::size_t first, std::size_t last) {
    const auto rows = static_cast<std::int64_t>(last - first);
    if (segment.rows_to_skip > 0) {
      segment.rows_to_skip -= rows;
      if (segment.rows_to_skip < 0 ||
          (segment.rows_to_skip == 0 && batch.step[first] != segment.last_step))
        throw FormatError(segment.key(), batch.message_offset,
                          "the sealed segment has other rows than it had while it was open");
      return;
    }
    builder_.append_step(worker.name, segment.name.attempt, segment.origin, batch, first, last);
    segment.rows += rows;
    segment.last_step = batch.step[first];
  });
}

}  // namespace cupel::trial_detail
