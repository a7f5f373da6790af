#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/rules/builtin_rules.h"
#include "cupel/rules/printable.h"
#include "rule_page.h"
#include "run_cli.h"
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

void write_file(const std::filesystem::path& file, const std::string& text) {
  errno = 0;
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw Error("cannot write " + file.string() +
                (errno == 0 ? "" : std::string(": ") + strerror(errno)));
}

void write_pages(const std::filesystem::path& directory, std::ostream& out) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error("cannot make " + directory.string() + ": " + error.message());
  const std::vector<RulePage> pages = builtin_pages();
  for (const RulePage& page : pages) write_file(directory / (page.name + ".md"), markdown_of(page));
  write_file(directory / "README.md", markdown_index(pages));
  out << "wrote " << pages.size() << " pages and README.md to " << printable(directory.string())
      << '\n';
}

}  // namespace

int run_rules(const RulesOptions& options, std::ostream& out) {
  if (!options.markdown.empty()) {
    write_pages(options.markdown, out);
    return kExitFine;
  }
  if (!options.name.empty()) {
    const RulePage page = page_of(require_builtin_rule(options.name));
    out << (options.json ? json_of(page).dump() + "\n" : text_of(page));
    return kExitFine;
  }
  const std::vector<RulePage> pages = builtin_pages();
  if (options.json) {
    Json array = Json::array();
    for (const RulePage& page : pages) array.push_back(json_of(page));
    out << array.dump() << '\n';
    return kExitFine;
  }
  Table table({"RULE", "FIRES ON"});
  for (const RulePage& page : pages) table.add({page.name, page.summary});
  table.print(out);
  return kExitFine;
}

}  // namespace cupel
