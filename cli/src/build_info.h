#pragma once

#include <iosfwd>
#include <string>

namespace cupel {

/// "cupel X.Y.Z", as `cupel --version` prints it.
std::string version_line();

/// Prints what is built into this command: versions, stores, compiler and libraries.
void print_build_info(bool json, std::ostream& out);

}  // namespace cupel
