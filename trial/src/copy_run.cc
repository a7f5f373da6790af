// Copies segment by segment, each worker's in their order. Of a segment the index is read first:
// it says how far the segment is committed, and the values of that lie in the events file by then.
// The values are copied, the worker's collections file as it is now, which knows at least what the
// index needs, and then the index as far as it was read.
//
// An index file that is sealed meanwhile is read anew; one that was read is kept in memory until it
// is put, so nothing that happens to the source behind it matters.

#include "cupel/trial/copy_run.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/layout.h"
#include "index_walk.h"
#include "run_listing.h"

namespace cupel {

namespace {

using trial_detail::IndexWalker;
using trial_detail::RunListing;

constexpr std::uint64_t kPiece = std::uint64_t{8} << 20U;
// What must be put in one piece is held in memory.
constexpr std::uint64_t kMostAtOnce = std::uint64_t{2} << 30U;

/// As much of an index file as is committed.
struct IndexPart {
  std::vector<std::byte> bytes;
  std::uint64_t needed_events = 0;  // bytes of the events file
  std::vector<std::int64_t> steps;
};

class RunCopy {
 public:
  RunCopy(const Store& from, Store& to, const CopyOptions& options)
      : from_(from), to_(to), options_(options) {}

  CopyReport run();

 private:
  void copy_collections(const std::string& worker);
  void copy_segment(const SegmentName& name, bool must_be_sealed);
  std::optional<IndexPart> read_index(const SegmentName& name, bool must_be_sealed);
  std::optional<IndexPart> read_index_as_is(const ObjectInfo& info, bool must_be_sealed);
  bool copy_events(const SegmentName& name, std::uint64_t needed);
  bool stream(const std::string& key, std::uint64_t size, std::uint64_t needed);
  void count(std::uint64_t bytes);
  bool stopped() const { return options_.stop.stop_requested(); }

