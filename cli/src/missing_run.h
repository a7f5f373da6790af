#pragma once

#include <string>

#include "cupel/core/error.h"

namespace cupel {

/// Why there is no run in a place that a user named, for people: "There is no directory nope", or
/// "runs is not a run; below it are: runs/mlp".
std::string missing_run_text(const std::string& path);

/// The same of what an engine threw; its own words where the run is there and not whole.
std::string missing_run_text(const MissingCollectionFiles& error);

/// Throws UsageError unless the directory is there that a file or object is to be written to.
void require_directory_of(const std::string& file);

/// "runs/cnn, runs/mlp and 3 more": runs below a directory that is none; empty if there are none.
std::string runs_below_text(const std::string& path);

}  // namespace cupel
