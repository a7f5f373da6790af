// A run may have gigabytes of index, and where it goes on is nearly always in its newest files. The
// older ones are read only while a mode may still be found in them: rows up to the step at which an
// attempt was closed are covered by the counters it left in the collections file, and once every
// mode was seen, nothing older counts. That the steps of the modes seen add up to the global step
// proves nothing: a caller who numbers steps leaves gaps.

#include "resume_point.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/layout.h"

namespace cupel::writer_detail {
namespace {

// Files are read in pieces of this, or larger ones for larger messages.
constexpr std::uint64_t kPiece = std::uint64_t{16} << 20U;

// So that a next step can be counted, whatever a file holds.
constexpr std::int64_t kMostSteps = std::numeric_limits<std::int64_t>::max() - 1;

constexpr std::array<Mode, 3> kCountedModes = {Mode::Train, Mode::Eval, Mode::Predict};

void warn(const FormatError& error) {
  log(LogLevel::Warning,
      std::string("where the run goes on is told without what is damaged: ") + error.what());
}

// What one index file holds.
struct SegmentSteps {
  std::optional<std::int64_t> first;  // committed, visible or not
  StepCounters last;                  // visible
};

class SegmentScan {
 public:
  // Rows from `hidden_from` on are hidden by a later attempt.
  explicit SegmentScan(std::int64_t hidden_from) : hidden_from_(hidden_from) {}

  void read(const Store& store, const std::string& key, std::uint64_t size) {
    IndexReader reader(key);
    std::uint64_t piece = std::min(kPiece, format_limits().index_message);
    for (;;) {
      const std::uint64_t from = reader.consumed();
      if (size < from) return;
      // What follows the last message must come in one piece with it.
      const std::uint64_t length = size - from <= piece + piece / 4 ? size - from : piece;
      AlignedBuffer buffer(static_cast<std::size_t>(length));
      buffer.resize(store.get_range(key, from, buffer.span()));
      const bool came_short = buffer.size() < length;
      reader.read(std::make_shared<const AlignedBuffer>(std::move(buffer)),
                  [this](const IndexBatch& batch) { take(batch); });
      if (came_short || from + length >= size) return;
      if (reader.consumed() > from) continue;
      const std::uint64_t most = format_limits().index_message;
      if (piece >= most) throw FormatError(key, from, "a message is too long");
      piece = std::min(2 * piece, most);
    }
  }

  const SegmentSteps& steps() const noexcept { return steps_; }

 private:
  void take(const IndexBatch& batch) {
    if (!steps_.first) steps_.first = batch.step[0];
    for (std::size_t row = 0; row < batch.rows && batch.step[row] < hidden_from_; ++row) {
      const StepHeader header = batch.header(row);
      steps_.last.global = std::min(header.step, kMostSteps);
      if (header.mode != Mode::Global)
        steps_.last[header.mode] = std::min(header.mode_step, kMostSteps);
    }
  }

  const std::int64_t hidden_from_;
  SegmentSteps steps_;
};

SegmentSteps scan(const Store& store, const ObjectInfo& info, std::int64_t hidden_from) {
  SegmentScan segment(hidden_from);
  try {
    segment.read(store, info.key, info.size);
  } catch (const FormatError& error) {
    warn(error);
  }
  return segment.steps();
}

// What the collections file has about the close of an attempt; as initialised, nothing.
struct Closed {
  StepCounters counters;
  std::int32_t attempt = std::numeric_limits<std::int32_t>::max();
};

Closed read_closed(const Store& store, std::string_view worker) {
  const std::string key = collections_key(worker);
  try {
    const std::uint64_t most = format_limits().collections_file;
    if (const auto info = store.stat(key); info && info->size > most)
      throw FormatError(key, 0, "the file is too long");
    const auto bytes = store.get(key, most);
    if (!bytes) return {};
    const CollectionsFile file = decode_collections_file(key, *bytes);
    Closed closed{.counters = {}, .attempt = file.attempt};
    for (const auto& [mode, step] : file.steps) closed.counters[mode] = step;
    return closed;
  } catch (const FormatError& error) {
    warn(error);
    return {};
  }
}

// The worker's index files, newest first.
std::vector<std::pair<SegmentName, ObjectInfo>> segments_of(const Store& store,
                                                            std::string_view worker) {
  std::vector<std::pair<SegmentName, ObjectInfo>> segments;
  for (ObjectInfo& info : store.list(kIndexPrefix)) {
    auto name = SegmentName::parse_index_key(info.key);
    if (name && name->worker == worker) segments.emplace_back(std::move(*name), std::move(info));
  }
  std::ranges::sort(segments, [](const auto& a, const auto& b) { return a.first > b.first; });
  return segments;
}

// Whether rows before those seen can have nothing new.
bool complete(const StepCounters& seen) {
  return std::ranges::all_of(kCountedModes, [&](Mode mode) { return seen[mode] >= 0; });
}

// What the worker's index files hold, read from the newest backwards until is_enough(what was seen,
// the attempt that was read last, and where it begins as far as it was read).
template <class IsEnough>
StepCounters seen_steps(const Store& store, std::string_view worker, IsEnough&& is_enough) {
  StepCounters seen;
  std::int64_t hidden_from = std::numeric_limits<std::int64_t>::max();
  std::int32_t attempt = -1;         // of the segment read last,
  std::int64_t begin = hidden_from;  // and where it begins, as far as it was read
  for (const auto& [name, info] : segments_of(store, worker)) {
    if (name.attempt != attempt) hidden_from = std::min(hidden_from, begin);
    if (name.first_step >= hidden_from) continue;
    const SegmentSteps segment = scan(store, info, hidden_from);
    if (!segment.first) continue;  // nothing was committed, or nothing is left of it
    attempt = name.attempt;
    begin = *segment.first;
    seen.global = std::max(seen.global, segment.last.global);
    for (const Mode mode : kCountedModes)
      if (seen[mode] < 0) seen[mode] = segment.last[mode];
    if (is_enough(seen, attempt, begin)) break;
  }
  return seen;
}

}  // namespace

StepCounters last_steps(const Store& store, std::string_view worker) {
  Closed closed = read_closed(store, worker);
  StepCounters seen = seen_steps(
      store, worker, [&](const StepCounters& so_far, std::int32_t attempt, std::int64_t begin) {
        if (attempt > closed.attempt) closed = {};
        return complete(so_far) || begin <= closed.counters.global;
      });
  for (const Mode mode : kAllModes) seen[mode] = std::max(seen[mode], closed.counters[mode]);
  return seen;
}

std::int64_t last_saved_step(const Store& store, std::string_view worker) {
  const auto any = [](const StepCounters& seen, auto...) { return seen.global >= 0; };
  return seen_steps(store, worker, any).global;
}

}  // namespace cupel::writer_detail
