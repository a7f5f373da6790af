#include "only_path.h"

#include <vector>

namespace cupel::rules_detail {

std::string only_path(const std::string& text, ParameterMistakes& mistakes) {
  const std::vector<std::string> paths = split_list(text);
  if (paths.size() == 1 && !paths.front().empty()) return paths.front();
  mistakes.add("other_trials takes one path, got " + std::to_string(paths.size()), "other_trials");
  return {};
}

}  // namespace cupel::rules_detail
