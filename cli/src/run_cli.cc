#include "run_cli.h"

#include "command_line.h"
#include "demo.h"

namespace cupel {

command_detail::Program cupel_program() { return {.name = "cupel", .own_commands = {add_demo}}; }

int run_cli(const std::vector<std::string>& arguments, Printer out, Printer err) {
  return command_detail::run_command_line(cupel_program(), arguments, out, err);
}

}  // namespace cupel
