#pragma once

#include <string>

#include "cupel/core/printer.h"

namespace cupel {

/// "cupel X.Y.Z", as `cupel --version` prints it.
std::string version_line();

/// Prints what is built into this command: versions, stores, compiler and libraries.
void print_build_info(bool json, Printer out);

}  // namespace cupel
