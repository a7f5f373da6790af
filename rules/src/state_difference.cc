// What differs between the rules of a kept state and those of a runner, for a person.
//
// The lines of a configuration are compared by what they are about, so that the text names the
// first parameter that differs and not only the rule. Pure functions, for any thread.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/rules/action.h"
#include "runner_state.h"

namespace cupel::rules_detail {
namespace {

using StateRules = std::vector<RunnerState::Rule>;

// Version 0.1 kept actions behind the parameters.
bool is_action_line(const std::string& line) {
  try {
    static_cast<void>(parse_action(line));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// The lines of a configuration by what they are about: "threshold=1e-7" by "threshold=", "text 3f…"
// by "text ".
std::map<std::string, std::set<std::string>> configured_lines(const std::string& configuration) {
  std::map<std::string, std::set<std::string>> lines;
  for (std::size_t begin = 0; begin < configuration.size();) {
    const std::size_t end = std::min(configuration.find('\n', begin), configuration.size());
    const std::string line = configuration.substr(begin, end - begin);
    if (!is_action_line(line)) lines[line.substr(0, line.find_first_of("= ") + 1)].insert(line);
    begin = end + 1;
  }
  return lines;
}

std::string lines_in_words(const std::set<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ", ") + line;
  return text.empty() ? "not given" : text;
}

void add_sentence(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : "; ") + more;
}

std::string difference_of_rule(const RunnerState::Rule& kept, const RunnerState::Rule& given) {
  const std::string& name = given.record.summary.name;
  const std::string& rule_before = kept.record.summary.rule;
  const std::string& rule_now = given.record.summary.rule;
  if (rule_before != rule_now) return name + " was " + rule_before + " and is " + rule_now;
  auto before = configured_lines(kept.configuration);
  auto now = configured_lines(given.configuration);
  std::set<std::string> subjects;
  for (const auto* lines : {&before, &now})
    for (const auto& [subject, ignored] : *lines) subjects.insert(subject);
  std::string text;
  for (const std::string& subject : subjects) {
    if (before[subject] == now[subject]) continue;
    if (subject == "text " && !before[subject].empty())
      add_sentence(text, "the file of " + name + " was changed");
    else
      add_sentence(text, name + " before: " + lines_in_words(before[subject]) +
                             ", now: " + lines_in_words(now[subject]));
  }
  return text;
}

std::string rule_names_of(const StateRules& rules) {
  std::string names;
  for (const RunnerState::Rule& rule : rules)
    names += (names.empty() ? "" : ", ") + rule.record.summary.name;
  return names;
}

}  // namespace

std::string difference_of_rules(const StateRules& kept, const StateRules& given) {
  const auto find = [](const StateRules& rules, const RunnerState::Rule& wanted) {
    return std::ranges::find(rules, wanted.record.summary.name, [](const RunnerState::Rule& rule) {
      return rule.record.summary.name;
    });
  };
  std::string text;
  for (const RunnerState::Rule& rule : kept)
    if (find(given, rule) == given.end())
      add_sentence(text, rule.record.summary.name + " is not given now");
  for (const RunnerState::Rule& rule : given) {
    const auto before = find(kept, rule);
    const std::string difference = before == kept.end() ? rule.record.summary.name + " is new"
                                                        : difference_of_rule(*before, rule);
    if (!difference.empty()) add_sentence(text, difference);
  }
  if (text.empty() && rule_names_of(kept) != rule_names_of(given))
    text = "their order was " + rule_names_of(kept) + " and is " + rule_names_of(given);
  return text;
}

}  // namespace cupel::rules_detail
