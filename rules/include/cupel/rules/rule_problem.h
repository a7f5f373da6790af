#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel {

/// An error or a warning about rules, with the place that it is about.
struct RuleProblem {
  std::string file = {};         ///< The configuration or the file of rules. Empty: a SPEC.
  std::int64_t line = 0;         ///< The line in the file, from 1. 0: not known.
  std::string source_line = {};  ///< The text of that line, without the blanks around it.
  std::string message = {};
  std::string hint = {};  ///< "did you mean threshold?"; empty where there is none.
};

/// "rules/a.lua:12: message, in \"source line\"; hint", escaped for a terminal.
std::string to_text(const RuleProblem& problem);
/// A JSON array of {"file","line","message","hint"}; what is not known is null.
std::string to_json(const std::vector<RuleProblem>& problems);

}  // namespace cupel
