#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel {

/// Names of the objects of a run, relative to its directory or prefix (docs/format.md).
///
/// A segment's index and events objects have the same folder and name below `index/` and `events/`;
/// byte order of keys is attempt, then step, then worker.
struct SegmentName {
  std::int32_t attempt = 0;
  std::int64_t first_step = 0;
  std::string worker;

  std::string index_key() const;
  std::string events_key() const;
  /// Reads the key of an index object; nothing for any other text.
  static std::optional<SegmentName> parse_index_key(std::string_view key);
  friend auto operator<=>(const SegmentName&, const SegmentName&) = default;
};

inline constexpr std::string_view kIndexPrefix = "index/";
inline constexpr std::string_view kEventsPrefix = "events/";
inline constexpr std::string_view kCollectionsPrefix = "collections/000000000/";
inline constexpr std::string_view kEndedPrefix = "ended/";
inline constexpr std::string_view kEndMarker = "training_job_end.ts";
inline constexpr std::string_view kStopFile = "stop_training";

/// "collections/000000000/<worker>_collections.json".
std::string collections_key(std::string_view worker);
/// Returns the worker of such a key; nothing for any other text.
std::optional<std::string> parse_collections_key(std::string_view key);
/// "ended/<worker>".
std::string ended_key(std::string_view worker);

/// ".lock-<worker>": the lock that the worker's process holds while it writes. Not an object of the
/// run.
std::string lock_name(std::string_view worker);

/// Throws UsageError unless `worker` may name a worker: 1 to 128 of letters, digits, '_', '-' and
/// '.', beginning with a letter or digit.
void check_worker_name(std::string_view worker);

/// Tensors of this prefix hold data about the hook itself; they make no step exist.
inline constexpr std::string_view kReservedTensorPrefix = "cupel/";
inline constexpr std::string_view kNoteTensor = "cupel/note";
inline constexpr std::string_view kOverheadTensor = "cupel/overhead";
constexpr bool is_reserved_tensor(std::string_view name) noexcept {
  return name.starts_with(kReservedTensorPrefix);
}

/// The longest tensor name a run may hold, in bytes.
inline constexpr std::size_t kMaxTensorName = 4096;
/// The longest name of a collection that the index names, or that a hook has, in bytes.
inline constexpr std::size_t kMaxCollectionName = 4096;
/// Raw values up to this many bytes live in the index.
inline constexpr std::size_t kMaxInlineBytes = 64;

/// The format this code writes, and the major version it reads.
inline constexpr std::string_view kFormatVersion = "1.1";
inline constexpr int kFormatMajor = 1;

}  // namespace cupel
