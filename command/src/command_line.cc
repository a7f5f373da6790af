// The command line of a program. The groups of commands (reading_commands.cc, rule_commands.cc,
// run_commands.cc, shell_commands.cc) add themselves to a CLI::App; this file parses the arguments,
// refuses wrong ones, and runs the command. A command ends with exit code 2 by throwing an
// exception, and run_command() prints its message, each line with the prefix "cupel COMMAND: ".
// Everything runs in the thread of main().

#include "command_line.h"

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

#include "build_info.h"
#include "command_groups.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "exit_codes.h"
#include "missing_run.h"
#include "terminal.h"
#include "text_replacement.h"
#include "word_completion.h"

namespace cupel::command_detail {
namespace {

constexpr std::size_t kExampleColumns = 46;  // of an example, before its purpose

std::string commands_text(const Program& program, const std::vector<std::string>& names) {
  std::string text = " the commands are";
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? " " : ", ") + names[i];
  return text + " (" + program.name + " --help)";
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

void print_error_lines(const CommandContext& context, std::string_view message) {
  std::size_t begin = 0;
  while (begin <= message.size()) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    context.message() << printable(message.substr(begin, end - begin), kMostMessageBytes) << '\n';
    begin = end + 1;
  }
}

}  // namespace

CommandLine::CommandLine(const Program& program, Printer out, Printer err)
    : program_(program), out_(out), err_(err), app_(program.name + ": " + kPurpose, program.name) {
  app_.require_subcommand(1);
  app_.set_version_flag("--version", version_line());
  for (const auto add_own : program.own_commands) add_own(*this);
  add_example("watch runs/mnist --rule VanishingGradient --rule ExplodingTensor", "");
  add_example("info runs/mnist", "");
  add_example("COMMAND --help", "options and examples of a command");
  app_.footer(
      "examples\n" + examples_ +
      "\nexit codes: 0 fine; 1 a rule's condition was met or cannot be met, or runs differ;\n"
      "            2 an error, or something asked for by name is missing;\n"
      "            130 interrupted by a signal (Ctrl-C)");
  add_reading_commands(*this);
  add_rule_commands(*this);
  add_run_commands(*this);
  add_shell_commands(*this);
}

CLI::App* CommandLine::add(const std::string& name, const std::string& summary,
                           const std::string& examples, Command run) {
  CLI::App* app = app_.add_subcommand(name, summary);
  app->footer("examples\n" + with_program_name(examples, program_));
  app->final_callback([this, name, run = std::move(run)] {
    command_name_ = name;
    command_ = run;
  });
  return app;
}

void CommandLine::add_example(const std::string& arguments, const std::string& purpose) {
  std::string line = "  " + program_.name + ' ' + arguments;
  if (!purpose.empty()) line.append(std::max(line.size(), kExampleColumns) + 2 - line.size(), ' ');
  examples_ += line + purpose + '\n';
}

int CommandLine::run(const std::vector<std::string>& arguments) {
  if (complete(arguments)) return written(kExitFine);
  if (const int code = refuse_unknown_command(arguments); code != kExitFine) return code;
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app_.parse(reversed);
  } catch (const CLI::Success& answer) {  // help and version
    std::ostringstream text;
    const int code = app_.exit(answer, text, text);
    out_ << Composed{text.str()};
    return code == 0 ? written(kExitFine) : kExitError;
  } catch (const CLI::ParseError& error) {
    return refuse(error);
  }
  return run_command();
}

// Prints the words that a script of `completion` asks for, whatever the words of the line are.
bool CommandLine::complete(const std::vector<std::string>& arguments) const {
  if (arguments.size() < 2 || arguments[0] != "completion") return false;
  std::vector<std::string> words;
  if (arguments[1] == "--words") {
    words = complete_words(app_, program_, {arguments.begin() + 2, arguments.end()});
  } else if (arguments[1] == "--line" && arguments.size() == 4) {
    words = complete_bash_line(app_, program_, arguments[2], arguments[3]);
  } else {
    return false;
  }
  for (const std::string& word : words) out_ << word << '\n';
  return true;
}

