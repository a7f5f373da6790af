#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "command_context.h"
#include "cupel/core/printer.h"

namespace cupel::command_detail {

inline constexpr const char* kPurpose =
    "judges training runs by rules, while they run or afterwards";

/// The command line of a program: its commands, and what each of them takes.
///
/// A group of commands adds itself by a function of the form `void add_…(CommandLine&)`
/// (command_groups.h); a program adds commands of its own the same way (Program::own_commands).
class CommandLine {
 public:
  using Command = std::function<int(const CommandContext&)>;

  /// Borrows `program`. Results go to `out`, everything else to `err`.
  CommandLine(const Program& program, Printer out, Printer err);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Adds a command and returns the place for its options. `examples` are the last lines of its
  /// help. `run` returns the exit code; it is called after the options were filled.
  CLI::App* add(const std::string& name, const std::string& summary, const std::string& examples,
                Command run);
  /// Adds an example to the help of the program: the arguments, and what they are for.
  void add_example(const std::string& arguments, const std::string& purpose);

  /// Runs one command. Returns the exit code.
  int run(const std::vector<std::string>& arguments);

  const Program& program() const noexcept { return program_; }
  const CLI::App& app() const noexcept { return app_; }

 private:
  bool complete(const std::vector<std::string>& arguments) const;
  int refuse_unknown_command(const std::vector<std::string>& arguments) const;
  int refuse(const CLI::ParseError& error) const;
  int run_command();
  int written(int code) const;
  std::string name() const;

  const Program& program_;
  Printer out_;
  Printer err_;
  CLI::App app_;
  std::string examples_;  // of the program, a line each
  std::string command_name_;
  Command command_;
};

/// `text` with the name of the program in place of each "%".
std::string with_program_name(const std::string& text, const Program& program);

/// Accepts a decimal number in a range; anything else is an error that names the range.
CLI::Validator whole_number(std::uint64_t least,
                            std::uint64_t most = std::numeric_limits<std::int64_t>::max());
void add_json_option(CLI::App* app, bool& json, const std::string& shape);
void add_mode_option(CLI::App* app, std::string& mode);

/// Runs one command of the program. Returns the exit code (exit_codes.h); never throws for anything
/// that a user can cause.
int run_command_line(const Program& program, const std::vector<std::string>& arguments, Printer out,
                     Printer err);

}  // namespace cupel::command_detail
