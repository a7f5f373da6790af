#pragma once

#include <iosfwd>

namespace CLI {
class App;
}

namespace cupel {

/// Prints the manual page cupel(1) in troff: what `--help` of all commands says.
void print_manual_page(const CLI::App& app, std::ostream& out);

}  // namespace cupel
