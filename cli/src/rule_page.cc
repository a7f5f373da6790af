#include "rule_page.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "cupel/core/printable.h"
#include "filled_text.h"
#include "rule_spec.h"
#include "shell_text.h"
#include "table.h"
#include "terminal.h"

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
  std::string text = "cupel watch TRIAL --rule " + quoted_for_shell(page.spec);
  for (const RulePage::Parameter& parameter : page.parameters)
    if (const std::string value = value_of(parameter); !value.empty())
      text += "," + quoted_for_shell(parameter.name) + "=" + quoted_for_shell(value);
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
  const RuleParameters given =
      page.example.empty() ? RuleParameters() : parse_rule_spec(page.example).parameters;
  return command(page, [&](const RulePage::Parameter& parameter) {
    const auto found = given.find(parameter.name);
    return !parameter.default_value.empty() || found == given.end() ? parameter.default_value
                                                                    : found->second;
  });
}

// With the defaults, which may not be enough for a rule to say.
std::string needs_in_words(const LuaRuleFile& file, const std::string& rule) {
  try {
    const RuleNeeds needs = file.needs(rule);
    return needs.tensors.empty() ? "what its code asks for" : describe(needs);
  } catch (const ScriptError& error) {
    return "what its parameters say: " + error.problem;
  }
}

std::string code_block(const std::string& text) { return "```sh\n" + text + "\n```\n"; }

}  // namespace

RulePage page_of(const BuiltinRule& rule) {
  RulePage page{.name = std::string(rule.name),
                .spec = std::string(rule.name),
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

RulePage page_of(const LuaRuleFile& file, const LuaRuleInfo& rule) {
  RulePage page{.name = rule.name,
                .spec = file.path() + (file.rules().size() == 1 ? "" : ":" + rule.name),
                .summary = rule.summary,
                .reads = needs_in_words(file, rule.name),
                .description = {},
                .example = {},
                .parameters = {}};
  for (const LuaRuleInfo::Parameter& parameter : rule.parameters)
    page.parameters.push_back(
        {parameter.name, parameter.kind, parameter.default_value, parameter.help});
  if (rule.other_trials == 0) return page;
  page.parameters.push_back(
      {"other_trials", "list", "",
       "the runs to compare with, " + std::to_string(rule.other_trials) + " or more"});
  page.example = page.spec + ",other_trials=RUN";
  for (std::size_t i = 1; i < rule.other_trials; ++i) page.example += ",RUN";
  return page;
}

void print_page(Printer out, const RulePage& page) {
  const std::size_t columns = std::min(kTerminalWidth, columns_of(out, kTerminalWidth));
  out << printable(page.name);
  if (!page.summary.empty()) out << ": " << printable(page.summary);
  out << "\n\n";
  if (!page.description.empty()) out << Composed{filled(page.description, columns)} << '\n';
  out << "reads  " << printable(page.reads) << "\n\n";
  Table table({"PARAMETER", "TYPE", "DEFAULT", ""});
  for (const RulePage::Parameter& parameter : page.parameters)
    table.add({parameter.name, parameter.type,
               parameter.default_value.empty() ? "-" : parameter.default_value, parameter.help});
  if (!page.parameters.empty()) {
    table.print(out);
    out << '\n';
  }
  const TerminalScope to_be_copied(out, {});
  out << default_command(page) << '\n';
  if (!page.example.empty()) out << example_command(page) << '\n';
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
  std::string text =
      "# The built-in rules\n\n" + std::string(kMadeBy) +
      "What `cupel rules NAME` prints of each of them. Rules of your own are written "
      "in Lua:\n[lua.md](../lua.md).\n\n"
      "| rule | fires on |\n| --- | --- |\n";
  for (const RulePage& page : pages)
    text +=
        "| [" + escaped(page.name) + "](" + page.name + ".md) | " + escaped(page.summary) + " |\n";
  return text;
}

}  // namespace cupel