int CommandLine::refuse_unknown_command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_.get_subcommands({})) names.push_back(command->get_name());
  if (arguments.empty()) {
    err_ << program_.name << ": which command?" << commands_text(program_, names) << '\n';
    return kExitError;
  }
  const std::string& first = arguments.front();
  if (first.starts_with('-') || std::ranges::find(names, first) != names.end()) return kExitFine;
  const std::string question = did_you_mean(first, names);
  err_ << program_.name << ": unknown command \"" << printable(first) << '"'
       << (question.empty() ? ";" + commands_text(program_, names) : question) << '\n';
  return kExitError;
}

// Reports what is wrong with the command line. An unknown option is reported first: it is the
// likelier cause of everything else that is missing.
int CommandLine::refuse(const CLI::ParseError& error) const {
  const auto chosen = app_.get_subcommands();
  const CLI::App& app = chosen.empty() ? app_ : *chosen.front();
  const std::string whose = chosen.empty() ? program_.name : program_.name + ' ' + app.get_name();
  err_ << whose << ": ";
  const std::vector<std::string> rest = app.remaining();
  const auto option = std::ranges::find_if(
      rest, [](const std::string& text) { return text.size() > 1 && text.starts_with('-'); });
  if (option != rest.end()) {
    const std::string given = option->substr(0, option->find('='));
    err_ << "unknown option " << printable(given) << did_you_mean(given, option_names(app));
  } else if (!rest.empty()) {
    err_ << "unexpected argument \"" << printable(rest.front()) << '"';
    if (app.get_name() == "watch" || app.get_name() == "check")
      err_ << "; each rule takes a --rule of its own";
  } else {
    err_ << printable(error.what());
  }
  err_ << "\n" << whose << " --help shows what it takes\n";
  return kExitError;
}

int CommandLine::run_command() {
  // Output that programs read or that is kept in a file is neither wrapped nor coloured.
  for (const char* const name : {"--json", "--new", "--emit-hook-config"}) {
    const CLI::Option* const option = app_.get_subcommands().front()->get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) set_terminal(out_, {});
  }
  const CommandContext context{program_, command_name_, out_, err_};
  try {
    return written(command_(context));
  } catch (const MissingCollectionFiles& error) {
    out_.flush();
    print_error_lines(context, missing_run_text(error));
  } catch (const std::exception& error) {
    out_.flush();
    print_error_lines(context, error.what());
  }
  return kExitError;
}

// Returns `code`, or kExitError where a part of the output could not be written.
int CommandLine::written(int code) const {
  out_.flush();
  if (out_.is_good()) return code;
  err_ << name() << ": the results could not be written\n";
  return kExitError;
}

std::string CommandLine::name() const {
  return command_name_.empty() ? program_.name : program_.name + ' ' + command_name_;
}

std::string with_program_name(const std::string& text, const Program& program) {
  std::string result = text;
  replace_all(result, "%", program.name);
  return result;
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto read = [least, most](std::string& text) -> std::string {
    const auto number = parse_integer<std::uint64_t>(text);
    if (number && *number >= least && *number <= most) {
      text = std::to_string(*number);  // without leading zeros, which CLI11 would read as octal
      return {};
    }
    const bool has_end = most < std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    return "takes a whole number " +
           (has_end ? "from " + std::to_string(least) + " to " + std::to_string(most)
                    : "of at least " + std::to_string(least)) +
           ", not \"" + printable(text) + '"';
  };
  return CLI::Validator(read, "");
}

void add_json_option(CLI::App* app, bool& json, const std::string& shape) {
  app->add_flag("--json", json, "print " + shape);
}

void add_mode_option(CLI::App* app, std::string& mode) {
  app->add_option("--mode", mode, "TRAIN, EVAL, PREDICT or GLOBAL (all)")->capture_default_str();
}

int run_command_line(const Program& program, const std::vector<std::string>& arguments, Printer out,
                     Printer err) {
  try {
    return CommandLine(program, out, err).run(arguments);
  } catch (const std::exception& error) {
    err << program.name << ": " << printable(error.what()) << '\n';
    return kExitError;
  }
}

}  // namespace cupel::command_detail
