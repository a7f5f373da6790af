#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "cupel/store/store.h"

namespace cupel {

/// One way in which a run differs from a finished, undamaged one.
struct VerifyFinding {
  enum class Severity {
    Remark,  ///< Has an innocent cause: the run goes on, a process was killed, a foreign file.
    Damage,  ///< No writer leaves this.
  };
  Severity severity = Severity::Damage;
  /// The key of the file in the run.
  std::string file;
  /// The byte in the file where the problem begins.
  std::uint64_t offset = 0;
  /// The problem in words. Names of tensors in it are as they are in the file, also unprintable.
  std::string problem;
  friend bool operator==(const VerifyFinding&, const VerifyFinding&) = default;
};

/// The result of verify_run(): what was read, and what was found.
struct VerifyReport {
  /// The number of files that were read, by kind.
  std::size_t collections_files = 0, index_files = 0, events_files = 0;
  /// The number of distinct global steps.
  std::uint64_t steps = 0;
  /// The number of index rows, without those of the hook's own tensors.
  std::uint64_t rows = 0;
  /// The number of raw values of these rows, in index files and events files.
  std::uint64_t values = 0;
  /// The bytes of these values.
  std::uint64_t value_bytes = 0;
  /// The run had ended when the check began.
  bool ended = false;
  /// The check was stopped before its end.
  bool stopped = false;
  /// All findings, by file, then offset.
  std::vector<VerifyFinding> findings;

  std::size_t damages() const noexcept;
  bool ok() const noexcept { return damages() == 0; }
};

struct VerifyOptions {
  /// Called from time to time, one call at a time, with the bytes that are read and the bytes to
  /// read.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  /// A stop request ends the check early.
  std::stop_token stop = {};
  /// So many segments are checked at the same time if every request to the store costs time
  /// (Store::can_append() is false).
  int requests_at_once = 16;
};

/// Reads all of a run again and checks it: every checksum, the bytes around the values, the index
/// against the values (bytes, lengths, counts and reductions, bit for bit), and the files of a
/// worker against each other.
///
/// Damage never ends the check: the rest of a damaged file is skipped, and the other files are
/// checked. A hundred findings per file are listed, and the others are counted. A run that goes on
/// is checked as far as it was committed when its file was read. Values above 256 MiB are checked
/// by checksum and counts. Throws MissingCollectionFiles where there is no run, and StoreError when
/// the run cannot be listed.
VerifyReport verify_run(const Store& store, const VerifyOptions& options = {});

}  // namespace cupel
