#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "commands.h"
#include "cupel/rules/builtin_rules.h"
#include "run_cli.h"
#include "shell_text.h"
#include "table.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const BuiltinRule& rule) {
  Json parameters = Json::array();
  for (const ParameterInfo& parameter : rule.parameters)
    parameters.push_back(
        {{"name", parameter.name},
         {"type", parameter.kind},
         {"default",
          parameter.default_value.empty() ? Json(nullptr) : Json(parameter.default_value)},
         {"help", parameter.help}});
  return {{"name", rule.name},
          {"summary", rule.summary},
          {"reads", rule.reads},
          {"parameters", std::move(parameters)}};
}

void print_one(const BuiltinRule& rule, std::ostream& out) {
  out << rule.name << ": " << rule.summary << "\n\nreads  " << rule.reads << "\n\n";
  Table table({"PARAMETER", "TYPE", "DEFAULT", ""});
  for (const ParameterInfo& parameter : rule.parameters)
    table.add({std::string(parameter.name), std::string(parameter.kind),
               parameter.default_value.empty() ? "-" : std::string(parameter.default_value),
               std::string(parameter.help)});
  table.print(out);
  out << "\ncupel watch TRIAL --rule " << rule.name;
  for (const ParameterInfo& parameter : rule.parameters)
    if (!parameter.default_value.empty())
      out << ',' << parameter.name << '=' << quoted_for_shell(parameter.default_value);
  out << '\n';
}

}  // namespace

int run_rules(const RulesOptions& options, std::ostream& out) {
  if (!options.name.empty()) {
    const BuiltinRule& rule = require_builtin_rule(options.name);
    if (options.json) {
      out << json_of(rule).dump() << '\n';
    } else {
      print_one(rule, out);
    }
    return kExitFine;
  }
  if (options.json) {
    Json array = Json::array();
    for (const BuiltinRule& rule : builtin_rules()) array.push_back(json_of(rule));
    out << array.dump() << '\n';
    return kExitFine;
  }
  Table table({"RULE", "FIRES ON"});
  for (const BuiltinRule& rule : builtin_rules())
    table.add({std::string(rule.name), std::string(rule.summary)});
  table.print(out);
  return kExitFine;
}

}  // namespace cupel
