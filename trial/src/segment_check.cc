// Checking a segment.
//
// The index is read first, and each of its batches names the places of values; these are read in
// their order in the events file. Then the structure of the events file is walked and compared with
// what the index named. In this order a run may grow meanwhile: a value is in the events file
// before the index names it. One thread checks a segment.
//
// Damage becomes a finding, and so does an error of the store; the check goes on behind it where it
// can. A segment whose files are replaced meanwhile is checked once more.

#include "segment_check.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/format/events_reader.h"
#include "cupel/stats/statistics.h"
#include "index_walk.h"

namespace cupel::trial_detail {

namespace {

constexpr std::uint64_t kWindow = std::uint64_t{4} << 20U;
constexpr std::uint64_t kMostBetween = 4096;  // bytes between values that are read together
// Longer values are read in pieces, and checked by checksum and counts only.
constexpr std::uint64_t kLongValue = std::uint64_t{256} << 20U;
static_assert(kWindow % (8 * StatisticsAccumulator::kBlockElements) == 0);

/// Reads parts of an object in their order. Where requests cost, a small part is requested together
/// with the bytes behind it.
class ForwardReader {
 public:
  ForwardReader(const Store& store, const std::string& key) : store_(store), key_(key) {}

  std::size_t read(std::uint64_t offset, std::span<std::byte> out) {
    if (store_.can_append() || out.size() >= kAhead) return store_.get_range(key_, offset, out);
    if (offset < begin_ || offset + out.size() > begin_ + bytes_.size()) {
      bytes_.resize(kAhead);
      begin_ = offset;
      bytes_.resize(store_.get_range(key_, offset, bytes_));
    }
    const auto known =
        std::span<const std::byte>(bytes_).subspan(static_cast<std::size_t>(offset - begin_));
    const auto got = known.first(std::min(known.size(), out.size()));
    std::ranges::copy(got, out.begin());
    return got.size();
  }

 private:
  static constexpr std::size_t kAhead = std::size_t{64} << 10U;

  const Store& store_;
  const std::string& key_;
  std::vector<std::byte> bytes_;
  std::uint64_t begin_ = 0;
};

}  // namespace

SegmentCheck::SegmentCheck(const Store& store, SegmentName name, SealDemand demand,
                           std::stop_token stop, std::function<void(std::uint64_t)> read_bytes)
    : store_(store),
      name_(std::move(name)),
      index_key_(name_.index_key()),
      events_key_(name_.events_key()),
      demand_(demand),
      stop_(std::move(stop)),
      read_bytes_(std::move(read_bytes)) {}

void SegmentCheck::begin_again() {
  findings = {};
  identity.reset();
  steps.clear();
  last_step = -1;
  rows = values = value_bytes = 0;
  has_events = sealed_ = index_is_whole_ = false;
  stored_.clear();
  events_size_ = 0;
  window_ = {};
}

void SegmentCheck::run() {
  for (int repeat = 0; !stop_.stop_requested(); ++repeat) {
    begin_again();
    const auto report = [&](const StoreError& error) {
      findings.damage(error.key, 0, std::string("it could not be read: ") + error.what());
    };
    try {
      const std::optional<ObjectInfo> info = store_.stat(index_key_);
      if (!info) return findings.damage(index_key_, 0, "the index file was there and is gone");
      try {
        check_index(*info);
        if (!stop_.stop_requested()) check_events();
      } catch (const StoreError& error) {
        report(error);
      }
      const std::optional<ObjectInfo> now = store_.stat(index_key_);
      if ((now && now->identity == info->identity) || repeat >= kMaxRepeats) return;
    } catch (const StoreError& error) {
      return report(error);
    }
  }
}

void SegmentCheck::check_index(const ObjectInfo& info) {
  IndexReader reader(index_key_);
  try {
    const WalkEnd read = IndexWalker(store_).walk(index_key_, reader, info.size,
                                                  [&](const IndexBatch& batch) { take(batch); });
    if (read.came_short) findings.damage(index_key_, info.size, "the file has become shorter");
    sealed_ = read.end == SegmentEnd::Sealed;
    check_end(read.end, reader);
    index_is_whole_ = true;
  } catch (const FormatError& error) {
    findings.add(VerifyFindings::Severity::Damage, error);
  }
  identity = reader.identity();
  read_bytes_(info.size);
}

void SegmentCheck::check_end(SegmentEnd end, const IndexReader& reader) {
  if (end == SegmentEnd::Sealed) return;
  const bool torn = end == SegmentEnd::Torn;
  if (demand_ == SealDemand::Sealed) {
    findings.add(VerifyFindings::Severity::Damage, not_sealed(index_key_, &reader, end));
    return;
  }
  const char* why = demand_ == SealDemand::EarlierAttempt
                        ? "its writer was interrupted, and began another attempt"
                        : "the run has not ended";
  findings.remark(
      index_key_, reader.consumed(),
      (torn ? reader.torn_reason() + ": not there yet, " : std::string("not sealed: ")) + why);
}

void SegmentCheck::take(const IndexBatch& batch) {
  std::vector<RowClaims> in_events;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    last_step = batch.step[row];
    const bool of_hook = is_reserved_tensor(batch.tensor(row));
    if (!of_hook) {
      ++rows;
      if (steps.empty() || steps.back() != last_step) steps.push_back(last_step);
    }
    if (batch.inline_begin.has(row)) {
      const RowClaims claims(batch, row);
      const auto begin = static_cast<std::size_t>(batch.inline_begin[row]);
      const auto end = static_cast<std::size_t>(batch.inline_end[row]);
      const std::span<const std::byte> bytes(batch.inline_bytes + begin, end - begin);
      if (!of_hook) count_value(bytes.size());
      if (std::string defect = claims_defect(claims, bytes); !defect.empty())
        findings.damage(index_key_, batch.message_offset, std::move(defect));
    } else if (batch.offset.has(row)) {
      in_events.emplace_back(batch, row);
      if (!of_hook) count_value(in_events.back().length);
    }
  }
  std::sort(in_events.begin(), in_events.end(),
            [](const RowClaims& a, const RowClaims& b) { return a.offset < b.offset; });
  for (std::size_t i = 0; i < in_events.size(); ++i) {
    if (stop_.stop_requested()) return;
    RowClaims& claims = in_events[i];
    check_value(claims, std::span(in_events).subspan(i));
    stored_.push_back({claims.offset, claims.length, claims.step, std::move(claims.tensor)});
  }
}

