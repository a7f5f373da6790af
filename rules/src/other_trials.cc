#include "other_trials.h"

#include <vector>

namespace cupel {

std::string read_other_trial(ParameterReader& reader) {
  const std::vector<std::string> paths = reader.list("other_trials");
  if (paths.size() == 1 && !paths.front().empty()) return paths.front();
  if (paths.empty())
    reader.lacks("other_trials is not given: the path of the run to compare with");
  else
    reader.fail("other_trials takes one path, got " + std::to_string(paths.size()));
  return {};
}

}  // namespace cupel
