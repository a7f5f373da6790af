#pragma once

#include <string>
#include <vector>

#include "cupel/core/printer.h"
#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule_catalog.h"

namespace cupel::command_detail {

class CommandLine;

/// The program whose command line this is: `cupel`, or a user's program that calls rules_main().
struct Program {
  /// The name by which the program was called, without its folder and printable. Messages, help,
  /// the manual page and the scripts for shells show this name.
  std::string name = "cupel";
  /// The rules that the program knows by name. Default: the built-in ones.
  RuleCatalog rules = builtin_rules();
  /// Each function adds a command that only this program has. These commands come first in the
  /// help.
  std::vector<void (*)(CommandLine&)> own_commands = {};
  /// The readers of files of rules in further languages than Lua.
  RuleFileReaders rule_files = {};
};

/// What a command runs with. A copy borrows the program and both streams.
struct CommandContext {
  const Program& program;
  std::string command;  ///< The name of the command: "watch".
  Printer out;          ///< Results go here.
  Printer err;          ///< Everything else goes here.

  /// "cupel watch".
  std::string name() const { return program.name + ' ' + command; }
  /// Begins a message on `err`, by "cupel watch: ".
  Printer message() const {
    err << name() << ": ";
    return err;
  }
};

}  // namespace cupel::command_detail
