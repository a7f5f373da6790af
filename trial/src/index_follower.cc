// Following one index file.
//
// While a segment is open its file is appended to; when it is sealed a complete file takes its
// place, with the same rows in other batches. Between two looks at the file either may happen, also
// between its size being taken and its bytes being read. So a file is known by its identity: a new
// one is read from its beginning by a new reader, and the rows known already are passed over. A
// read that does not come out clean is judged only after another look at the file: if that shows a
// new identity, the read is repeated.
//
// A writer seals a segment before it begins the next. Therefore a segment with a successor is
// looked at once more and is then done with; if it is not sealed it is damaged, unless a later
// attempt says that its writer died. Only the last segment of a worker is looked at again and
// again.

#include "index_follower.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace cupel::trial_detail {

namespace {

constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max();

constexpr std::size_t kMaxLastRows = 1024;

}  // namespace

struct IndexFollower::Worker::Segment {
  SegmentName name;
  std::string key;
  ObjectInfo listed = {};
  std::unique_ptr<IndexReader> reader = {};
  std::string identity = {};
  std::uint64_t size = 0;  // when last looked at
  SegmentEnd end = SegmentEnd::Torn;
  std::int64_t rows = 0;          // known
  std::int64_t rows_to_skip = 0;  // of the known ones, in a file that took the place of another
  std::int64_t last_step = -1;
  const SegmentFiles* files = nullptr;  // made with the first rows
  bool beginning_is_checked = false;    // of what the reader reads
  bool was_missed_before = false;       // a segment before this one was looked for
};

IndexFollower::IndexFollower(const Store& store, RunLook& look, const TrialClock& clock,
                             IndexData& data, const TrialOptions& options)
    : store_(store),
      look_(look),
      clock_(clock),
      walker_(store, static_cast<std::size_t>(options.requests_at_once)),
      data_(data),
      range_begin_(options.range_steps.begin.value_or(0)),
      range_end_(options.range_steps.end.value_or(kFarthest)) {}

IndexFollower::~IndexFollower() = default;

std::vector<std::string> IndexFollower::listing_begins() const {
  std::vector<std::string> begins;
  for (const auto& [name, worker] : workers_) {
    begins.push_back(worker.newest_key_);
    // What is only put whole is listed again while it may be put anew.
    if (store_.can_append() || worker.open_.empty()) continue;
    begins.back() = worker.open_.begin()->first;
    begins.back().pop_back();
  }
  return begins;
}

bool IndexFollower::follow(bool run_ended, const RunCollections& collections) {
  struct RestAtEnd {
    IndexWalker& walker;
    ~RestAtEnd() { walker.rest(); }
  } const rest{walker_};
  news_ = false;
  collections_ = &collections;
  list_new();
  walker_.will_walk(unread_files());
  for (auto& [name, worker] : workers_) {
    const auto file = collections.files().find(name);
    follow_worker(worker, run_ended,
                  file == collections.files().end() ? -1 : file->second.content.attempt);
  }
  return news_;
}

void IndexFollower::list_new() {
  // A directory that changes while it is read may hide a file that is being renamed; whatever has a
  // successor by now was renamed before the second look begins.
  if (add_listed(look_.index_files()) && store_.can_append()) add_listed(look_.index_files());
}

bool IndexFollower::add_listed(const std::vector<ObjectInfo>& listed) {
  bool any = false;
  for (const ObjectInfo& info : listed) {
    const std::optional<SegmentName> name = SegmentName::parse_index_key(info.key);
    if (!name) continue;
    Worker& worker = workers_[name->worker];
    if (info.key <= worker.newest_done_) continue;
    worker.newest_key_ = std::max(worker.newest_key_, info.key);
    const auto [segment, is_new] = worker.open_.try_emplace(info.key, Segment{*name, info.key});
    segment->second.listed = info;
    if (!is_new) continue;
    listed_bytes_ += info.size;
    any = true;
  }
  return any;
}

/// In the order in which they will be followed.
std::vector<ObjectInfo> IndexFollower::unread_files() const {
  std::vector<ObjectInfo> files;
  for (const auto& [name, worker] : workers_) {
    for (auto at = worker.open_.begin(); at != worker.open_.end(); ++at) {
      const auto second = std::next(at);
      const Segment* const next = second == worker.open_.end() ? nullptr : &second->second;
      const Segment& segment = at->second;
      if (!segment.reader && worker.damaged_attempt_ != segment.name.attempt &&
          !outside_range(segment, next))
        files.push_back(segment.listed);
    }
  }
  return files;
}

