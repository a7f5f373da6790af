// The page of a rule, from its definition: for a person, as JSON, and as a Markdown document. The
// definition has all that a page shows; the runs that a rule compares with are shown as the
// parameter that names them. Texts of a definition may come from a stranger's Lua file, so they are
// escaped for the terminal and for Markdown. Nothing here opens a run.

#include "rule_page.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/ascii.h"
#include "cupel/core/printable.h"
#include "cupel/rules/rule_spec.h"
#include "filled_text.h"
#include "shell_text.h"
#include "table.h"
#include "terminal.h"

namespace cupel::command_detail {
namespace {

constexpr std::size_t kTerminalWidth = 80;
constexpr std::size_t kDocumentWidth = 100;

// Text that is no Markdown, for a paragraph or a cell of a table. "<" begins a tag before a letter.
std::string escaped(std::string_view text) {
  std::string result;
  bool after_less = false;
  for (const char c : printable(text)) {
    if (after_less && is_letter(c)) result.insert(result.size() - 1, 1, '\\');
    if (std::string_view("\\`*|").find(c) != std::string_view::npos) result += '\\';
    result += c;
    after_less = c == '<';
  }
  return result;
}

// Code in a cell of a table, which a bar ends, also within backquotes.
std::string code_cell(std::string_view text) {
  std::string result = "`";
  for (const char c : printable(text)) result += c == '|' ? "\\|" : std::string(1, c);
  return result + "`";
}

std::string made_by(const std::string& program) {
  return "<!-- Made by `" + program + " rules --markdown`. -->\n\n";
}

// The parameters of the schema, and the one that names the runs to compare with.
std::vector<Parameter> shown_parameters(const RuleDefinition& rule) {
  std::vector<Parameter> shown = rule.parameters;
  if (rule.other_trials > 0)
    shown.push_back(
        {.name = "other_trials",
         .kind = ParameterKind::List,
         .required = true,
         .help = "the runs to compare with, " + std::to_string(rule.other_trials) + " or more"});
  return shown;
}

std::string placeholder(const RuleDefinition& rule, const Parameter& parameter) {
  if (parameter.name != "other_trials") return "VALUE";
  std::string runs = "RUN";
  for (std::size_t i = 1; i < rule.other_trials; ++i) runs += ",RUN";
  return runs;
}

// With the parameters that `value_of(parameter)` gives a value, each quoted by itself.
template <class F>
std::string command(const RuleDefinition& rule, const std::string& spec, const std::string& program,
                    F&& value_of) {
  std::string text = program + " watch TRIAL --rule " + quoted_for_shell(spec);
  for (const Parameter& parameter : shown_parameters(rule))
    if (const std::string value = value_of(parameter); !value.empty())
      text += "," + quoted_for_shell(parameter.name) + "=" + quoted_for_shell(value);
  return text;
}

// The values of the example, which has all that the rule requires.
RuleParameters example_values(const RuleDefinition& rule) {
  RuleParameters values;
  if (!rule.example.empty()) values = parse_rule_spec(rule.example).parameters;
  return values;
}

std::string value_among(const RuleParameters& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

bool has_example(const RuleDefinition& rule) {
  return !rule.example.empty() || rule.other_trials > 0;
}

std::string example_command(const RuleDefinition& rule, const std::string& spec,
                            const std::string& program) {
  const RuleParameters values = example_values(rule);
  return command(rule, spec, program, [&](const Parameter& parameter) {
    std::string value = value_among(values, parameter.name);
    return value.empty() && parameter.required ? placeholder(rule, parameter) : value;
  });
}

// Every parameter that has a default, and the required ones as in the example.
std::string default_command(const RuleDefinition& rule, const std::string& spec,
                            const std::string& program) {
  const RuleParameters values = example_values(rule);
  return command(rule, spec, program, [&](const Parameter& parameter) {
    if (parameter.default_text) return *parameter.default_text;
    std::string value = value_among(values, parameter.name);
    return value.empty() && parameter.required ? placeholder(rule, parameter) : value;
  });
}

// The empty text in quotes.
std::string shown_default(const Parameter& parameter) {
  return parameter.default_text->empty() ? "\"\"" : *parameter.default_text;
}

std::string code_block(const std::string& text) { return "```sh\n" + text + "\n```\n"; }

// The description, each paragraph in lines of at most `columns`.
std::string filled_description(const RuleDefinition& rule, std::size_t columns) {
  if (rule.description.empty()) return {};
  std::istringstream lines(rule.description);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    text += printable(line, std::string::npos) + '\n';
  return filled(text, columns);
}

}  // namespace

void print_page(Printer out, const RuleDefinition& rule, const std::string& spec,
                const std::string& program) {
  const std::size_t columns = std::min(kTerminalWidth, columns_of(out, kTerminalWidth));
  out << printable(rule.name);
  if (!rule.summary.empty()) out << ": " << printable(rule.summary);
  out << "\n\n";
  if (!rule.description.empty()) out << Composed{filled_description(rule, columns)} << '\n';
  out << "reads  " << printable(rule.reads()) << "\n\n";
  Table table({"PARAMETER", "TYPE", "DEFAULT", ""});
  const std::vector<Parameter> parameters = shown_parameters(rule);
  for (const Parameter& parameter : parameters)
    table.add({parameter.name, std::string(to_string(parameter.kind)),
               parameter.required        ? "required"
               : !parameter.default_text ? "-"
                                         : shown_default(parameter),
               parameter.help});
  if (!parameters.empty()) {
    table.print(out);
    out << '\n';
  }
  const TerminalScope to_be_copied(out, {});
  out << default_command(rule, spec, program) << '\n';
  if (has_example(rule)) out << example_command(rule, spec, program) << '\n';
}

nlohmann::ordered_json json_of_page(const RuleDefinition& rule) {
  using Json = nlohmann::ordered_json;
  Json parameters = Json::array();
  for (const Parameter& parameter : shown_parameters(rule)) {
    const auto& text = parameter.default_text;
    parameters.push_back({{"name", parameter.name},
                          {"type", to_string(parameter.kind)},
                          {"default", text ? Json(*text) : Json(nullptr)},
                          {"help", parameter.help},
                          {"required", parameter.required}});
  }
  std::string description = filled_description(rule, std::numeric_limits<std::size_t>::max());
  if (!description.empty()) description.pop_back();
  return {{"name", rule.name},
          {"summary", rule.summary},
          {"reads", rule.reads()},
          {"parameters", std::move(parameters)},
          {"description", std::move(description)}};
}

std::string markdown_of(const RuleDefinition& rule, const std::string& program) {
  std::string text = "# " + escaped(rule.name) + "\n\n" + made_by(program);
  text +=
      filled("Fires on: " + escaped(rule.summary) + ".\n\nReads: " + escaped(rule.reads()) + ".",
             kDocumentWidth);
  if (!rule.description.empty())
    text += "\n## What it does\n\n" + filled_description(rule, kDocumentWidth);
  const std::vector<Parameter> parameters = shown_parameters(rule);
  if (!parameters.empty())
    text += "\n## Parameters\n\n| name | type | default | |\n| --- | --- | --- | --- |\n";
  for (const Parameter& parameter : parameters) {
    text += "| " + code_cell(parameter.name) + " | " + escaped(to_string(parameter.kind)) + " | " +
            (parameter.required        ? "required "
             : !parameter.default_text ? ""
                                       : code_cell(shown_default(parameter)) + " ") +
            "| " + escaped(parameter.help) + " |\n";
  }
  text +=
      "\n## On the command line\n\nWith its defaults, and an example of each required "
      "parameter:\n\n" +
      code_block(default_command(rule, rule.name, program));
  if (has_example(rule))
    text += "\nAn example:\n\n" + code_block(example_command(rule, rule.name, program));
  return text;
}

std::string markdown_index(std::span<const std::shared_ptr<const RuleDefinition>> rules,
                           const std::string& program) {
  std::string text =
      "# The rules of " + program + "\n\n" + made_by(program) + "`" + program +
      " rules NAME` prints the page of a rule.\n\n| rule | fires on |\n| --- | --- |\n";
  for (const auto& rule : rules)
    text += "| [" + escaped(rule->name) + "](" + rule->name + ".md) | " + escaped(rule->summary) +
            " |\n";
  return text;
}

}  // namespace cupel::command_detail
