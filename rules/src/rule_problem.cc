#include "cupel/rules/rule_problem.h"

#include <nlohmann/json.hpp>

#include "cupel/core/printable.h"

namespace cupel {

std::string to_text(const RuleProblem& problem) {
  std::string text;
  if (problem.line > 0) {
    text = problem.file + ":" + std::to_string(problem.line) + ": ";
  } else if (problem.message.find(problem.file) == std::string::npos) {
    text = problem.file + ": ";  // the message of a file that cannot be read has its name
  }
  text += problem.message;
  if (!problem.source_line.empty()) text += ", in \"" + problem.source_line + "\"";
  if (!problem.hint.empty()) text += "; " + problem.hint;
  return printable(text, kMostMessageBytes);
}

std::string to_json(const std::vector<RuleProblem>& problems) {
  const auto known = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
  };
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RuleProblem& problem : problems)
    all.push_back({{"file", known(problem.file)},
                   {"line", problem.line > 0 ? nlohmann::ordered_json(problem.line) : nullptr},
                   {"message", problem.message},
                   {"hint", known(problem.hint)}});
  return json_text(all);
}

}  // namespace cupel
