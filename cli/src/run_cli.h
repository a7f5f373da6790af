#pragma once

#include <string>
#include <vector>

#include "command_context.h"
#include "cupel/core/printer.h"

namespace cupel {

/// The program `cupel`: every command of the room command, and `demo`.
command_detail::Program cupel_program();

/// Runs one command of `cupel`: results go to `out`, everything else to `err`. Returns the exit
/// code; never throws for anything that a user can cause.
int run_cli(const std::vector<std::string>& arguments, Printer out, Printer err);

}  // namespace cupel
