// The way from main() to the command line: the program's name, its terminals, signals and log
// messages. All of it runs in the thread of main(), before and after the command. A failure here,
// such as a lack of memory, is a message and exit code 2.

#include "command_main.h"

#include <unistd.h>

#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "command_line.h"
#include "command_log.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "exit_codes.h"
#include "stop_on_signal.h"
#include "terminal.h"
#include "wrapped_lines.h"

namespace cupel::command_detail {
namespace {

std::string program_name(int argc, char** argv, const std::string& otherwise) {
  if (argc < 1) return otherwise;
  std::string_view path = argv[0];
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return path.empty() ? otherwise : printable(path);
}

// Adds the definitions to the rules of the program. Returns whether all are legal; each that is not
// is a message.
bool add_definitions(std::vector<RuleDefinition> definitions, Program& program) {
  bool all_legal = true;
  for (RuleDefinition& definition : definitions) {
    try {
      program.rules.add(std::move(definition));
    } catch (const UsageError& error) {
      std::cerr << program.name << ": " << printable(error.what()) << '\n';
      all_legal = false;
    }
  }
  return all_legal;
}

}  // namespace

int command_main(int argc, char** argv, Program program,
                 std::vector<RuleDefinition> definitions) try {
  program.name = program_name(argc, argv, program.name);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  exit_on_signal();
  set_terminal(std::cout, terminal_at(STDOUT_FILENO));
  set_terminal(std::cerr, terminal_at(STDERR_FILENO));
  // Lines that do not go to a terminal stay whole, for programs that search them.
  std::optional<WrappedLines> out, err;
  if (::isatty(STDOUT_FILENO) != 0) out.emplace(std::cout, program.name);
  if (::isatty(STDERR_FILENO) != 0) {
    err.emplace(std::cerr, program.name);
    std::cerr << std::nounitbuf;  // a line is passed on when it has ended
  }
  const bool names_command = !arguments.empty() && !arguments.front().starts_with('-');
  const std::string whose = names_command ? program.name + ' ' + arguments.front() : program.name;
  set_log_sink(command_log_sink(whose, std::cerr));
  if (!add_definitions(std::move(definitions), program)) return kExitError;
  return run_command_line(program, arguments, std::cout, std::cerr);
} catch (const std::exception& error) {
  std::cerr << program.name << ": " << printable(error.what()) << '\n';
  return kExitError;
}

}  // namespace cupel::command_detail
