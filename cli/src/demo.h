#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_context.h"

namespace cupel {

struct DemoOptions {
  /// The place of the runs: a directory or s3://bucket/prefix. The demo writes the directories
  /// healthy, vanishing and exploding there, and the rule in Lua that judges them,
  /// loss_plateau.lua. It replaces those of an earlier demo.
  std::string directory = "cupel-demo";
  /// The seed that everything random follows from.
  std::uint64_t seed = 1;
  /// The path of the program that trains with libtorch (`--torch`). Unset: this process trains
  /// small networks itself.
  std::optional<std::string> torch_program = std::nullopt;
};

/// Trains three networks, one of them well and two of them badly, saves what happens, and has
/// built-in rules and one in Lua judge each training while it runs.
///
/// Reports its progress on the output, which ends with commands that look into the runs. Returns 0
/// where every run was judged as announced, 1 where one was not, and 2 after an error.
int run_demo(const DemoOptions& options, const command_detail::CommandContext& context);

/// Adds the command `demo`.
void add_demo(command_detail::CommandLine& line);

}  // namespace cupel
