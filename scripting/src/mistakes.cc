// Mistakes in a file of rules, from the readers of tables to the problems that people see. The
// readers name the field of a mistake; the line of the field is looked for once per call of
// cupel.rule, when all mistakes of the file are known. What a hostile file can do is bounded: a
// hundred mistakes, two thousand bytes of each message, two hundred bytes of a path.

#include "mistakes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "field_lines.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kMostMistakes = 100;
constexpr std::size_t kLongestProblem = 2000;
constexpr std::size_t kLongestPath = 200;
constexpr std::string_view kQuestion = "; did you mean ";

}  // namespace

std::string Mistakes::path_of(std::string_view key) const {
  // What is longer is not looked for.
  if (inside_.size() + key.size() > kLongestPath) return {};
  std::string path = inside_ + std::string(key);
  if (path.ends_with('.')) path.pop_back();
  return path;
}

void Mistakes::set_hint(std::string_view key, std::string hint) {
  const auto mistake = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Mistake& one) {
    return one.site == site_ && one.path == path_of(key);
  });
  if (mistake != kept_.rend()) mistake->hint = std::move(hint);
}

bool Mistakes::suggests(std::string_view key) const {
  return std::any_of(kept_.begin(), kept_.end(), [&](const Mistake& mistake) {
    return mistake.site == site_ && mistake.hint.find(key) != std::string::npos;
  });
}

void Mistakes::add(std::string_view key, std::string message, std::string hint) {
  ++size_;
  if (kept_.size() == kMostMistakes) return;
  const std::size_t question = message.rfind(kQuestion);
  if (hint.empty() && question != std::string::npos && message.ends_with('?')) {
    hint = message.substr(question + 2);
    message.resize(question);
  }
  if (message.size() > kLongestProblem) message.resize(kLongestProblem);
  kept_.push_back({site_, path_of(key), std::move(message), std::move(hint)});
}

std::string Mistakes::text() const {
  std::string text;
  for (const Mistake& mistake : kept_) {
    text.append(text.empty() ? "" : "; ").append(mistake.message);
    if (!mistake.hint.empty()) text.append("; ").append(mistake.hint);
  }
  return text;
}

Mistakes::Inside::Inside(Mistakes& mistakes, std::string_view key)
    : mistakes_(mistakes), size_(mistakes.inside_.size()) {
  mistakes.inside_.append(key.substr(0, kLongestPath)) += '.';
}

std::vector<RuleProblem> problems_of(const Mistakes& mistakes, const RuleSource& source) {
  std::map<std::string, std::map<RuleCall, FieldLines>> lines;  // by chunk
  for (const Mistakes::Mistake& mistake : mistakes.kept())
    lines[mistake.site.chunk][mistake.site.call][mistake.path] = 0;
  for (auto& [chunk, calls] : lines) find_field_lines(source.text_of(chunk), calls);
  std::vector<RuleProblem> problems;
  for (const Mistakes::Mistake& mistake : mistakes.kept()) {
    const std::string& chunk = mistake.site.chunk;
    const std::int64_t line = lines[chunk][mistake.site.call][mistake.path];
    RuleProblem problem = source.problem(chunk, line, mistake.message, mistake.hint);
    const bool is_known = std::ranges::any_of(problems, [&](const RuleProblem& other) {
      return other.line == problem.line && other.file == problem.file &&
             other.message == problem.message;
    });
    if (!is_known) problems.push_back(std::move(problem));
  }
  std::stable_sort(problems.begin(), problems.end(), [&](const auto& a, const auto& b) {
    return std::tuple(a.file != source.path(), std::string_view(a.file), a.line) <
           std::tuple(b.file != source.path(), std::string_view(b.file), b.line);
  });
  if (mistakes.size() > mistakes.kept().size())
    problems.push_back(source.problem(
        source.chunk(), 0,
        "and " + std::to_string(mistakes.size() - mistakes.kept().size()) + " more mistakes", ""));
  return problems;
}

}  // namespace cupel::scripting_detail
