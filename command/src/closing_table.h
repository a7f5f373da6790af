#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/printer.h"
#include "cupel/rules/verdict_line.h"

namespace cupel::command_detail {

/// Prints a table with the final status of each rule. Below the table is each message once, with
/// the names of its rules; a message that is the same as `printed_elsewhere` is left out. `fired`
/// has the number of steps at which each rule fired, by the name of the rule.
void print_closing_table(const std::vector<VerdictLine>& closing,
                         const std::map<std::string, std::int64_t>& fired,
                         std::string_view printed_elsewhere, Printer out);

}  // namespace cupel::command_detail