/// `newest_attempt` may not have committed anything.
void IndexFollower::follow_worker(Worker& worker, bool run_ended, std::int32_t newest_attempt) {
  while (!worker.open_.empty()) {
    Segment& segment = worker.open_.begin()->second;
    const auto second = std::next(worker.open_.begin());
    const Segment* next = second == worker.open_.end() ? nullptr : &second->second;
    const bool last_of_attempt = next == nullptr || next->name.attempt != segment.name.attempt;
    if (worker.damaged_attempt_ != segment.name.attempt) {
      try {
        if (outside_range(segment, next)) {
          pass_over(worker, segment);
        } else {
          look_again(worker, segment);
          const bool is_newest = next == nullptr && newest_attempt <= segment.name.attempt;
          const bool must_be_sealed = !last_of_attempt || (is_newest && run_ended);
          if (must_be_sealed && segment.end != SegmentEnd::Sealed)
            throw not_sealed(segment.key, segment.reader.get(), segment.end);
        }
      } catch (const MissesPredecessor&) {
        if (const auto again = look_.list_again(worker.newest_done_)) add_listed(*again);
        continue;
      } catch (const FormatError& error) {
        worker.damaged_attempt_ = segment.name.attempt;
        damage_.push_back(error);
        needs_collections_ = true;  // the run may have been replaced
      }
    }
    const bool done = next != nullptr || run_ended || segment.end == SegmentEnd::Sealed ||
                      worker.damaged_attempt_ == segment.name.attempt;
    if (!done) return;
    worker.newest_done_ = segment.key;
    worker.open_.erase(worker.open_.begin());
  }
}

/// Whether no row of the segment can be in the range, as far as names tell.
bool IndexFollower::outside_range(const Segment& segment, const Segment* next) const noexcept {
  if (segment.rows > 0) return false;
  if (segment.name.first_step >= range_end_) return true;
  return next != nullptr && next->name.attempt == segment.name.attempt &&
         next->name.first_step <= range_begin_;
}

void IndexFollower::pass_over(Worker& worker, const Segment& segment) {
  if (segment.name.attempt < worker.attempt) return;
  worker.numbered_attempt_ = segment.name.attempt;
  worker.next_number_.reset();
  begin_attempt(worker, segment.name.attempt, segment.name.first_step);
  // The segment began after everything in the range, or is followed by one that begins before it:
  // the worker is known to have come this far.
  const std::int64_t reached =
      segment.name.first_step >= range_end_ ? range_end_ - 1 : segment.name.first_step;
  if (reached <= worker.progress) return;
  worker.progress = reached;
  news_ = true;
}

/// Brings the segment up to date with its file as it is now.
void IndexFollower::look_again(Worker& worker, Segment& segment) {
  const std::optional<ObjectInfo> info = look_.index_file(segment.listed);
  if (!info) throw FormatError(segment.key, 0, "the index file was there and is gone");
  if (segment.reader && info->identity == segment.identity && info->size == segment.size) return;
  read(worker, segment, *info);
}

