#include <memory>
#include <string>

#include "command_groups.h"
#include "exit_codes.h"
#include "manual_page.h"
#include "word_completion.h"

namespace cupel::command_detail {
namespace {

void add_completion(CommandLine& line) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* app =
      line.add("completion", "Print the script with which a shell completes commands and names",
               "  source <(% completion bash)\n"
               "  % completion zsh > ~/.zfunc/_%\n"
               "  % completion fish > ~/.config/fish/completions/%.fish",
               [shell](const CommandContext& context) {
                 print_completion_script(*shell, context.program.name, context.out);
                 return kExitFine;
               });
  app->add_option("SHELL", *shell, "bash, zsh or fish")->required();
}

struct HelpOptions {
  std::string command;  // empty: all commands
  bool manual = false;
};

void add_help(CommandLine& line) {
  const auto options = std::make_shared<HelpOptions>();
  CLI::App* app = line.add("help", "Show the help of a command", "  % help\n  % help watch",
                           [options, &line](const CommandContext& context) {
                             if (options->manual) {
                               print_manual_page(line.app(), context.out);
                               return kExitFine;
                             }
                             const std::string help = "--help";
                             CommandLine another(context.program, context.out, context.err);
                             return options->command.empty()
                                        ? another.run({help})
                                        : another.run({options->command, help});
                           });
  app->add_option("COMMAND", options->command, "the command; default: all commands are listed");
  app->add_flag("--manual", options->manual,
                with_program_name("print the manual page %(1), in troff", line.program()))
      ->excludes(app->get_option("COMMAND"));
}

}  // namespace

void add_shell_commands(CommandLine& line) {
  add_completion(line);
  add_help(line);
}

}  // namespace cupel::command_detail
