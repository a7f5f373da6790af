#pragma once

#include <cstdint>
#include <string_view>

#include "cupel/store/store.h"
#include "step_counters.h"

namespace cupel::writer_detail {

/// Where a worker's run goes on: the counters of the last step that is known of it, all -1 for a
/// worker that left nothing.
///
/// Two sources are joined, and the larger number counts: what the collections file has about the
/// close of the newest attempt, and the rows in the worker's index files. Of the rows an attempt
/// that begins at step s hides those of earlier attempts from s on. Index files are read from the
/// newest backwards, without values, until nothing older can matter: every mode was seen, or the
/// collections file covers the rest.
///
/// A last message that a killed process left incomplete is passed over. A damaged file is a
/// warning; what comes before the damage counts. No writer of this worker may be active. Throws
/// StoreError when the store cannot be read.
StepCounters last_steps(const Store& store, std::string_view worker);

/// The last global step of which the worker's index files have rows that no later attempt hides; -1
/// if there is none. Reads index files as last_steps() does, as far as the newest that has such
/// rows.
std::int64_t last_saved_step(const Store& store, std::string_view worker);

}  // namespace cupel::writer_detail
