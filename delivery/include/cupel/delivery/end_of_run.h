#pragma once

#include <cstdint>
#include <string_view>

#include "cupel/store/store.h"

namespace cupel {

/// Writes that `worker` has ended its part of the run: the end marker of the run where it is the
/// only worker, else the worker's own marker, and the end marker if the markers of all workers are
/// there. The same in a local run and in a remote store.
///
/// Of workers that end at the same moment, the one that lists the markers last sees all of them.
/// The markers are not made durable: a power failure may remove them, and then the run has not
/// ended.
void write_end(Store& run, std::string_view worker, std::int64_t num_workers);

/// Removes what write_end() has written: the worker adds something to the run.
void remove_end(Store& run, std::string_view worker, std::int64_t num_workers);

/// Whether write_end() was called for the worker in this store, or for all workers of the run.
bool has_end(const Store& run, std::string_view worker);

}  // namespace cupel
