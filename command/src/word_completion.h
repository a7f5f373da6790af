#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_context.h"

namespace CLI {
class App;
}

namespace cupel::command_detail {

/// Prints the script with which `shell` (bash, zsh or fish) completes the words of the program. The
/// script asks the program itself. Throws UsageError for another shell.
void print_completion_script(const std::string& shell, const std::string& program, Printer out);

/// Returns the words that may replace the last word of a command line that is being typed. `words`
/// are the words after the program's name, without a shell's quotes. The result is empty where the
/// shell knows better, as for files, and where a run cannot be read. Names with control characters
/// are left out.
std::vector<std::string> complete_words(const CLI::App& app, const Program& program,
                                        const std::vector<std::string>& words);

/// The same for a line as bash has it, up to the cursor: the replies replace the text behind the
/// last of the characters `breaks`, and are quoted, so that bash runs nothing that a name contains.
std::vector<std::string> complete_bash_line(const CLI::App& app, const Program& program,
                                            std::string_view line, std::string_view breaks);

}  // namespace cupel::command_detail
