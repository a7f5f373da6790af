#pragma once

#include <span>
#include <string>
#include <vector>

#include "cupel/core/printer.h"
#include "cupel/rules/builtin_rules.h"
#include "cupel/scripting/lua_rule_file.h"

namespace cupel {

/// What is printed of a rule, wherever the rule comes from.
struct RulePage {
  struct Parameter {
    std::string name;
    std::string type;
    std::string default_value;  ///< "" where there is none.
    std::string help;
  };
  std::string name;
  std::string spec;         ///< How --rule names it.
  std::string summary;      ///< What it fires on, in one line.
  std::string reads;        ///< In words.
  std::string description;  ///< Markdown; without line breaks within a paragraph.
  std::string example;      ///< A SPEC.
  std::vector<Parameter> parameters;
};

RulePage page_of(const BuiltinRule& rule);
RulePage page_of(const LuaRuleFile& file, const LuaRuleInfo& rule);

/// For people.
void print_page(Printer out, const RulePage& page);
/// A document of its own.
std::string markdown_of(const RulePage& page);
/// A document with a table of pages that lie beside it, `<name>.md`.
std::string markdown_index(std::span<const RulePage> pages);

}  // namespace cupel
