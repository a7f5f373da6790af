#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/printer.h"

namespace CLI {
class App;
}

namespace cupel {

/// Prints the script with which `shell` (bash, zsh or fish) completes the words of `cupel`. The
/// script asks the command itself. Throws UsageError for another shell.
void print_completion_script(const std::string& shell, Printer out);

/// Returns what may stand in place of the last word of a command line that is being typed. `words`
/// are those after `cupel`, without a shell's quotes. Empty where the shell knows better: files, or
/// a run that cannot be read. Names with control characters are left out.
std::vector<std::string> complete_words(const CLI::App& app, const std::vector<std::string>& words);

/// The same for a line as bash has it, up to the cursor: its replies replace what follows the last
/// of the characters `breaks`, and are quoted, so that bash runs nothing that a name contains.
std::vector<std::string> complete_bash_line(const CLI::App& app, std::string_view line,
                                            std::string_view breaks);

}  // namespace cupel
