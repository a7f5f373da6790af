#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "cupel/store/store.h"

namespace cupel {

/// Something about a run that is not as a finished, undamaged one is.
struct VerifyFinding {
  enum class Severity {
    Remark,  ///< Has an innocent cause: the run goes on, a process was killed, a foreign file.
    Damage,  ///< No writer leaves this.
  };
  Severity severity = Severity::Damage;
  std::string file;  ///< Key in the run.
  std::uint64_t offset = 0;
  std::string problem;  ///< In words; names of tensors in it are as they are in the file.
  friend bool operator==(const VerifyFinding&, const VerifyFinding&) = default;
};

/// What verify_run() read, and what it found.
struct VerifyReport {
  std::size_t collections_files = 0, index_files = 0, events_files = 0;
  std::uint64_t steps = 0;              ///< Distinct global steps.
  std::uint64_t rows = 0;               ///< Tensors at steps, without those of the hook itself.
  std::uint64_t values = 0;             ///< Raw values of them, in index and events files.
  std::uint64_t value_bytes = 0;        ///< Of those.
  bool ended = false;                   ///< The run had ended when the check began.
  bool stopped = false;                 ///< The check was stopped before its end.
  std::vector<VerifyFinding> findings;  ///< By file, then offset.

  std::size_t damages() const noexcept;
  bool ok() const noexcept { return damages() == 0; }
};

struct VerifyOptions {
  /// Called now and then, one call at a time, with the bytes read so far and those to be read.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  std::stop_token stop = {};  ///< Ends the check early: the report then says so.
  /// How many segments are checked at once where every request costs time (Store::can_append() is
  /// false).
  int requests_at_once = 16;
};

/// Reads all of a run again and checks it: every checksum, what lies around the values, the index
/// against the values (bytes, lengths, counts and reductions, bit for bit), the files of a worker
/// against each other.
///
/// Never ends at damage: a damaged file is left at that place and the others are checked. Of one
/// file a hundred findings are told and the rest counted. A run that goes on is checked as far as
/// it was committed when its file was looked at. Of values above 256 MiB the checksum and the
/// counts are checked. Throws MissingCollectionFiles where there is no run, and StoreError when it
/// cannot be listed.
VerifyReport verify_run(const Store& store, const VerifyOptions& options = {});

}  // namespace cupel
