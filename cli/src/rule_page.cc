#include "rule_page.h"

#include <cctype>
#include <limits>
#include <sstream>

#include "cupel/rules/printable.h"
#include "filled_text.h"
#include "rule_spec.h"
#include "shell_text.h"
#include "table.h"

namespace cupel {
namespace {

constexpr std::size_t kTerminalWidth = 80;
constexpr std::size_t kDocumentWidth = 100;
constexpr std::string_view kMadeBy = "<!-- Made by `cupel rules --markdown`. -->\n\n";

// Text that is no Markdown, for a paragraph or a cell of a table. "<" begins a tag before a letter.
std::string escaped(std::string_view text) {
  std::string result;
  bool after_less = false;
  for (const char c : printable(text)) {
    if (after_less && std::isalpha(static_cast<unsigned char>(c)) != 0)
      result.insert(result.size() - 1, 1, '\\');
    if (std::string_view("\\`*|").find(c) != std::string_view::npos) result += '\\';
    result += c;
    after_less = c == '<';
  }
  return result;
}

// In a cell of a table; a bar ends it, also within backquotes.
std::string code_cell(std::string_view text) {
  std::string result = "`";
  for (const char c : printable(text)) result += c == '|' ? "\\|" : std::string(1, c);
  return result + "`";
}

// With the parameters that `value_of(parameter)` gives a value, each quoted by itself.
template <class F>
std::string command(const RulePage& page, F&& value_of) {
  std::string text = "cupel watch TRIAL --rule " + page.name;
  for (const RulePage::Parameter& parameter : page.parameters)
    if (const std::string value = value_of(parameter); !value.empty())
      text += "," + parameter.name + "=" + quoted_for_shell(value);
  return text;
}

std::string example_command(const RulePage& page) {
  const RuleParameters given = parse_rule_spec(page.example).parameters;
  return command(page, [&](const RulePage::Parameter& parameter) {
    const auto found = given.find(parameter.name);
    return found == given.end() ? std::string() : found->second;
  });
}

// Every parameter that has a default; those without one as in the example, which has all that the
// rule requires.
std::string default_command(const RulePage& page) {
  const RuleParameters given = parse_rule_spec(page.example).parameters;
  return command(page, [&](const RulePage::Parameter& parameter) {
    const auto found = given.find(parameter.name);
    return !parameter.default_value.empty() || found == given.end() ? parameter.default_value
                                                                    : found->second;
  });
}

std::string code_block(const std::string& text) { return "```sh\n" + text + "\n```\n"; }

}  // namespace

RulePage page_of(const BuiltinRule& rule) {
  RulePage page{.name = std::string(rule.name),
                .summary = std::string(rule.summary),
                .reads = rule.reads,
                .description = filled(rule.description, std::numeric_limits<std::size_t>::max()),
                .example = std::string(rule.example),
                .parameters = {}};
  while (page.description.ends_with('\n')) page.description.pop_back();
  for (const ParameterInfo& parameter : rule.parameters)
    page.parameters.push_back({std::string(parameter.name), std::string(parameter.kind),
                               std::string(parameter.default_value), std::string(parameter.help)});
  return page;
}

std::string text_of(const RulePage& page) {
  std::ostringstream out;
  out << page.name << ": " << page.summary << "\n\n"
      << filled(page.description, kTerminalWidth) << "\nreads  " << page.reads << "\n\n";
  Table table({"PARAMETER", "TYPE", "DEFAULT", ""});
  for (const RulePage::Parameter& parameter : page.parameters)
    table.add({parameter.name, parameter.type,
               parameter.default_value.empty() ? "-" : parameter.default_value, parameter.help});
  table.print(out);
  out << '\n' << default_command(page) << '\n' << example_command(page) << '\n';
  return out.str();
}

std::string markdown_of(const RulePage& page) {
  std::string text = "# " + escaped(page.name) + "\n\n" + std::string(kMadeBy);
  text += filled("Fires on: " + escaped(page.summary) + ".\n\nReads: " + escaped(page.reads) + ".",
                 kDocumentWidth);
  text += "\n## What it does\n\n" + filled(page.description, kDocumentWidth);
  text += "\n## Parameters\n\n| name | type | default | |\n| --- | --- | --- | --- |\n";
  for (const RulePage::Parameter& parameter : page.parameters) {
    const std::string& value = parameter.default_value;
    text += "| " + code_cell(parameter.name) + " | " + escaped(parameter.type) + " | " +
            (value.empty() ? "" : code_cell(value) + " ") + "| " + escaped(parameter.help) + " |\n";
  }
  text +=
      "\n## On the command line\n\nWith its defaults; what it requires beside them is an "
      "example:\n\n";
  text += code_block(default_command(page)) + "\nAn example:\n\n";
  return text + code_block(example_command(page));
}

std::string markdown_index(std::span<const RulePage> pages) {
  std::string text = "# The built-in rules\n\n" + std::string(kMadeBy) +
                     "What `cupel rules NAME` prints of each of them.\n\n"
                     "| rule | fires on |\n| --- | --- |\n";
  for (const RulePage& page : pages)
    text +=
        "| [" + escaped(page.name) + "](" + page.name + ".md) | " + escaped(page.summary) + " |\n";
  return text;
}

}  // namespace cupel
