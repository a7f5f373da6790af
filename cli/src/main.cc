#include <unistd.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "run_cli.h"
#include "terminal.h"
#include "wrapped_lines.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  cupel::set_terminal(std::cout, cupel::terminal_at(STDOUT_FILENO));
  cupel::set_terminal(std::cerr, cupel::terminal_at(STDERR_FILENO));
  // Elsewhere lines stay whole, for programs that look for something in them.
  std::optional<cupel::WrappedLines> out, err;
  if (::isatty(STDOUT_FILENO) != 0) out.emplace(std::cout);
  if (::isatty(STDERR_FILENO) != 0) {
    err.emplace(std::cerr);
    std::cerr << std::nounitbuf;  // a line is passed on when it has ended
  }
  return cupel::run_cli(arguments, std::cout, std::cerr);
}
