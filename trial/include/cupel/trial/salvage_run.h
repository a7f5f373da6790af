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
  std::string file;                              ///< Key in the run that was read.
  std::uint64_t offset = 0;                      ///< Where in the file the part begins.
  std::optional<std::uint64_t> rows = {};        ///< Rows of the index; nothing where nobody knows.
  std::uint64_t values = 0;                      ///< Values of rows that were written without them.
  std::optional<std::int64_t> after_step = {};   ///< The last step written before it, if any.
  std::optional<std::int64_t> before_step = {};  ///< The first step written behind it, likewise.
  std::string problem = {};                      ///< In words; names of tensors are as in the file.
};

/// What salvage_run() wrote, and what it left out.
struct SalvageReport {
  std::size_t segments = 0;
  std::uint64_t steps = 0;        ///< Distinct global steps.
  std::uint64_t rows = 0;         ///< Tensors at steps, without those of the hook itself.
  std::uint64_t values = 0;       ///< Raw values of them, in index and events files.
  std::uint64_t value_bytes = 0;  ///< Of these values, those in the index included.
  bool ended = false;             ///< What was written is a run that has ended.
  bool stopped = false;           ///< The call was stopped, and what was written is not all.
  /// By worker and segment. Of one file a hundred values are told; the entry behind them has the
  /// number of the others.
  std::vector<LeftOut> left_out;
};

struct SalvageOptions {
  /// Called now and then with the bytes read so far and those that are to be read.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  std::stop_token stop = {};  ///< Ends the call early.
};

/// Writes a run with everything that is whole in another one, which stays as it is: the rows of
/// each index batch that has its checksum, wherever the damage is (SalvagedIndex tells what is
/// trusted); the values that have theirs; collections; the marks of the end.
///
/// A row whose value is damaged stays, with its reductions, as one whose value was not saved. Rows
/// that a later attempt hides are not written. Segments are sealed and numbered anew, so that
/// verify_run() finds no damage in what was written. Where a collections file is damaged, the
/// worker gets the collections of another one, or none.
///
/// Throws UsageError unless `to` is empty and can append, MissingCollectionFiles where there is no
/// run, Error where nothing of it is whole, StoreError. What was written before stays in `to`.
SalvageReport salvage_run(const Store& from, Store& to, const SalvageOptions& options = {});

}  // namespace cupel
