// Copying the values of a segment.
//
// The index is read first: it shows how far the segment is committed, and the values of these steps
// are in the events file by then. The index that is put later is the one that was read and checked
// here, so later changes of the source have no effect. One thread copies a segment; several
// segments are copied at the same time.
//
// Damage is FormatError. A file that is replaced while it is read, by sealing, is read again.

#include "segment_copy.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/segment_remains.h"
#include "index_walk.h"

namespace cupel::trial_detail {

namespace {

constexpr std::uint64_t kPiece = std::uint64_t{8} << 20U;
constexpr std::uint64_t kMostBehindValues = std::uint64_t{1} << 20U;
// Values that must be put in one piece are in memory at once.
constexpr std::uint64_t kMostAtOnce = std::uint64_t{2} << 30U;

}  // namespace

SegmentCopy::SegmentCopy(const Store& from, Store& to, const SegmentToCopy& segment,
                         std::stop_token stop, std::function<void(std::uint64_t)> copied)
    : from_(from),
      to_(to),
      segment_(segment),
      stop_(std::move(stop)),
      copied_(std::move(copied)),
      index_key_(segment.name.index_key()),
      events_key_(segment.name.events_key()) {}

void SegmentCopy::run() { is_ready_ = read_index() && copy_events(); }

/// False if nothing of the segment is committed.
bool SegmentCopy::read_index() {
  for (int repeat = 0;; ++repeat) {
    // Where every request costs, the listed size is used until it turns out to be wrong.
    std::optional<ObjectInfo> info;
    std::uint64_t size = segment_.index_size;
    if (from_.can_append() || repeat > 0) {
      info = from_.stat(index_key_);
      if (!info) throw FormatError(index_key_, 0, "the index file was there and is gone");
      size = info->size;
    }
    const auto may_be_another = [&] {
      if (repeat >= kMaxRepeats) return false;
      if (!info) return true;
      const std::optional<ObjectInfo> now = from_.stat(index_key_);
      return !now || now->identity != info->identity;
    };
    try {
      const bool any = read_index_as_is(size);
      if ((!info && is_sealed_) || !may_be_another()) return any;
    } catch (const Error&) {
      if (!may_be_another()) throw;
    }
  }
}

bool SegmentCopy::read_index_as_is(std::uint64_t size) {
  steps_.clear();
  needed_events_ = 0;
  if (size > format_limits().index_file)
    throw StoreError(index_key_, false, "it is too large to be copied in one piece",
                     from_.location());
  auto file = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(size));
  file->resize(from_.get_range(index_key_, 0, file->span()));
  if (file->size() != size)
    throw FormatError(index_key_, file->size(), "the index file has become shorter");
  IndexReader reader(index_key_);
  const SegmentEnd end = reader.read(file, [&](const IndexBatch& batch) {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      if (batch.offset.has(row))
        needed_events_ =
            std::max(needed_events_, static_cast<std::uint64_t>(batch.offset[row]) +
                                         static_cast<std::uint64_t>(batch.length[row]));
      if (is_reserved_tensor(batch.tensor(row))) continue;
      if (steps_.empty() || steps_.back() != batch.step[row]) steps_.push_back(batch.step[row]);
    }
  });
  is_sealed_ = end == SegmentEnd::Sealed;
  if (segment_.must_be_sealed && !is_sealed_) throw not_sealed(index_key_, &reader, end);
  collections_ = reader.collections_crc32c();
  const std::uint64_t committed = is_sealed_ ? size : reader.consumed();
  index_ = AlignedBuffer(static_cast<std::size_t>(committed));
  std::ranges::copy(file->span().first(index_.size()), index_.data());
  return committed > 0;
}

