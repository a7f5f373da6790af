#pragma once

#include <string>

#include "cupel/core/printer.h"

namespace cupel::command_detail {

/// Returns "cupel X.Y.Z", which `--version` prints.
std::string version_line();

/// Prints what is built into the program: versions, stores, compiler and libraries.
void print_build_info(bool json, Printer out);

}  // namespace cupel::command_detail
