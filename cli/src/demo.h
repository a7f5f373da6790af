#pragma once

#include <cstdint>
#include <string>

#include "cupel/core/printer.h"

namespace cupel {

struct DemoOptions {
  /// A directory or s3://bucket/prefix. Where the runs go: the directories healthy, vanishing and
  /// exploding in it, and the rule in Lua that judges them, loss_plateau.lua. Those of an earlier
  /// demo are replaced.
  std::string directory = "cupel-demo";
  std::uint64_t seed = 1;  ///< Everything that is random follows from it.
};

/// Trains three small networks, one of them well and two of them badly, saves what happens, and has
/// built-in rules and one in Lua judge each training while it runs.
///
/// Tells what it does on `out`, ending with commands to look into the runs. Returns 0 when every
/// run was judged as announced, 1 when one was not, and 2 after an error, told on `err`.
int run_demo(const DemoOptions& options, Printer out, Printer err);

}  // namespace cupel
