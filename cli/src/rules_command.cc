#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/new_file.h"
#include "cupel/core/printable.h"
#include "cupel/rules/builtin_rules.h"
#include "json_text.h"
#include "rule_page.h"
#include "rule_spec.h"
#include "rule_template.h"
#include "run_cli.h"
#include "shell_text.h"
#include "table.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const RulePage& page) {
  Json parameters = Json::array();
  for (const RulePage::Parameter& parameter : page.parameters)
    parameters.push_back(
        {{"name", parameter.name},
         {"type", parameter.type},
         {"default",
          parameter.default_value.empty() ? Json(nullptr) : Json(parameter.default_value)},
         {"help", parameter.help}});
  return {{"name", page.name},
          {"summary", page.summary},
          {"reads", page.reads},
          {"parameters", std::move(parameters)},
          {"description", page.description}};
}

std::vector<RulePage> builtin_pages() {
  std::vector<RulePage> pages;
  for (const BuiltinRule& rule : builtin_rules()) pages.push_back(page_of(rule));
  return pages;
}

// Those that the file of a SPEC has, or the one that it names.
std::vector<RulePage> lua_pages(const RuleSpec& spec) {
  const LuaRuleFile file(spec.file);
  if (!spec.rule.empty()) return {page_of(file, file.rule(spec.rule))};
  std::vector<RulePage> pages;
  for (const LuaRuleInfo& rule : file.rules()) pages.push_back(page_of(file, rule));
  return pages;
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  errno = 0;
  TemporaryFile out(AT_FDCWD, file.string(), FileAccess::Umask);
  if (out.descriptor() < 0 || !write_all(out.descriptor(), std::as_bytes(std::span(text))) ||
      !out.close() || !out.rename_to(file.string()))
    throw Error("cannot write " + file.string() +
                (errno == 0 ? "" : std::string(": ") + strerror(errno)));
}

void write_pages(const std::filesystem::path& directory, Printer out) {
  if (!make_directories(directory.string(), FileAccess::Umask))
    throw Error("cannot make " + directory.string() + ": " + strerror(errno));
  const std::vector<RulePage> pages = builtin_pages();
  for (const RulePage& page : pages) write_file(directory / (page.name + ".md"), markdown_of(page));
  write_file(directory / "README.md", markdown_index(pages));
  out << "wrote " << pages.size() << " pages and README.md to " << printable(directory.string())
      << '\n';
}

// To the standard output, or to a file that is not there yet.
void write_template(const std::string& name, Printer out) {
  const std::filesystem::path file = name;
  const bool is_file = file.extension() == ".lua";
  const std::string text =
      is_file ? rule_template(file.stem().string(), file.filename().string()) : rule_template(name);
  if (!is_file) {
    out << Composed{text};
    return;
  }
  if (std::filesystem::exists(file)) throw UsageError(name + " is there already");
  write_file(file, text);
  out << "wrote " << printable(name) << "; cupel watch TRIAL --rule " << quoted_for_shell(name)
      << " runs it\n";
}

}  // namespace

int run_rules(const RulesOptions& options, Printer out) {
  if (!options.markdown.empty()) {
    write_pages(options.markdown, out);
    return kExitFine;
  }
  if (!options.new_rule.empty()) {
    write_template(options.new_rule, out);
    return kExitFine;
  }
  const RuleSpec spec = options.name.empty() ? RuleSpec() : parse_rule_spec(options.name);
  std::vector<RulePage> pages = spec.file.empty() ? builtin_pages() : lua_pages(spec);
  if (!options.name.empty() && (spec.file.empty() || pages.size() == 1)) {
    const RulePage page =
        spec.file.empty() ? page_of(require_builtin_rule(spec.rule)) : std::move(pages.front());
    if (options.json) {
      out << json_text(json_of(page)) << '\n';
    } else {
      print_page(out, page);
    }
    return kExitFine;
  }
  if (options.json) {
    Json array = Json::array();
    for (const RulePage& page : pages) array.push_back(json_of(page));
    out << json_text(array) << '\n';
    return kExitFine;
  }
  Table table({"RULE", "FIRES ON"});
  for (const RulePage& page : pages) table.add({page.name, printable(page.summary)});
  table.print(out);
  return kExitFine;
}

}  // namespace cupel
