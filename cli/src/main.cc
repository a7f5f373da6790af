#include <iostream>
#include <string>
#include <vector>

#include "command_log.h"
#include "run_cli.h"
#include "stop_on_signal.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  cupel::exit_on_signal();
  const bool names_command = !arguments.empty() && !arguments.front().starts_with('-');
  cupel::set_log_sink(
      cupel::command_log_sink(names_command ? arguments.front() : std::string(), std::cerr));
  return cupel::run_cli(arguments, std::cout, std::cerr);
}
