#pragma once

#include <chrono>
#include <memory>

#include "cupel/trial/trial_clock.h"

namespace cupel {

/// How often a trial polls its run, and how it requests values, in a store in which every request
/// costs time and money, and objects are only put whole (Store::can_append() is false). In other
/// stores only `clock` has an effect. No time may be negative: UsageError.
///
/// A poll is one request, and one more for each new index file. All views of a run share its polls.
struct PollingOptions {
  /// Threads that wait poll no sooner than this after the poll before; queries poll when the last
  /// poll is that old. Trial::refresh() always polls.
  std::chrono::milliseconds min_interval = std::chrono::milliseconds(250);
  /// Threads that wait poll no later than this after the poll before: the sooner, the nearer the
  /// moment when news are expected, which is when as much time has passed as between the last two.
  /// If this is less than `min_interval`, then that is the upper bound.
  std::chrono::milliseconds max_interval = std::chrono::milliseconds(5000);
  /// A poll asks for all files, at the cost of a few more requests, this long after the last one
  /// that did. Until then a worker that is far behind the others, or the end of one of several
  /// workers, may go unnoticed; new tensors, collections and the end of the run do not.
  std::chrono::milliseconds full_interval = std::chrono::seconds(60);
  /// A value's object may be missing this long after the index file that names it was first read.
  /// Threads that ask for the value wait until then; later it is TensorUnavailableForStep.
  std::chrono::milliseconds value_timeout = std::chrono::seconds(60);
  /// So many objects are requested at the same time; at least 1, else UsageError.
  int requests_at_once = 16;
  /// The clock of all intervals and timeouts of the trial; default: the clock of the machine.
  std::shared_ptr<const TrialClock> clock = nullptr;
};

}  // namespace cupel