/// Copies all values of the segment, if there are any; false when stopped.
bool SegmentCopy::copy_events() {
  std::optional<std::uint64_t> size = segment_.events_size;
  if (from_.can_append() || !size || *size < needed_events_) {
    const std::optional<ObjectInfo> info = from_.stat(events_key_);
    size = info ? std::optional(info->size) : std::nullopt;
  }
  if (!size && needed_events_ == 0) return true;
  if (!size) throw FormatError(events_key_, 0, "the events file is missing");
  if (*size < needed_events_) throw FormatError(events_key_, *size, "the events file lacks values");
  // Behind the committed values are a footer, and values of steps that were never committed.
  const std::uint64_t expected = needed_events_ + needed_events_ / 8 + kMostBehindValues;
  if (*size > expected) return copy_committed_values(*size);
  has_events_ = true;
  if (to_.can_append()) return stream(*size);
  require_size_for_put(*size);
  AlignedBuffer bytes(static_cast<std::size_t>(*size));
  bytes.resize(from_.get_range(events_key_, 0, bytes.span()));
  if (bytes.size() < needed_events_)
    throw FormatError(events_key_, bytes.size(), "the events file lacks values");
  if (stop_.stop_requested()) return false;
  to_.put(events_key_, bytes.span());
  copied_(bytes.size());
  return true;
}

/// Copies the batches of the committed values, and seals them anew. The bytes behind them, in a
/// sparse file for example, are neither read nor copied.
bool SegmentCopy::copy_committed_values(std::uint64_t size) {
  if (needed_events_ == 0) return true;
  has_events_ = true;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
    return from_.get_range(events_key_, offset, out);
  };
  const EventsRemains values = read_committed_events(segment_.name, size, read, needed_events_);
  const std::span<const std::byte> footer(values.footer);
  if (to_.can_append()) {
    if (!stream(values.kept_bytes)) return false;
    if (is_sealed_) {
      to_.append(events_key_, values.kept_bytes, std::array{footer});
      to_.sync(events_key_);
    }
    return true;
  }
  const std::size_t behind = is_sealed_ ? footer.size() : 0;
  require_size_for_put(values.kept_bytes + behind);
  AlignedBuffer bytes(static_cast<std::size_t>(values.kept_bytes) + behind);
  const auto kept = bytes.span().first(static_cast<std::size_t>(values.kept_bytes));
  if (from_.get_range(events_key_, 0, kept) != kept.size())
    throw FormatError(events_key_, kept.size(), "the events file lacks values");
  std::ranges::copy(footer.first(behind), bytes.span().subspan(kept.size()).begin());
  if (stop_.stop_requested()) return false;
  to_.put(events_key_, bytes.span());
  copied_(bytes.size());
  return true;
}

/// Called before memory is allocated: a sparse file may have any size.
void SegmentCopy::require_size_for_put(std::uint64_t size) const {
  if (size > kMostAtOnce)
    throw StoreError(events_key_, false,
                     "it is too large to be put in one piece, as the destination demands: size " +
                         std::to_string(size),
                     from_.location());
}

bool SegmentCopy::stream(std::uint64_t size) {
  AlignedBuffer buffer(static_cast<std::size_t>(std::min(kPiece, size)));
  std::uint64_t at = 0;
  while (at < size) {
    if (stop_.stop_requested()) return false;
    const auto piece = buffer.span().first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - at)));
    const std::size_t got = from_.get_range(events_key_, at, piece);
    if (got > 0)
      to_.append(events_key_, at, std::array{std::span<const std::byte>(piece.first(got))});
    at += got;
    copied_(got);
    if (got < piece.size()) break;
  }
  if (at < needed_events_) throw FormatError(events_key_, at, "the events file lacks values");
  if (at > 0) to_.sync(events_key_);
  return true;
}

void SegmentCopy::require_events() const {
  if (!has_events_ || needed_events_ == 0 || !to_.can_append()) return;
  const std::optional<ObjectInfo> info = to_.stat(events_key_);
  if (!info || info->size < needed_events_)
    throw StoreError(events_key_, false,
                     "what was copied is gone from the destination: another program works there",
                     to_.location());
}

}  // namespace cupel::trial_detail
