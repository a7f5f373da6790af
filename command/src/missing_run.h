#pragma once

#include <string>

#include "cupel/core/error.h"

namespace cupel::command_detail {

/// Returns the reason why a path is no run, for people: "There is no directory nope", or "runs is
/// not a run; below it are: runs/mlp".
std::string missing_run_text(const std::string& path);

/// Returns the same for an exception; its own message where the run exists and is incomplete.
std::string missing_run_text(const MissingCollectionFiles& error);

/// Throws UsageError where the directory of a file to be written is missing.
void require_directory_of(const std::string& file);

/// Returns the runs below a directory, "runs/cnn, runs/mlp and 3 more"; empty if there are none.
std::string runs_below_text(const std::string& path);

}  // namespace cupel::command_detail