void IndexFollower::read(Worker& worker, Segment& segment, ObjectInfo info) {
  for (int repeat = 0;; ++repeat) {
    if (!segment.reader || info.identity != segment.identity) {
      segment.reader = std::make_unique<IndexReader>(segment.key);
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
    if (clean) return note_size(segment, info.size);

    const std::optional<ObjectInfo> now = store_.stat(segment.key);
    if (!now && failure) throw *failure;
    if (!now) throw FormatError(segment.key, 0, "the index file was removed while it was read");
    const bool replaced = now->identity != segment.identity;
    if (!replaced && damage) throw *damage;
    if (!replaced && failure) throw *failure;
    if (!replaced && now->size < segment.reader->consumed())
      throw FormatError(segment.key, now->size, "the index file has become shorter");
    // A torn end is fine for now: whoever called knows whether more may come.
    if (!replaced && (now->size <= info.size || repeat >= kMaxRepeats))
      return note_size(segment, info.size);
    info = *now;
  }
}

void IndexFollower::note_size(Segment& segment, std::uint64_t size) {
  index_bytes_ = index_bytes_ - segment.size + size;
  segment.size = size;
}

/// Takes what the file holds up to `size`.
WalkEnd IndexFollower::read_to(Worker& worker, Segment& segment, std::uint64_t size) {
  const auto take_batch = [&](const IndexBatch& batch) { take(worker, segment, batch); };
  WalkEnd walk;
  try {
    walk = segment.rows_to_skip > 0
               ? walker_.walk_again(segment.key, *segment.reader, size, take_batch)
               : walker_.walk(segment.key, *segment.reader, size, take_batch);
  } catch (const FormatError&) {
    throw;
  } catch (const StoreError&) {
    throw;  // everything that the reader has passed was taken
  } catch (...) {
    segment.reader.reset();  // the next one passes over what was taken
    throw;
  }
  if (walk.end == SegmentEnd::Sealed && !walk.came_short && segment.rows_to_skip > 0)
    throw FormatError(segment.key, segment.reader->consumed(),
                      "the sealed segment lacks rows that it had while it was open");
  return walk;
}

/// Looks at what a file says of itself and of the run, before any of its rows is taken.
void IndexFollower::check_beginning(Worker& worker, Segment& segment) {
  if (segment.beginning_is_checked) return;
  check_run(worker, segment);
  if (!store_.can_append()) check_number(worker, segment);
  check_collections(worker, segment);
  segment.beginning_is_checked = true;
}

/// A worker writes its segments in order and numbers them, so the one before a missing number is
/// there though the listing did not have it: listings are not made at one moment, and where a
/// worker was far behind the others, they did not begin before it.
void IndexFollower::check_number(Worker& worker, Segment& segment) {
  const std::int64_t number = segment.reader->identity()->segment;
  const bool goes_on = worker.numbered_attempt_ == segment.name.attempt;
  const std::int64_t expected = goes_on ? worker.next_number_.value_or(number) : 0;
  if (number > expected && !std::exchange(segment.was_missed_before, true))
    throw MissesPredecessor{};
  worker.numbered_attempt_ = segment.name.attempt;
  worker.next_number_ = number + 1;
}

/// Asks for the collections files anew unless the worker's is known to be the one that the segment
/// needs, or a later one, by the segment before.
void IndexFollower::check_collections(Worker& worker, const Segment& segment) {
  const std::optional<std::uint32_t>& named = segment.reader->collections_crc32c();
  const auto file = collections_->files().find(segment.name.worker);
  const bool has_file =
      file != collections_->files().end() && file->second.content.attempt >= segment.name.attempt;
  const bool is_known =
      named && (*named == worker.collections_crc32c_ || *named == file->second.crc32c);
  if (!has_file || !is_known) needs_collections_ = true;
  worker.collections_crc32c_ = named;
}

/// All files of an attempt are of one run; one that is not has taken the place of another.
void IndexFollower::check_run(Worker& worker, const Segment& segment) {
  const std::string& run = segment.reader->identity()->run;
  if (worker.run_attempt_ != segment.name.attempt) {
    const auto file = collections_->files().find(segment.name.worker);
    if (file != collections_->files().end() &&
        file->second.content.attempt == segment.name.attempt && !file->second.content.run.empty() &&
        file->second.content.run != run)
      throw FormatError(segment.key, 0,
                        "the file is of run " + run +
                            ", and the worker's collections file of run " +
                            file->second.content.run);
    worker.run_attempt_ = segment.name.attempt;
    worker.run_ = run;
  }
  if (run != worker.run_)
    throw FormatError(
        segment.key, 0,
        "the file is of run " + run + ", and what was read before it of run " + worker.run_);
}

void IndexFollower::take(Worker& worker, Segment& segment, const IndexBatch& batch) {
  check_beginning(worker, segment);
  block_ = nullptr;
  if (progress_) progress_(index_bytes_ + batch.message_offset, listed_bytes_);
  for (std::size_t first = 0; first < batch.rows;) {
    std::size_t last = first + 1;
    while (last < batch.rows && batch.step[last] == batch.step[first]) ++last;
    const auto rows = static_cast<std::int64_t>(last - first);
    if (segment.rows_to_skip > 0) {
      segment.rows_to_skip -= rows;
      if (segment.rows_to_skip < 0 ||
          (segment.rows_to_skip == 0 && batch.step[first] != segment.last_step))
        throw FormatError(segment.key, batch.message_offset,
                          "the sealed segment has other rows than it had while it was open");
    } else {
      take_step(worker, segment, batch, first, last);
      segment.rows += rows;
      segment.last_step = batch.step[first];
    }
    first = last;
  }
}

void IndexFollower::take_step(Worker& worker, Segment& segment, const IndexBatch& batch,
                              std::size_t first, std::size_t last) {
  const StepHeader header = batch.header(first);
  begin_attempt(worker, segment.name.attempt, header.step);
  if (segment.name.attempt < worker.attempt)
    return;  // an attempt that is over, and was hidden here
  if (header.step <= worker.progress)
    throw FormatError(segment.key, batch.message_offset,
                      "the segment begins before the end of the one before it");
  // Also outside the range: a file names what its tensors joined once.
  if (batch.any_joined) take_joined(worker, segment, batch, first, last);
  if (header.step < range_begin_ || header.step >= range_end_) {
    worker.progress = header.step;
    news_ = true;
    return;
  }

  if (block_ == nullptr) block_ = &data_.blocks.emplace_back(batch);
  if (segment.files == nullptr) {
    SegmentFiles& files = data_.files.next();
    files.index_key = segment.key;
    files.events_key = segment.name.events_key();
    files.seen = clock_.now();
    segment.files = &files;
  }
  StepRows rows{.step = header.step,
                .mode_step = header.mode_step,
                .time_us = header.time_us,
                .value_bytes = 0,
                .block = block_,
                .layout = data_.layouts.intern(batch, first, last, worker.layout_hint_),
                .files = segment.files,
                .first_row = static_cast<std::uint32_t>(first),
                .mode = header.mode};
  fill_forms(worker, batch, rows);
  const std::size_t reserved = first + rows.layout->before_reserved().size();
  const std::size_t after = last - rows.layout->after_reserved().size();
  for (std::size_t row = first; row < last; ++row)
    if (row < reserved || row >= after) rows.value_bytes += block_->value_bytes(row);
  worker.steps->append(rows);
  worker.progress = header.step;
  news_ = true;
}

/// No attempt of a worker has more collections than a hook may have, whatever its rows say.
void IndexFollower::take_joined(Worker& worker, const Segment& segment, const IndexBatch& batch,
                                std::size_t first, std::size_t last) {
  for (std::size_t row = first; row < last; ++row)
    batch.for_each_joined(row, [&](std::string_view collection) {
      if (data_.joined.add(data_.names.intern(batch.tensor(row)), collection) &&
          ++worker.new_collections_ > kMostCollections)
        throw FormatError(segment.key, batch.message_offset,
                          "tensors join more than " + std::to_string(kMostCollections) +
                              " collections that nobody named before");
    });
}

void IndexFollower::fill_forms(Worker& worker, const IndexBatch& batch, const StepRows& rows) {
  if (worker.last_rows_.size() >= kMaxLastRows) worker.last_rows_.clear();
  auto& [last_block, last_first] = worker.last_rows_[rows.layout];
  for (std::size_t i = 0; i < rows.layout->size(); ++i) {
    std::optional<std::uint32_t> guess;
    if (last_block != nullptr) guess = last_block->form(last_first + i);
    block_->set_form(rows.first_row + i, data_.forms.intern(batch, rows.first_row + i, guess));
  }
  last_block = rows.block;
  last_first = rows.first_row;
}

/// Hides what earlier attempts of the worker committed at `step` and behind it.
void IndexFollower::begin_attempt(Worker& worker, std::int32_t attempt, std::int64_t step) {
  if (attempt <= worker.attempt) return;
  worker.attempt = attempt;
  worker.new_collections_ = 0;
  const std::size_t known = worker.steps->sizes().steps;
  const std::size_t kept = worker.steps->count_until(step - 1, known);
  if (kept < known) rewinds_.push_back(worker.steps->step(kept).step);
  if (worker.progress >= step) {
    worker.steps = worker.steps->before(step);
    worker.progress = step - 1;
    news_ = true;
  }
}

}  // namespace cupel::trial_detail
