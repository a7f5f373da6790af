// Salvaging a run, one segment after another.
//
// The index file of a segment is read as far as its batches are undamaged, the values of their rows
// are copied one by one into a new events file, and the rows are sealed with the new places. The
// attempts of a worker are taken from the last to the first: an attempt that begins at a step hides
// the rows of earlier attempts from there on, also if its own first rows are lost. The collections
// files are read again at the end, because a growing run names the collections of a tensor before
// the step that needs them.
//
// The calling thread does all of it. Damage never ends the call, it becomes an entry of left_out;
// an error of a store ends it.

#include "cupel/trial/salvage_run.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "cupel/core/aligned_buffer.h"
#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/events_writer.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/index_salvage.h"
#include "index_walk.h"
#include "run_listing.h"

namespace cupel {

namespace {

using trial_detail::RunListing;

constexpr std::uint64_t kEventsBatchBytes = std::uint64_t{16} << 20U;
constexpr std::size_t kValuesListed = 100;  // of one file
constexpr std::int64_t kNothingHidden = std::numeric_limits<std::int64_t>::max();

/// Writes the events file of a segment; without a value there is no file.
class SalvagedValues {
 public:
  SalvagedValues(Store& to, std::string key, const SegmentIdentity& identity)
      : to_(to), key_(std::move(key)), writer_(identity) {}

  /// Adds a value of the step; `place` gets the offset of the value when the batch is written.
  void add(std::int64_t step, std::string_view tensor, AlignedBuffer bytes, ValueLocation& place) {
    bytes_ += bytes.size() + events_column_bytes(tensor);
    batch_.push_back({std::string(tensor), std::move(bytes), &place});
    if (bytes_ >= kEventsBatchBytes) write(step);
  }
  /// Writes the values that were added for a step.
  void write(std::int64_t step) {
    if (batch_.empty()) return;
    std::vector<EventsValue> values;
    for (const Value& value : batch_) values.push_back({value.tensor, value.bytes.size()});
    const EventsWriter::Batch described = writer_.begin_batch(step, values);
    const std::vector<std::byte> padding(described.padding);
    std::vector<std::span<const std::byte>> pieces = {described.before};
    std::uint64_t offset = described.data_offset;
    for (const Value& value : batch_) {
      pieces.push_back(value.bytes.span());
      value.place->offset = offset;
      offset += value.bytes.size();
    }
    pieces.push_back(padding);
    append(pieces);
    batch_.clear();
    bytes_ = 0;
  }
  void finish() {
    if (size_ == 0) return;
    const std::vector<std::byte> footer = writer_.finish();
    append({footer});
    to_.sync(key_);
  }

 private:
  struct Value {
    std::string tensor;
    AlignedBuffer bytes;
    ValueLocation* place;
  };

  void append(const std::vector<std::span<const std::byte>>& pieces) {
    to_.append(key_, size_, pieces);
    for (const auto& piece : pieces) size_ += piece.size();
  }

  Store& to_;
  const std::string key_;
  EventsWriter writer_;
  std::uint64_t size_ = 0;
  std::vector<Value> batch_;
  std::uint64_t bytes_ = 0;  // the size of the batch
};

class RunSalvage {
 public:
  RunSalvage(const Store& from, Store& to, const SalvageOptions& options)
      : from_(from), to_(to), options_(options) {}

  SalvageReport run();

 private:
  using Segments = std::span<const RunListing::Segment>;
  struct Attempt {
    std::int64_t hidden_from = kNothingHidden;  // later attempts hide steps from here on
    std::int64_t next_number = 0;               // of the next segment in the run that is read
    std::int64_t segments = 0;                  // the number of written segments
    std::int64_t last_step = -1;
    bool began = false;  // whether anything of it was committed
  };

