#pragma once

#include <random>
#include <span>

#include "damage/damaged_run.h"
#include "power/recording_store.h"

namespace cupel::testing {

/// What becomes of bytes that were not synchronised when the power fails. Files meet it one by one:
/// nothing says that what was written first is on the medium first.
enum class Fate {
  Lost,        ///< The file is as it was when it was last synchronised.
  Kept,        ///< All of it is there.
  Zeros,       ///< It has its length, and zeros where the bytes should be.
  IndexKept,   ///< Index files are there, all else is lost,
  IndexZeros,  ///< or zeros;
  EventsKept,  ///< or the other way round: only events files are there.
  Random,      ///< Each file has a fate of its own, and of its blocks each.
};

/// The files that are found after the power failed behind these calls.
Files crash_image(std::span<const StoreCall> calls, Fate fate, std::mt19937_64& random);

}  // namespace cupel::testing
