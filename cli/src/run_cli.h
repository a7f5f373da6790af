#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace cupel {

// What a command ends with; 2 wins over 1.
inline constexpr int kExitFine = 0;
inline constexpr int kExitFound = 1;  // a rule's condition was met or cannot be, or runs differ
inline constexpr int kExitError = 2;

/// Runs one command of `cupel`: results go to `out`, everything else to `err`. Returns the exit
/// code; never throws for anything that a user can cause.
int run_cli(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace cupel
