#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/printer.h"
#include "cupel/rules/verdict_line.h"

namespace cupel {

/// Prints what became of each rule as a table, and below it why: each message once, with the names
/// of its rules, but for `said_elsewhere`. `fired` counts steps by the rule's name.
void print_closing_table(const std::vector<VerdictLine>& closing,
                         const std::map<std::string, std::int64_t>& fired,
                         std::string_view said_elsewhere, Printer out);

}  // namespace cupel
