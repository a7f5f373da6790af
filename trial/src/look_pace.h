#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cupel/store/store.h"
#include "cupel/trial/trial.h"
#include "look_rhythm.h"

namespace cupel::trial_detail {

/// The rhythm that all who look at one run share, so that what one has found serves the others. Any
/// thread.
class LookPace : public std::enable_shared_from_this<LookPace> {
 public:
  LookPace(std::shared_ptr<const TrialClock> clock, const TrialOptions& options);

  /// A look has ended, and found something or not.
  void looked(bool news);
  /// Whether the next look is due for those who wait.
  bool is_due() const;

  /// Says that the run may have changed when the next look is due, or another's look has found
  /// something: it is time that wakes it, nothing is asked of the store. changed() is true as soon
  /// as a look may be had.
  std::unique_ptr<Watch> watch();

 private:
  class PacedWatch;

  const std::shared_ptr<const TrialClock> clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  LookRhythm rhythm_;       // guarded by mutex_, as is the following
  std::uint64_t news_ = 0;  // how many looks found something
};

}  // namespace cupel::trial_detail
