#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "cupel/store/store.h"

namespace cupel {

/// What copy_run() copied.
struct CopyReport {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t steps = 0;  ///< Distinct global steps.
  bool ended = false;       ///< The run had ended when the copy began, and so has the copy.
  bool stopped = false;     ///< The copy was stopped and holds a part of the run.
};

struct CopyOptions {
  /// Called now and then, one call at a time, with the bytes copied so far and those that were
  /// there to be copied.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  std::stop_token stop = {};  ///< Ends the copy early.
  /// How many segments are copied at once where one of the stores is such that every request costs
  /// time (Store::can_append() is false).
  int requests_at_once = 16;
};

/// Copies a run, also one that is being written: the copy is what a reader of `from` could have
/// seen at one moment after the call.
///
/// What is committed is copied, values before the index that points to them, and the marks of the
/// run's end last and only where they were there before anything else was looked at. So whoever
/// reads `to`, while it is filled or after the copy was interrupted, sees a run that grows. Every
/// index file is checked while it is read; values are not (verify_run() does). A request to stop
/// training is not copied.
///
/// Throws UsageError unless `to` is empty, MissingCollectionFiles where there is no run, and
/// FormatError for damage; Error where the run was replaced by another meanwhile. What was copied
/// before stays in `to`, which then is no longer empty.
CopyReport copy_run(const Store& from, Store& to, const CopyOptions& options = {});

}  // namespace cupel