void SegmentCheck::check_value(const RowClaims& claims, std::span<const RowClaims> rest) {
  const auto inside = [&] {
    return claims.offset <= events_size_ && claims.length <= events_size_ - claims.offset;
  };
  if (!inside()) {
    const std::optional<ObjectInfo> info = store_.stat(events_key_);
    has_events = info.has_value();
    if (!info) return;  // check_events() reports that once for all values.
    events_size_ = info->size;
  }
  if (!inside()) {
    findings.damage(events_key_, claims.offset,
                    claims.subject() + " lies behind the end of the file");
    return;
  }
  if (claims.length > kLongValue) return check_long_value(claims);
  const auto bytes = fetch(claims, rest);
  if (!bytes) {
    findings.damage(events_key_, claims.offset, claims.subject() + " is cut off");
  } else if (crc32c(*bytes) != claims.crc32c) {
    findings.damage(events_key_, claims.offset, claims.subject() + " does not have its checksum");
  } else if (std::string defect = claims_defect(claims, *bytes); !defect.empty()) {
    findings.damage(events_key_, claims.offset, std::move(defect));
  }
}

/// The number of bytes to read for a value: together with the values close behind it, and no more,
/// because a file may be sparse. Where requests cost, a window.
std::uint64_t SegmentCheck::length_with_neighbours(std::span<const RowClaims> rest) const {
  const RowClaims& first = rest.front();
  const std::uint64_t there = events_size_ - first.offset;
  if (!store_.can_append()) return std::max(first.length, std::min(kWindow, there));
  std::uint64_t length = first.length;
  for (const RowClaims& next : rest.subspan(1)) {
    const std::uint64_t from = next.offset - first.offset;
    if (from > length + kMostBetween || next.length > kWindow || from + next.length > kWindow)
      break;
    length = std::max(length, from + next.length);
  }
  return std::min(length, there);
}

/// The bytes of a value, the first one of `rest`; nothing when the file ends before them.
std::optional<std::span<const std::byte>> SegmentCheck::fetch(const RowClaims& claims,
                                                              std::span<const RowClaims> rest) {
  const bool in_window = claims.offset >= window_begin_ &&
                         claims.offset - window_begin_ <= window_.size() &&
                         claims.length <= window_.size() - (claims.offset - window_begin_);
  if (!in_window) {
    const std::uint64_t wanted = length_with_neighbours(rest);
    if (window_.size() < wanted || window_.size() > kWindow)
      window_ = AlignedBuffer(static_cast<std::size_t>(wanted));
    window_.resize(static_cast<std::size_t>(wanted));
    window_begin_ = claims.offset;
    const std::size_t got =
        wanted == 0 ? 0 : store_.get_range(events_key_, claims.offset, window_.span());
    window_.resize(got);
    if (got < claims.length) return std::nullopt;
  }
  read_bytes_(claims.length);
  return window_.span().subspan(static_cast<std::size_t>(claims.offset - window_begin_),
                                static_cast<std::size_t>(claims.length));
}

