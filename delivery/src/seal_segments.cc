// Sealing segments from their files, after the process that wrote them has ended or had no room.
//
// The index decides: its rows show which steps are committed and where committed values end. The
// order of the changes makes every interruption harmless, because the next call finds a state that
// it can continue from: events files without an index are removed first, then values are cut back
// and get their footer, and the index is replaced last, by a rename. A file that is damaged stays
// as it is and is reported. The caller holds the worker's lock; one thread.

#include "cupel/delivery/seal_segments.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "cupel/core/aligned_buffer.h"
#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/format/events_reader.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/segment_remains.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;

// The schema is in the first bytes of a file. The schema of an index file counts only with the
// first message, whose checksum covers it.
constexpr std::uint64_t kMostPreamble = std::uint64_t{64} << 10U;

std::shared_ptr<const AlignedBuffer> read_index_file(const LocalStore& run,
                                                     const ObjectInfo& info) {
  if (info.size > format_limits().index_file)
    throw FormatError(info.key, 0, "the index file is too long");
  AlignedBuffer bytes(static_cast<std::size_t>(info.size));
  bytes.resize(info.size == 0 ? 0 : run.get_range(info.key, 0, bytes.span()));
  return std::make_shared<const AlignedBuffer>(std::move(bytes));
}

class SegmentSealing {
 public:
  SegmentSealing(LocalStore& run, const SegmentName& name, SealReport& report)
      : run_(run), name_(name), report_(report) {}

  void seal() {
    const auto info = run_.stat(name_.index_key());
    if (!info) return;
    const IndexRemains index =
        read_index_remains(info->key, read_index_file(run_, *info), collections_crc32c());
    if (index.end == SegmentEnd::Sealed) return;
    if (index.sealed.empty()) {
      note_dropped(info->key, 0, info->size);
      remove(info->key);
      remove_values();
      return;
    }
    if (index.values_end == 0) {
      remove_values();
    } else {
      seal_values(index.values_end);
    }
    note_dropped(info->key, index.whole_bytes, info->size);
    run_.put(info->key, index.sealed);
    ++report_.sealed;
  }

 private:
  // Returns the checksum of the collections file that the segment's steps need, or of a later one
  // of the same writer; nothing where no reader would read the file.
  std::optional<std::uint32_t> collections_crc32c() const {
    const std::string key = collections_key(name_.worker);
    const std::uint64_t most = format_limits().collections_file;
    const auto info = run_.stat(key);
    const auto file = info && info->size <= most ? run_.get(key, most) : std::nullopt;
    if (!file) return std::nullopt;
    return crc32c(*file);
  }

  void seal_values(std::uint64_t values_end) {
    const std::string key = name_.events_key();
    const auto info = run_.stat(key);
    if (!info) throw FormatError(key, 0, "the file is missing, and the index has values in it");
    const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
      return run_.get_range(key, offset, out);
    };
    const EventsRemains values = read_events_remains(name_, info->size, read, values_end);
    if (values.end != SegmentEnd::Sealed) {
      note_dropped(key, values.kept_bytes, info->size);
      run_.cut_back(key, values.kept_bytes);
      const std::span<const std::byte> footer(values.footer);
      run_.append(key, values.kept_bytes, std::span(&footer, 1));
    }
    run_.sync(key);
  }

  void remove_values() {
    if (const auto info = run_.stat(name_.events_key())) {
      note_dropped(info->key, 0, info->size);
      remove(info->key);
    }
  }

  void remove(const std::string& key) {
    run_.remove(key);
    ++report_.removed;
  }

  void note_dropped(const std::string& key, std::uint64_t kept, std::uint64_t size) {
    if (size <= kept) return;
    report_.dropped.push_back(key + ", offset " + std::to_string(kept) + ": " +
                              std::to_string(size - kept) +
                              " bytes of a step that was not committed");
  }

  LocalStore& run_;
  const SegmentName& name_;
  SealReport& report_;
};

using Segments = std::set<SegmentName>;

// Returns the segment number in the first bytes of an index file; nothing where they have none.
std::optional<std::int64_t> number_in_index(const LocalStore& run, const SegmentName& name) {
  const std::string key = name.index_key();
  const auto info = run.stat(key);
  if (!info || info->size == 0) return std::nullopt;
  const std::uint64_t most = std::min(info->size, format_limits().index_message);
  for (std::uint64_t piece = std::min(kMostPreamble, most);; piece = std::min(2 * piece, most)) {
    IndexReader reader(key);
    try {
      AlignedBuffer bytes(static_cast<std::size_t>(piece));
      bytes.resize(run.get_range(key, 0, bytes.span()));
      reader.read(std::make_shared<const AlignedBuffer>(std::move(bytes)),
                  [](const IndexBatch&) {});
    } catch (const FormatError&) {  // damage behind the first message does not matter here
    }
    if (reader.identity()) return reader.identity()->segment;
    if (piece == most) return std::nullopt;
  }
}

// The same for an events file.
std::optional<std::int64_t> number_in_events(const LocalStore& run, const ObjectInfo& info,
                                             const SegmentName& name) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
    return run.get_range(info.key, offset, out);
  };
  EventsReader reader(name, std::min<std::uint64_t>(info.size, kMostPreamble), read);
  try {
    reader.walk([](const auto&) {});
  } catch (const FormatError&) {
  }
  if (!reader.identity()) return std::nullopt;
  return reader.identity()->segment;
}

