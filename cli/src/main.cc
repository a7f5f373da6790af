#include <unistd.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "command_log.h"
#include "run_cli.h"
#include "stop_on_signal.h"
#include "terminal.h"
#include "wrapped_lines.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  cupel::exit_on_signal();
  cupel::set_terminal(std::cout, cupel::terminal_at(STDOUT_FILENO));
  cupel::set_terminal(std::cerr, cupel::terminal_at(STDERR_FILENO));
  // Elsewhere lines stay whole, for programs that look for something in them.
  std::optional<cupel::WrappedLines> out, err;
  if (::isatty(STDOUT_FILENO) != 0) out.emplace(std::cout);
  if (::isatty(STDERR_FILENO) != 0) {
    err.emplace(std::cerr);
    std::cerr << std::nounitbuf;  // a line is passed on when it has ended
  }
  const bool names_command = !arguments.empty() && !arguments.front().starts_with('-');
  cupel::set_log_sink(
      cupel::command_log_sink(names_command ? arguments.front() : std::string(), std::cerr));
  return cupel::run_cli(arguments, std::cout, std::cerr);
}