void SegmentCheck::check_long_value(const RowClaims& claims) {
  const bool counted = claims.counts && is_floating(claims.dtype);
  StatisticsAccumulator accumulator(counted ? claims.dtype : DType::U8);
  AlignedBuffer buffer(static_cast<std::size_t>(kWindow));
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < claims.length && !stop_.stop_requested();) {
    const auto piece = buffer.span().first(
        static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, claims.length - at)));
    if (store_.get_range(events_key_, claims.offset + at, piece) != piece.size()) {
      findings.damage(events_key_, claims.offset, claims.subject() + " is cut off");
      return;
    }
    crc = crc32c(piece, crc);
    if (counted) accumulator.add(piece.data(), piece.size() / element_size(claims.dtype));
    at += piece.size();
    read_bytes_(piece.size());
  }
  if (stop_.stop_requested()) return;
  const std::size_t element = element_size(claims.dtype);
  if (crc != claims.crc32c) {
    findings.damage(events_key_, claims.offset, claims.subject() + " does not have its checksum");
  } else if (element != 0 &&
             (claims.length % element != 0 ||
              claims.length / element != static_cast<std::uint64_t>(claims.shape.elements()))) {
    findings.damage(events_key_, claims.offset,
                    claims.subject() + ": a value's length does not fit its type and shape");
  } else if (counted) {
    std::string defect = counts_defect(claims, accumulator.finish().counts);
    if (!defect.empty()) findings.damage(events_key_, claims.offset, std::move(defect));
  }
}

void SegmentCheck::check_events() {
  const std::optional<ObjectInfo> info = store_.stat(events_key_);
  has_events = info.has_value();
  if (!info) {
    if (!stored_.empty())
      findings.damage(events_key_, 0,
                      "the file is missing, and the index has " + std::to_string(stored_.size()) +
                          " values in it");
    return;
  }
  std::sort(stored_.begin(), stored_.end(),
            [](const Stored& a, const Stored& b) { return a.offset < b.offset; });
  std::uint64_t needed = 0;
  for (const Stored& value : stored_) needed = std::max(needed, value.offset + value.length);
  try {
    walk_events(info->size, needed);
  } catch (const FormatError& error) {
    // Bytes behind the last committed value of an open segment are not read by anybody.
    const bool behind_all = index_is_whole_ && !sealed_ && error.offset >= needed;
    findings.add(behind_all ? VerifyFindings::Severity::Remark : VerifyFindings::Severity::Damage,
                 error);
  }
}

/// Compares the values that the events file names with those that the index names.
void SegmentCheck::walk_events(std::uint64_t size, std::uint64_t needed) {
  ForwardReader file(store_, events_key_);
  EventsReader reader(name_, size, [&](std::uint64_t offset, std::span<std::byte> out) {
    return file.read(offset, out);
  });
  std::uint64_t unlisted = 0, unlisted_at = 0;
  std::set<std::pair<std::int64_t, std::string_view>> listed;
  const auto count_unlisted = [&](const EventsEntry& entry) {
    if (listed.empty())
      for (const Stored& value : stored_) listed.emplace(value.step, value.tensor);
    // A later save of the same tensor in the step replaced it.
    if (listed.contains({entry.step, entry.tensor})) return;
    if (unlisted++ == 0) unlisted_at = entry.offset;
  };
  const SegmentEnd end = reader.walk([&](std::span<const EventsEntry> batch) {
    for (const EventsEntry& entry : batch) {
      auto at = std::lower_bound(
          stored_.begin(), stored_.end(), entry.offset,
          [](const Stored& value, std::uint64_t offset) { return value.offset < offset; });
      bool found = false;
      for (; at != stored_.end() && at->offset == entry.offset && !found; ++at) {
        found = !at->described &&
                std::tie(at->length, at->step) == std::tie(entry.length, entry.step) &&
                at->tensor == entry.tensor;
        at->described = at->described || found;
      }
      if (!found) count_unlisted(entry);
    }
  });
  if (identity && reader.identity() &&
      (reader.identity()->run != identity->run || reader.identity()->segment != identity->segment))
    findings.damage(events_key_, 0,
                    "the file is of run " + reader.identity()->run + ", segment " +
                        std::to_string(reader.identity()->segment) + ", its index of run " +
                        identity->run + ", segment " + std::to_string(identity->segment));
  for (const Stored& value : stored_)
    if (!value.described && value.offset < reader.consumed())
      findings.damage(events_key_, value.offset,
                      "the index has the value of " + value.tensor + " at step " +
                          std::to_string(value.step) + " here, the file does not");
  if (unlisted > 0 && index_is_whole_)
    findings.remark(events_key_, unlisted_at,
                    std::to_string(unlisted) +
                        (unlisted == 1 ? " value that no step has" : " values that no step has") +
                        (sealed_ ? "" : ", or not yet"));
  if (end != SegmentEnd::Sealed)
    check_unsealed_events(end, reader.consumed(), needed, reader.torn_reason());
}

void SegmentCheck::check_unsealed_events(SegmentEnd end, std::uint64_t consumed,
                                         std::uint64_t needed, const std::string& torn_reason) {
  const bool torn = end == SegmentEnd::Torn;
  if (sealed_) {
    findings.damage(events_key_, consumed,
                    torn ? torn_reason : "the file is not sealed, though its index is");
  } else if (torn && consumed < needed) {
    findings.damage(events_key_, consumed, torn_reason);
  } else if (torn) {
    findings.remark(events_key_, consumed, torn_reason + ": not there yet");
  }
}

}  // namespace cupel::trial_detail
