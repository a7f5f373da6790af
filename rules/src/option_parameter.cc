#include "cupel/rules/option_parameter.h"

#include "cupel/core/error.h"
#include "rule_texts.h"

namespace cupel::rules_detail {

std::optional<PatternList> ValueOf<PatternList>::take(const ParameterValues& values,
                                                      const std::string& name,
                                                      ParameterMistakes& mistakes) {
  const auto texts = values.get<std::vector<std::string>>(name);
  if (!texts) return std::nullopt;
  PatternList patterns;
  for (const std::string& text : *texts) {
    try {
      patterns.add(text);
    } catch (const UsageError& error) {
      mistakes.add("parameter " + name + ": " + error.what(), name);
    }
  }
  if (texts->empty()) mistakes.add("parameter " + name + " holds no pattern", name);
  return patterns;
}

void set_reads(Rule& rule, const RuleNeeds& needs) {
  // For messages, which stay short: the page of the rule has all names.
  RuleNeeds preferred = needs;
  for (TensorNeed& need : preferred.tensors) need.tensors.fallbacks.clear();
  RuleTexts::set_reads(rule, describe(preferred));
}

std::string without_outer_breaks(std::string text) {
  if (text.starts_with('\n')) text.erase(0, 1);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace cupel::rules_detail
