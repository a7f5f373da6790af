#pragma once

#include "cupel/core/printer.h"

namespace CLI {
class App;
}

namespace cupel {

/// Prints the manual page cupel(1) in troff: what `--help` of all commands says.
void print_manual_page(const CLI::App& app, Printer out);

}  // namespace cupel