// Whether an events file without an index file must have had one. `next` is the next segment of the
// attempt. A segment whose first step was not committed, for want of room for example, passes its
// number on to the next one; a committed segment keeps its number.
bool must_have_had_index(const LocalStore& run, const ObjectInfo& info, const SegmentName& name,
                         const Segments& indexed, Segments::const_iterator next) {
  const auto next_number = number_in_index(run, *next);
  if (!next_number) return true;
  if (const auto number = number_in_events(run, info, name)) return *number != *next_number;
  // The events file is cut in its first bytes: the number of the segment before it decides.
  if (next == indexed.begin() || std::prev(next)->attempt != name.attempt) return *next_number != 0;
  const auto number_before = number_in_index(run, *std::prev(next));
  return !number_before || *number_before + 1 != *next_number;
}

// Removes values whose writer ended before the index got their step, or whose index was uploaded.
void remove_events_without_index(LocalStore& run, std::string_view worker, const Segments& indexed,
                                 const std::function<bool(const SegmentName&)>& is_elsewhere,
                                 SealReport& report) {
  for (const ObjectInfo& info : run.list(kEventsPrefix)) {
    const auto name = segment_of(info.key);
    if (!name || name->worker != worker || run.stat(name->index_key())) continue;
    if (is_elsewhere && is_elsewhere(*name)) {
      run.remove(info.key);
      ++report.removed;
      continue;
    }
    const auto next = indexed.upper_bound(*name);
    if (next != indexed.end() && next->attempt == name->attempt &&
        must_have_had_index(run, info, *name, indexed, next)) {
      report.damaged.push_back(info.key + ": its index file is missing");
      continue;
    }
    report.dropped.push_back(info.key + ", offset 0: " + std::to_string(info.size) +
                             " bytes of a step that was not committed");
    run.remove(info.key);
    ++report.removed;
  }
}

// Removes the temporary files of a process that was killed in the middle of a put().
void remove_temporary_files(const LocalStore& run, std::string_view worker, SealReport& report) {
  const std::string of_worker = std::string("_").append(worker).append(".arrow.");
  const std::string place = run.location() + "/index";
  std::error_code failure;
  if (fs::is_symlink(place, failure)) return;  // the files behind a link are not the run's
  fs::recursive_directory_iterator entry(place, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(".tmp") || name.find(of_worker) == std::string::npos) continue;
    if (std::error_code ignored; fs::remove(entry->path(), ignored)) ++report.removed;
  }
}

}  // namespace

std::optional<SegmentName> segment_of(std::string_view key) {
  if (!key.starts_with(kEventsPrefix)) return SegmentName::parse_index_key(key);
  return SegmentName::parse_index_key(
      std::string(kIndexPrefix).append(key.substr(kEventsPrefix.size())));
}

void seal_segment(LocalStore& run, const SegmentName& name, SealReport& report) {
  try {
    SegmentSealing(run, name, report).seal();
  } catch (const FormatError& error) {
    report.damaged.emplace_back(error.what());
  }
}

void seal_worker(LocalStore& run, std::string_view worker, SealReport& report,
                 const std::function<bool(const SegmentName&)>& is_elsewhere) {
  // All segments but the last were sealed before the next one was begun.
  Segments indexed;
  std::map<std::int32_t, SegmentName> last_of_attempt;
  for (const ObjectInfo& info : run.list(kIndexPrefix)) {
    auto name = SegmentName::parse_index_key(info.key);
    if (!name || name->worker != worker) continue;
    SegmentName& last = last_of_attempt.try_emplace(name->attempt, *name).first->second;
    last = std::max(last, *name);
    indexed.insert(*std::move(name));
  }
  // First the removals, which make room for the footers.
  remove_events_without_index(run, worker, indexed, is_elsewhere, report);
  remove_temporary_files(run, worker, report);
  for (const auto& [attempt, name] : last_of_attempt) seal_segment(run, name, report);
}

std::vector<SegmentName> sealed_segments(const LocalStore& run, std::string_view worker,
                                         SealReport& report) {
  std::vector<SegmentName> names, sealed;
  for (const ObjectInfo& info : run.list(kIndexPrefix)) {
    auto name = SegmentName::parse_index_key(info.key);
    if (name && name->worker == worker) names.push_back(*std::move(name));
  }
  std::ranges::sort(names);
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::string key = name->index_key();
    try {
      const auto info = run.stat(key), values = run.stat(name->events_key());
      if (!info) continue;
      const IndexRemains index = read_index_remains(key, read_index_file(run, *info));
      const auto next = std::next(name);
      if (index.end != SegmentEnd::Sealed) {
        if (next != names.end() && next->attempt == name->attempt)
          report.damaged.push_back(key + ": it is not sealed, and another follows");
        continue;
      }
      if (index.values_end > (values ? values->size : 0))
        throw FormatError(name->events_key(), values ? values->size : 0,
                          "values that the index has in the file are missing");
      sealed.push_back(*name);
    } catch (const FormatError& error) {
      report.damaged.emplace_back(error.what());
    }
  }
  return sealed;
}

std::int64_t committed_steps(const LocalStore& run, const std::string& index_key) {
  try {
    const auto info = run.stat(index_key);
    return info ? read_index_remains(index_key, read_index_file(run, *info)).steps : 0;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace cupel
