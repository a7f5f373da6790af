#pragma once

#include <string>

#include "cupel/delivery/seal_segments.h"

namespace cupel {

/// Seals the segments that killed writers have left open in a run's directory. The run then has
/// plain Arrow files only.
///
/// The committed rows stay the same. Bytes behind the last committed step are removed. A damaged
/// file is reported and stays as it is; the others are sealed. A call may be interrupted at any
/// point and repeated.
///
/// Throws UsageError, before any change, while a process writes the run; MissingCollectionFiles
/// where there is no run; StoreError when a file cannot be read or written.
SealReport seal_run(const std::string& directory);

}  // namespace cupel
