#pragma once

#include <cstdint>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"

namespace cupel {

/// A collection that is saved, the data saved of its tensors, and the steps.
struct SavedCollection {
  Collection collection;   ///< With all its patterns.
  SaveConfig save_config;  ///< Complete: every mode given.
  bool raw = false;
  bool shape = false;
  ReductionSet reductions = {};
};

/// The contents of a run that is written as it is configured.
struct SavingPlan {
  std::vector<SavedCollection> saved;
  Collections known;  ///< With their patterns, saved or not.
  SaveConfig hook;    ///< When a collection is saved that says nothing itself; complete.
  Profile profile = Profile::Generic;
  std::int64_t num_workers = 1;
  bool all_workers = false;  ///< Every worker writes, not the chief alone.
};

}  // namespace cupel