  const Store& from_;
  Store& to_;
  const CopyOptions& options_;
  CopyReport report_;
  std::map<std::string, std::vector<std::byte>> collections_;  // by worker, as copied
  std::map<std::string, std::int32_t> attempt_of_worker_;      // as these say
  std::map<std::string, std::string> run_of_worker_;
  std::vector<std::int64_t> steps_;
  std::uint64_t total_bytes_ = 0;
};

CopyReport RunCopy::run() {
  if (const auto there = to_.list(""); !there.empty())
    throw UsageError(
        "The destination of a copy must be empty or not there: " + to_.location() + " holds " +
        there.front().key +
        (there.size() > 1 ? " and " + std::to_string(there.size() - 1) + " more" : ""));
  // What was there before anything else was looked at does not lack what came before it.
  const bool ended = from_.stat(kEndMarker).has_value();
  const std::vector<ObjectInfo> ended_workers = from_.list(kEndedPrefix);
  const RunListing listing = RunListing::read(from_);
  for (const auto& [worker, segments] : listing.workers)
    for (const RunListing::Segment& segment : segments) total_bytes_ += segment.size;
  for (const ObjectInfo& info : from_.list(kEventsPrefix)) total_bytes_ += info.size;

  for (const ObjectInfo& info : from_.list(kCollectionsPrefix))
    if (const auto worker = parse_collections_key(info.key)) copy_collections(*worker);
  if (collections_.empty()) throw MissingCollectionFiles(from_.location());

  for (const auto& [worker, segments] : listing.workers) {
    for (std::size_t i = 0; i < segments.size() && !stopped(); ++i) {
      const bool is_last = i + 1 == segments.size();
      const bool has_successor =
          !is_last && segments[i + 1].name.attempt == segments[i].name.attempt;
      // A later attempt may have committed nothing.
      const auto newest = attempt_of_worker_.find(segments[i].name.worker);
      const bool is_newest = is_last && (newest == attempt_of_worker_.end() ||
                                         newest->second <= segments[i].name.attempt);
      copy_segment(segments[i].name, has_successor || (is_newest && ended));
    }
  }

  report_.stopped = stopped();
  if (!report_.stopped) {
    for (const ObjectInfo& info : ended_workers) {
      to_.put(info.key, {});
      ++report_.files;
    }
    report_.ended = ended;
    if (ended) {
      to_.put(kEndMarker, {});
      ++report_.files;
    }
  }
  std::sort(steps_.begin(), steps_.end());
  report_.steps = static_cast<std::uint64_t>(
      std::distance(steps_.begin(), std::unique(steps_.begin(), steps_.end())));
  return report_;
}

/// Copies the file as it is now, unless that was done.
void RunCopy::copy_collections(const std::string& worker) {
  const std::string key = collections_key(worker);
  auto bytes = from_.get(key);
  if (!bytes) throw FormatError(key, 0, "the file is missing, though the worker is in the run");
  const CollectionsFile file = decode_collections_file(key, *bytes);
  const auto [run, is_first] = run_of_worker_.try_emplace(worker, file.run);
  if (!is_first && run->second != file.run)
    throw Error("The run was replaced by another while it was copied: " + from_.location());
  attempt_of_worker_[worker] = file.attempt;
  const auto copied = collections_.find(worker);
  if (copied != collections_.end() && copied->second == *bytes) return;
  to_.put(key, *bytes);
  if (copied == collections_.end()) ++report_.files;
  count(bytes->size());
  collections_.insert_or_assign(worker, *std::move(bytes));
}

void RunCopy::copy_segment(const SegmentName& name, bool must_be_sealed) {
  const std::optional<IndexPart> index = read_index(name, must_be_sealed);
  if (!index) return;  // nothing of it is committed
  if (!copy_events(name, index->needed_events)) return;
  // Now, so that values of a run that took this one's place would be noticed.
  copy_collections(name.worker);
  to_.put(name.index_key(), index->bytes);
  ++report_.files;
  count(index->bytes.size());
  steps_.insert(steps_.end(), index->steps.begin(), index->steps.end());
}

std::optional<IndexPart> RunCopy::read_index(const SegmentName& name, bool must_be_sealed) {
  const std::string key = name.index_key();
  for (int repeat = 0;; ++repeat) {
    const std::optional<ObjectInfo> info = from_.stat(key);
    if (!info) {
      copy_collections(name.worker);  // tells if the run was replaced
      throw FormatError(key, 0, "the index file was there and is gone");
    }
    const auto was_replaced = [&] {
      const std::optional<ObjectInfo> now = from_.stat(key);
      return (!now || now->identity != info->identity) && repeat < trial_detail::kMaxRepeats;
    };
    try {
      auto index = read_index_as_is(*info, must_be_sealed);
      if (!was_replaced()) return index;
    } catch (const Error&) {
      if (!was_replaced()) throw;
    }
  }
}

std::optional<IndexPart> RunCopy::read_index_as_is(const ObjectInfo& info, bool must_be_sealed) {
  IndexPart part;
  IndexReader reader(info.key);
  const trial_detail::WalkEnd read =
      IndexWalker(from_).walk(info.key, reader, info.size, [&](const IndexBatch& batch) {
        for (std::size_t row = 0; row < batch.rows; ++row) {
          if (batch.offset.has(row))
            part.needed_events =
                std::max(part.needed_events, static_cast<std::uint64_t>(batch.offset[row]) +
                                                 static_cast<std::uint64_t>(batch.length[row]));
          if (is_reserved_tensor(batch.tensor(row))) continue;
          if (part.steps.empty() || part.steps.back() != batch.step[row])
            part.steps.push_back(batch.step[row]);
        }
      });
  if (must_be_sealed && read.end != SegmentEnd::Sealed)
    throw trial_detail::not_sealed(info.key, &reader, read.end);
  const std::uint64_t committed = read.end == SegmentEnd::Sealed ? info.size : reader.consumed();
  if (committed == 0) return std::nullopt;
  if (committed > kMostAtOnce)
    throw StoreError(info.key, false, "it is too large to be copied in one piece");
  part.bytes.resize(static_cast<std::size_t>(committed));
  const std::size_t got = from_.get_range(info.key, 0, part.bytes);
  if (got != committed) throw FormatError(info.key, got, "the index file has become shorter");
  // What is written is what was read now, so that is what must be whole.
  auto copied = std::make_shared<AlignedBuffer>(part.bytes.size());
  std::ranges::copy(part.bytes, copied->data());
  IndexReader again(info.key);
  again.read(copied, [](const IndexBatch&) {});
  if (again.consumed() != reader.consumed())
    throw FormatError(info.key, again.consumed(), "the index file has changed while it was read");
  return part;
}

/// Copies all there is of a segment's values, or nothing where there are none; false when stopped.
bool RunCopy::copy_events(const SegmentName& name, std::uint64_t needed) {
  const std::string key = name.events_key();
  const std::optional<ObjectInfo> info = from_.stat(key);
  if (!info && needed == 0) return true;
  if (!info) {
    copy_collections(name.worker);  // tells if the run was replaced
    throw FormatError(key, 0, "the events file is missing");
  }
  if (info->size < needed) throw FormatError(key, info->size, "the events file lacks values");
  ++report_.files;
  if (to_.can_append()) return stream(key, info->size, needed);
  if (info->size > kMostAtOnce)
    throw StoreError(key, false,
                     "it is too large to be put in one piece, as the destination demands: size " +
                         std::to_string(info->size));
  std::vector<std::byte> bytes(static_cast<std::size_t>(info->size));
  bytes.resize(from_.get_range(key, 0, bytes));
  if (bytes.size() < needed) throw FormatError(key, bytes.size(), "the events file lacks values");
  to_.put(key, bytes);
  count(bytes.size());
  return true;
}

bool RunCopy::stream(const std::string& key, std::uint64_t size, std::uint64_t needed) {
  AlignedBuffer buffer(static_cast<std::size_t>(std::min(kPiece, size)));
  std::uint64_t at = 0;
  while (at < size) {
    if (stopped()) return false;
    const auto piece = buffer.span().first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - at)));
    const std::size_t got = from_.get_range(key, at, piece);
    if (got > 0) to_.append(key, at, std::array{std::span<const std::byte>(piece.first(got))});
    at += got;
    count(got);
    if (got < piece.size()) break;
  }
  if (at < needed) throw FormatError(key, at, "the events file lacks values");
  if (at > 0) to_.sync(key);
  return true;
}

void RunCopy::count(std::uint64_t bytes) {
  report_.bytes += bytes;
  if (options_.progress) options_.progress(std::min(report_.bytes, total_bytes_), total_bytes_);
}

}  // namespace

CopyReport copy_run(const Store& from, Store& to, const CopyOptions& options) {
  return RunCopy(from, to, options).run();
}

}  // namespace cupel
