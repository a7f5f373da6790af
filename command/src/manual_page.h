#pragma once

#include "cupel/core/printer.h"

namespace CLI {
class App;
}

namespace cupel::command_detail {

/// Prints the manual page of the program in troff: the help of all its commands.
void print_manual_page(const CLI::App& app, Printer out);

}  // namespace cupel::command_detail
