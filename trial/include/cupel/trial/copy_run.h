#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "cupel/store/store.h"

namespace cupel {

/// The result of copy_run().
struct CopyReport {
  /// The number of files in the copy.
  std::size_t files = 0;
  /// The bytes that were copied.
  std::uint64_t bytes = 0;
  /// The number of distinct global steps in the copy.
  std::uint64_t steps = 0;
  /// The run had ended when the copy began, and the copy is an ended run.
  bool ended = false;
  /// The copy was stopped and holds a part of the run.
  bool stopped = false;
};

struct CopyOptions {
  /// Called from time to time, one call at a time, with the bytes that are copied and the bytes
  /// that were listed when the copy began.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  /// A stop request ends the copy early.
  std::stop_token stop = {};
  /// So many segments are copied at the same time if every request to one of the stores costs time
  /// (Store::can_append() is false).
  int requests_at_once = 16;
};

/// Copies a run, also one that is being written: the copy is what a reader of `from` could have
/// seen at one moment after the call.
///
/// The copy has what is committed. Values are copied before the index that points to them. The end
/// markers are copied last, and only if they were there before everything else was listed. So a
/// reader of `to` sees a run that grows, while `to` is filled and after an interrupted copy. Every
/// index file is checked while it is read; values are not (verify_run() checks them). A request to
/// stop the training is not copied.
///
/// Throws UsageError unless `to` is empty, MissingCollectionFiles where there is no run,
/// FormatError for damage, and Error if another run replaced the run meanwhile. Files that were
/// copied before the error stay in `to`, which is no longer empty then.
CopyReport copy_run(const Store& from, Store& to, const CopyOptions& options = {});

}  // namespace cupel