  void read_collections();
  std::optional<CollectionsFile> collections_of(const std::string& worker,
                                                std::vector<std::byte>& bytes,
                                                std::string& problem) const;
  void salvage_worker(const std::string& worker, Segments segments);
  void salvage_segment(const SegmentName& name, bool must_be_sealed, Attempt& attempt);
  std::shared_ptr<const AlignedBuffer> read_index(const std::string& key) const;
  bool belongs(const SegmentName& name, const SalvagedIndex& index, const Attempt& attempt);
  void copy_values(const SegmentName& name, SalvagedRows& part, std::size_t begin, std::size_t end,
                   SalvagedValues& values);
  std::optional<AlignedBuffer> read_value(const std::string& key, const IndexBatch& batch,
                                          std::size_t row);
  void count(const SalvagedRows& part);
  void write_collections();
  void write_markers();
  void leave_out(LeftOut part) { report_.left_out.push_back(std::move(part)); }
  void done(std::uint64_t bytes);

  const Store& from_;
  Store& to_;
  const SalvageOptions& options_;
  SalvageReport report_;
  bool run_ended_ = false;
  std::vector<ObjectInfo> ended_workers_;
  RunListing listing_;
  std::map<std::string, std::uint64_t> events_;
  std::set<std::string> workers_;
  std::map<std::string, CollectionsFile> collections_;
  std::map<std::string, std::string> run_of_worker_;  // by its newest segment
  std::set<std::int64_t> steps_;
  std::map<std::string, LeftOut> more_values_;  // the values that are not listed, by file
  std::map<std::string, std::size_t> values_listed_;
  std::uint64_t done_bytes_ = 0, total_bytes_ = 0;
};

SalvageReport RunSalvage::run() {
  trial_detail::require_empty_destination(to_, "a salvaged run");
  if (!to_.can_append())
    throw UsageError("A salvaged run is written into a directory, not to " + to_.location());
  // A marker that is there before everything else is listed promises that nothing is missing.
  run_ended_ = from_.stat(kEndMarker).has_value();
  ended_workers_ = from_.list(kEndedPrefix);
  listing_ = RunListing::read(from_);
  for (const ObjectInfo& info : from_.list(kEventsPrefix)) {
    events_.emplace(info.key, info.size);
    total_bytes_ += info.size;
  }
  for (const auto& [worker, segments] : listing_.workers) {
    workers_.insert(worker);
    for (const RunListing::Segment& segment : segments) total_bytes_ += segment.size;
  }
  read_collections();
  for (const auto& [worker, segments] : listing_.workers) salvage_worker(worker, segments);
  for (auto& [file, more] : more_values_) leave_out(std::move(more));
  report_.steps = steps_.size();
  report_.stopped = options_.stop.stop_requested();
  if (report_.stopped) return std::move(report_);
  write_collections();
  write_markers();
  return std::move(report_);
}

void RunSalvage::read_collections() {
  for (const ObjectInfo& info : from_.list(kCollectionsPrefix))
    if (auto worker = parse_collections_key(info.key)) workers_.insert(*std::move(worker));
  if (workers_.empty()) throw MissingCollectionFiles(from_.location());
  for (const std::string& worker : workers_) {
    std::vector<std::byte> bytes;
    std::string problem;
    if (auto file = collections_of(worker, bytes, problem))
      collections_.emplace(worker, *std::move(file));
  }
}

/// The contents of a collections file; nothing, and `problem`, if it is damaged, too long or
/// missing.
std::optional<CollectionsFile> RunSalvage::collections_of(const std::string& worker,
                                                          std::vector<std::byte>& bytes,
                                                          std::string& problem) const {
  const std::string key = collections_key(worker);
  try {
    const std::uint64_t most = format_limits().collections_file;
    if (const auto info = from_.stat(key); info && info->size > most)
      throw FormatError(key, 0, "the file is too long");
    auto read = from_.get(key, most);
    if (!read) throw FormatError(key, 0, "the file is missing");
    CollectionsFile file = decode_collections_file(key, *read);
    if (file.worker != worker) throw FormatError(key, 0, "the file says worker " + file.worker);
    bytes = *std::move(read);
    return file;
  } catch (const FormatError& error) {
    problem = error.problem;
    return std::nullopt;
  }
}

void RunSalvage::salvage_worker(const std::string& worker, Segments segments) {
  const auto file = collections_.find(worker);
  std::int64_t hidden_from = kNothingHidden;
  std::size_t end = segments.size();
  while (end > 0) {
    const std::int32_t number = segments[end - 1].name.attempt;
    std::size_t begin = end;
    while (begin > 0 && segments[begin - 1].name.attempt == number) --begin;
    Attempt attempt{.hidden_from = hidden_from};
    for (std::size_t i = begin; i < end && !options_.stop.stop_requested(); ++i) {
      // A later attempt may have committed nothing.
      const bool is_newest = i + 1 == segments.size() &&
                             (file == collections_.end() || file->second.attempt <= number);
      salvage_segment(segments[i].name, i + 1 < end || (is_newest && run_ended_), attempt);
      const auto events = events_.find(segments[i].name.events_key());
      done(segments[i].size + (events == events_.end() ? 0 : events->second));
    }
    if (attempt.began) hidden_from = std::min(hidden_from, segments[begin].name.first_step);
    end = begin;
  }
}

void RunSalvage::salvage_segment(const SegmentName& name, bool must_be_sealed, Attempt& attempt) {
  const std::string key = name.index_key();
  const auto file = read_index(key);
  if (!file) {
    attempt.began = true;
    return leave_out({.file = key, .rows = {}, .problem = "the index file cannot be read"});
  }
  SalvagedIndex index = salvage_index(key, file);
  if (must_be_sealed && index.end != SegmentEnd::Sealed) {
    IndexGap gap{.offset = index.end == SegmentEnd::Torn ? index.whole_bytes : file->size(),
                 .problem = index.end == SegmentEnd::Torn
                                ? index.torn_reason
                                : "the segment is not sealed, though nothing more can come"};
    if (!index.batches.empty()) gap.after_step = index.batches.back().step.back();
    index.gaps.push_back(std::move(gap));
  }
  attempt.began = attempt.began || !index.batches.empty() || !index.gaps.empty();
  const bool is_ours = belongs(name, index, attempt);
  attempt.next_number = index.identity ? index.identity->segment + 1 : attempt.next_number + 1;
  if (!is_ours) return;
  for (IndexGap& gap : index.gaps)
    if (!gap.after_step || *gap.after_step < attempt.hidden_from)
      leave_out(
          {key, gap.offset, gap.rows, 0, gap.after_step, gap.before_step, std::move(gap.problem)});

  std::vector<SalvagedRows> parts;
  for (const IndexBatch& batch : index.batches) {
    const auto shown = std::ranges::lower_bound(batch.step, attempt.hidden_from);
    if (shown == batch.step.begin()) break;
    parts.push_back({&batch, {}});
    parts.back().values.resize(static_cast<std::size_t>(shown - batch.step.begin()));
  }
  if (parts.empty()) return;
  const SegmentIdentity identity{index.identity->run, name.worker, name.attempt, attempt.segments++,
                                 index.identity->format};
  const SegmentName written{name.attempt, parts.front().batch->step.front(), name.worker};
  SalvagedValues values(to_, written.events_key(), identity);
  for (SalvagedRows& part : parts) {
    const auto& steps = part.batch->step;
    for (std::size_t begin = 0, end = 0; begin < part.values.size(); begin = end) {
      end = static_cast<std::size_t>(std::ranges::upper_bound(steps.subspan(begin), steps[begin]) -
                                     steps.begin());
      copy_values(name, part, begin, end, values);
      if (options_.stop.stop_requested()) return;
    }
    count(part);
    attempt.last_step = steps[part.values.size() - 1];
  }
  values.finish();
  to_.put(written.index_key(), seal_salvaged(parts, identity.segment, std::nullopt));
  run_of_worker_.try_emplace(name.worker, identity.run);
  ++report_.segments;
}

/// All bytes of an index file that may be replaced by its sealed form meanwhile; null if it cannot
/// be read.
std::shared_ptr<const AlignedBuffer> RunSalvage::read_index(const std::string& key) const {
  for (int repeat = 0; repeat < trial_detail::kMaxRepeats; ++repeat) {
    const auto info = from_.stat(key);
    if (!info || info->size > format_limits().index_file) return nullptr;
    auto file = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(info->size));
    if (info->size > 0) file->resize(from_.get_range(key, 0, file->span()));
    const auto now = from_.stat(key);
    if (now && now->identity == info->identity) return file;
  }
  return nullptr;
}

/// Whether the rows of the segment continue those that were written of its attempt.
bool RunSalvage::belongs(const SegmentName& name, const SalvagedIndex& index,
                         const Attempt& attempt) {
  if (!index.identity) return true;
  const std::string key = name.index_key();
  const std::int64_t number = index.identity->segment;
  if (const std::int64_t missing = number - attempt.next_number; missing > 0)
    leave_out({.file = key,
               .rows = {},
               .problem = missing == 1 ? "the segment before this one is missing"
                                       : "the " + std::to_string(missing) +
                                             " segments before this one are missing"});
  const auto file = collections_.find(name.worker);
  std::string problem;
  if (file != collections_.end() && file->second.attempt == name.attempt &&
      file->second.run != index.identity->run)
    problem = "the file is of run " + index.identity->run +
              ", the worker's collections file of run " + file->second.run;
  else if (!index.batches.empty() && index.batches.front().step.front() <= attempt.last_step)
    problem = "the segment begins before the end of the one before it";
  if (problem.empty()) return true;
  std::uint64_t rows = 0;
  for (const IndexBatch& batch : index.batches) rows += batch.rows;
  leave_out({.file = key, .rows = rows, .problem = std::move(problem)});
  return false;
}

/// Copies the values of a step's rows in their order in the file.
void RunSalvage::copy_values(const SegmentName& name, SalvagedRows& part, std::size_t begin,
                             std::size_t end, SalvagedValues& values) {
  const IndexBatch& batch = *part.batch;
  const std::string key = name.events_key();
  std::vector<std::size_t> rows;
  for (std::size_t row = begin; row < end; ++row)
    if (batch.offset.has(row)) rows.push_back(row);
  std::ranges::sort(rows, {}, [&](std::size_t row) { return batch.offset[row]; });
  for (const std::size_t row : rows) {
    std::optional<AlignedBuffer> bytes = read_value(key, batch, row);
    if (!bytes) continue;
    part.values[row] = ValueLocation{0, bytes->size(), batch.crc32c[row]};
    values.add(batch.step[row], batch.tensor(row), *std::move(bytes), *part.values[row]);
  }
  values.write(batch.step[begin]);
}

/// Nothing if the value is damaged.
std::optional<AlignedBuffer> RunSalvage::read_value(const std::string& key, const IndexBatch& batch,
                                                    std::size_t row) {
  const auto offset = static_cast<std::uint64_t>(batch.offset[row]);
  const auto length = static_cast<std::uint64_t>(batch.length[row]);
  const auto inside = [&](std::uint64_t size) { return offset <= size && length <= size - offset; };
  auto known = events_.find(key);
  if (known == events_.end() || !inside(known->second)) {  // The file may have grown.
    const auto info = from_.stat(key);
    known = events_.insert_or_assign(key, info ? info->size : 0).first;
  }
  const char* problem = " lies behind the end of the file";
  if (inside(known->second)) {
    AlignedBuffer bytes(static_cast<std::size_t>(length));
    if (length > 0) bytes.resize(from_.get_range(key, offset, bytes.span()));
    if (bytes.size() == length && crc32c(bytes.span()) == batch.crc32c[row]) return bytes;
    problem = " does not have its checksum";
  }
  if (values_listed_[key]++ < kValuesListed) {
    leave_out({.file = key,
               .offset = offset,
               .rows = 0,
               .values = 1,
               .problem = "the value of " + std::string(batch.tensor(row)) + " at step " +
                          std::to_string(batch.step[row]) + problem});
  } else {
    LeftOut& more = more_values_.try_emplace(key, LeftOut{.file = key, .offset = offset, .rows = 0})
                        .first->second;
    more.problem = std::to_string(++more.values) + " more values";
  }
  return std::nullopt;
}

void RunSalvage::count(const SalvagedRows& part) {
  const IndexBatch& batch = *part.batch;
  for (std::size_t row = 0; row < part.values.size(); ++row) {
    if (is_reserved_tensor(batch.tensor(row))) continue;
    ++report_.rows;
    steps_.insert(batch.step[row]);
    if (part.values[row]) {
      report_.value_bytes += part.values[row]->length;
    } else if (batch.inline_begin.has(row)) {
      report_.value_bytes +=
          static_cast<std::uint64_t>(batch.inline_end[row] - batch.inline_begin[row]);
    } else {
      continue;
    }
    ++report_.values;
  }
}

void RunSalvage::write_collections() {
  std::vector<std::pair<std::string, std::string>> damaged;  // worker, problem
  for (const std::string& worker : workers_) {
    std::vector<std::byte> bytes;
    std::string problem;
    if (collections_of(worker, bytes, problem))
      to_.put(collections_key(worker), bytes);
    else
      damaged.emplace_back(worker, problem);
  }
  for (auto& [worker, problem] : damaged) {
    const auto run = run_of_worker_.find(worker);
    const bool is_known = run != run_of_worker_.end();
    if (!is_known && collections_.empty())
      throw Error("Nothing of the run is whole: " + from_.location());
    CollectionsFile file;
    if (!collections_.empty()) {
      file = collections_.begin()->second;
      file.steps.clear();
      problem += "; the worker got the collections of " + file.worker;
    } else {
      file.num_workers = static_cast<std::int64_t>(workers_.size());
      problem += "; the worker got no collections";
    }
    file.worker = worker;
    if (is_known) file.run = run->second;
    if (const auto segments = listing_.workers.find(worker); segments != listing_.workers.end())
      file.attempt = segments->second.back().name.attempt;
    to_.put(collections_key(worker), encode_collections_file(file));
    leave_out({.file = collections_key(worker), .rows = 0, .problem = std::move(problem)});
  }
}

void RunSalvage::write_markers() {
  std::int64_t ended = 0;
  for (const ObjectInfo& info : ended_workers_) {
    if (!workers_.contains(info.key.substr(kEndedPrefix.size()))) continue;
    to_.put(info.key, {});
    ++ended;
  }
  if (!run_ended_) return;
  const std::int64_t num_workers =
      std::max<std::int64_t>(1, trial_detail::num_workers_of(collections_));
  report_.ended = static_cast<std::int64_t>(workers_.size()) >= num_workers &&
                  (num_workers == 1 || ended >= num_workers);
  if (report_.ended)
    to_.put(kEndMarker, {});
  else
    leave_out({.file = std::string(kEndMarker),
               .rows = {},
               .problem = "files of the run's " + std::to_string(num_workers) +
                          " workers are missing; what was written has no end"});
}

void RunSalvage::done(std::uint64_t bytes) {
  done_bytes_ += bytes;
  if (options_.progress) options_.progress(std::min(done_bytes_, total_bytes_), total_bytes_);
}

}  // namespace

SalvageReport salvage_run(const Store& from, Store& to, const SalvageOptions& options) {
  return RunSalvage(from, to, options).run();
}

}  // namespace cupel
