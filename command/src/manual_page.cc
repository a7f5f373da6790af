// The manual page, from the help of all commands, in the macros of troff's man. The command line is
// the only source: a command or an option that it gains is on the page. Every text is escaped, so
// that none is a request or an escape sequence of troff. One thread runs this code, and nothing in
// it fails.

#include "manual_page.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "build_info.h"
#include "command_line.h"
#include "cupel/core/ascii.h"
#include "text_replacement.h"

namespace cupel::command_detail {
namespace {

// Returns a text that troff prints as it is: no part of it is a request or an escape.
std::string troff(std::string_view text) {
  constexpr std::string_view kEllipsis = "…";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kEllipsis)) {
      result += "...";
      i += kEllipsis.size() - 1;
      continue;
    }
    const char c = text[i];
    const bool begins_line = result.empty() || result.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '"') {
      result += "\\(dq";
    } else {
      result += c;
    }
  }
  return result;
}

void print_option(const CLI::Option& option, Printer out) {
  const bool is_positional = option.get_positional();
  std::string names = is_positional ? option.get_name(true) : option.get_name(false, true);
  for (std::size_t at = names.find(','); at != std::string::npos; at = names.find(',', at + 2))
    names.insert(at + 1, " ");
  out << ".TP\n\\fB" << troff(names) << "\\fR";
  if (!is_positional && option.get_items_expected_max() > 0)
    out << " \\fI" << troff(option.get_type_name()) << "\\fR";
  out << '\n' << troff(option.get_description());
  if (!option.get_default_str().empty())
    out << " (default: " << troff(option.get_default_str()) << ')';
  out << '\n';
}

void print_options(const CLI::App& app, Printer out) {
  for (const bool positional : {true, false})
    for (const CLI::Option* option : app.get_options())
      if (option->get_positional() == positional) print_option(*option, out);
}

// Prints lines that begin with two blanks as they are, and the others as paragraphs.
void print_footer(const std::string& footer, Printer out) {
  std::istringstream lines(footer);
  bool as_is = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_shown = line.starts_with("  ");
    if (is_shown != as_is) out << Composed{is_shown ? ".PP\n.nf\n" : ".fi\n"};
    as_is = is_shown;
    if (line.empty()) {
      out << ".PP\n";
    } else {
      out << troff(line) << '\n';
    }
  }
  if (as_is) out << ".fi\n";
}

}  // namespace

void print_manual_page(const CLI::App& app, Printer out) {
  const std::string program = troff(app.get_name());
  std::string title = upper_case(program);
  replace_all(title, " ", "\\ ");  // the title is one argument
  out << ".TH " << title << " 1 \"\" \"" << troff(version_line()) << "\" \"User Commands\"\n"
      << ".SH NAME\n"
      << program << " \\- " << troff(kPurpose) << '\n'
      << ".SH SYNOPSIS\n\\fB" << program
      << "\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...] [\\fIOPTION\\fR...]\n"
      << ".SH OPTIONS\n";
  print_options(app, out);
  out << ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    out << ".SS " << program << ' ' << troff(command->get_name());
    for (const CLI::Option* option : command->get_options())
      if (option->get_positional())
        out << ' '
            << troff(option->get_required() ? option->get_name(true)
                                            : '[' + option->get_name(true) + ']');
    out << '\n' << troff(command->get_description()) << ".\n";
    print_options(*command, out);
    out << ".PP\n";
    print_footer(command->get_footer(), out);
  }
  out << ".SH NOTES\n";
  print_footer(app.get_footer(), out);
}

}  // namespace cupel::command_detail
