#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cupel/store/store.h"

namespace cupel {

/// A part of a run that salvage_run() left out.
struct LeftOut {
  /// The key of the file in the run that was read.
  std::string file;
  /// The byte in the file where the part begins.
  std::uint64_t offset = 0;
  /// The number of index rows in the part; nothing if it is unknown.
  std::optional<std::uint64_t> rows = {};
  /// The number of values that were left out of rows that were written.
  std::uint64_t values = 0;
  /// The last step that was written before the part, if any.
  std::optional<std::int64_t> after_step = {};
  /// The first step that was written behind the part, if any.
  std::optional<std::int64_t> before_step = {};
  /// The problem in words. Names of tensors in it are as they are in the file, also unprintable.
  std::string problem = {};
};

/// The result of salvage_run(): what was written, and what was left out.
struct SalvageReport {
  /// The number of segments that were written.
  std::size_t segments = 0;
  /// The number of distinct global steps that were written.
  std::uint64_t steps = 0;
  /// The number of index rows that were written, without those of the hook's own tensors.
  std::uint64_t rows = 0;
  /// The number of raw values of these rows, in index files and events files.
  std::uint64_t values = 0;
  /// The bytes of these values.
  std::uint64_t value_bytes = 0;
  /// The written run has ended.
  bool ended = false;
  /// The call was stopped, and the written run is incomplete.
  bool stopped = false;
  /// The parts that were left out, by worker and segment. A hundred values per file are listed; the
  /// entry behind them has the number of the others.
  std::vector<LeftOut> left_out;
};

struct SalvageOptions {
  /// Called from time to time with the bytes that are read and the bytes to read.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  /// A stop request ends the call early.
  std::stop_token stop = {};
};

/// Writes a new run with everything that is undamaged in another one, which stays as it is: the
/// rows of each index batch that has its checksum, wherever the damage is (SalvagedIndex defines
/// what is trusted); the values that have their checksums; collections; end markers.
///
/// A row whose value is damaged is written with its reductions, as a row whose value was not saved.
/// Rows that a later attempt hides are not written. Segments are sealed and numbered anew, so that
/// verify_run() finds no damage in the new run. A worker whose collections file is damaged gets the
/// collections of another worker, or none.
///
/// Throws UsageError unless `to` is empty and can append, MissingCollectionFiles where there is no
/// run, Error if nothing of it is undamaged, and StoreError. What was written before the error
/// stays in `to`.
SalvageReport salvage_run(const Store& from, Store& to, const SalvageOptions& options = {});

}  // namespace cupel
