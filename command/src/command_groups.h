#pragma once

#include "command_line.h"

namespace cupel::command_detail {

inline constexpr const char* kTrialHelp = "the run: its directory";

/// Adds `info`, `steps`, `tensors`, `show` and `diff`.
void add_reading_commands(CommandLine& line);
/// Adds `watch`, `check` and `rules`.
void add_rule_commands(CommandLine& line);
/// Adds `verify`, `copy` and `sync`.
void add_run_commands(CommandLine& line);
/// Adds `completion` and `help`.
void add_shell_commands(CommandLine& line);

}  // namespace cupel::command_detail
