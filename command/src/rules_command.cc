// `rules`: lists rules, describes one, writes the pages of all as Markdown, and writes a template
// of a rule in Lua. The rules are those that the program knows by name, or those of a file of
// rules, which is read and examined but judges nothing. Every mistake in the file is reported at
// once; a file that cannot be written ends the command with an error.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/new_file.h"
#include "cupel/core/printable.h"
#include "cupel/rules/load_rules.h"
#include "exit_codes.h"
#include "loaded_rules.h"
#include "rule_page.h"
#include "rule_template.h"
#include "shell_text.h"
#include "table.h"

namespace cupel::command_detail {
namespace {

using Definitions = std::vector<std::shared_ptr<const RuleDefinition>>;

void write_file(const std::filesystem::path& file, const std::string& text) {
  errno = 0;
  TemporaryFile out(AT_FDCWD, file.string(), FileAccess::Umask);
  if (out.descriptor() < 0 || !write_all(out.descriptor(), std::as_bytes(std::span(text))) ||
      !out.close() || !out.rename_to(file.string()))
    throw Error("cannot write " + file.string() +
                (errno == 0 ? "" : std::string(": ") + strerror(errno)));
}

void write_pages(const std::filesystem::path& directory, const CommandContext& context) {
  if (!make_directories(directory.string(), FileAccess::Umask))
    throw Error("cannot make " + directory.string() + ": " + strerror(errno));
  const Definitions rules = shown_rules(context.program.rules);
  const std::string& program = context.program.name;
  for (const auto& rule : rules)
    write_file(directory / (rule->name + ".md"), markdown_of(*rule, program));
  write_file(directory / "README.md", markdown_index(rules, program));
  context.out << "wrote " << rules.size() << " pages and README.md to "
              << printable(directory.string()) << '\n';
}

// Writes a template to the standard output, or to a file that does not exist yet.
void write_template(const std::string& name, const CommandContext& context) {
  const std::filesystem::path file = name;
  const std::string& program = context.program.name;
  if (file.extension() != ".lua") {
    context.out << Composed{rule_template(program, name)};
    return;
  }
  const std::string text = rule_template(program, file.stem().string(), file.filename().string());
  if (std::filesystem::exists(file)) throw UsageError(name + " is there already");
  write_file(file, text);
  context.out << "wrote " << printable(name) << "; " << program << " watch TRIAL --rule "
              << quoted_for_shell(name) << " runs it\n";
}

int print_one(const RuleDefinition& rule, const std::string& spec, bool json,
              const CommandContext& context) {
  if (json) {
    context.out << json_text(json_of_page(rule)) << '\n';
  } else {
    print_page(context.out, rule, spec, context.program.name);
  }
  return kExitFine;
}

int print_list(const Definitions& rules, bool json, const CommandContext& context) {
  if (json) {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const auto& rule : rules) array.push_back(json_of_page(*rule));
    context.out << json_text(array) << '\n';
    return kExitFine;
  }
  Table table({"RULE", "FIRES ON"});
  for (const auto& rule : rules) table.add({rule->name, printable(rule->summary)});
  table.print(context.out);
  return kExitFine;
}

// Reports the same errors as `watch` and `check` do for a rule that they cannot find.
int report_unknown(const std::string& name, bool json, const CommandContext& context) {
  const LoadedRules loaded =
      load_rules({.specs = {name}}, context.program.rules, rule_file_readers(context.program));
  report_errors(loaded.errors, json, context);
  return kExitError;
}

// Describes the rule that the SPEC names, or lists those of its file.
int print_rules_of_file(const RuleSpec& spec, bool json, const CommandContext& context) {
  const RuleFile file = read_rule_file(spec.file, rule_file_readers(context.program));
  report_warnings(file.warnings);
  if (!file.errors.empty()) {
    report_errors(file.errors, json, context);
    return kExitError;
  }
  const bool is_only = file.definitions.size() == 1;
  if (spec.rule.empty() && !is_only) return print_list(file.definitions, json, context);
  const auto rule = spec.rule.empty() ? file.definitions.front() : file.find(spec.rule);
  if (rule == nullptr) return report_unknown(spec.file + ":" + spec.rule, json, context);
  return print_one(*rule, is_only ? spec.file : spec.file + ":" + rule->name, json, context);
}

int print_named_rule(const std::string& name, bool json, const CommandContext& context) {
  const RuleSpec spec = parse_rule_spec(name, rule_file_readers(context.program));
  if (!spec.file.empty()) return print_rules_of_file(spec, json, context);
  if (const auto rule = context.program.rules.find(spec.rule))
    return print_one(*rule, rule->name, json, context);
  const Mistake unknown = context.program.rules.mistake_in(spec.rule);
  report_errors({{.message = unknown.message, .hint = unknown.hint}}, json, context);
  return kExitError;
}

}  // namespace

int run_rules(const RulesOptions& options, const CommandContext& context) {
  if (!options.markdown.empty()) {
    write_pages(options.markdown, context);
    return kExitFine;
  }
  if (!options.new_rule.empty()) {
    write_template(options.new_rule, context);
    return kExitFine;
  }
  if (!options.name.empty()) return print_named_rule(options.name, options.json, context);
  return print_list(shown_rules(context.program.rules), options.json, context);
}

}  // namespace cupel::command_detail
