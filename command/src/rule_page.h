#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "cupel/core/printer.h"
#include "cupel/rules/rule_definition.h"

namespace cupel::command_detail {

/// Prints the page of a rule for a person. `spec` is how --rule names the rule; the commands at the
/// end of the page are those of `program`.
void print_page(Printer out, const RuleDefinition& rule, const std::string& spec,
                const std::string& program);

/// Returns the page of a rule as a JSON object.
nlohmann::ordered_json json_of_page(const RuleDefinition& rule);

/// Returns the page of a rule as a Markdown document.
std::string markdown_of(const RuleDefinition& rule, const std::string& program);

/// Returns a Markdown document with a table of the pages beside it, `<name>.md`.
std::string markdown_index(std::span<const std::shared_ptr<const RuleDefinition>> rules,
                           const std::string& program);

}  // namespace cupel::command_detail
