#include <ostream>

#include "commands.h"
#include "open_trial.h"
#include "run_cli.h"

namespace cupel {

int run_steps(const StepsOptions& options, std::ostream& out) {
  const Mode mode = parse_mode(options.mode);
  const auto trial = open_trial(options.trial);
  const NoRefresh one_snapshot(*trial);
  const std::vector<std::int64_t> steps = options.tensor.empty()
                                              ? trial->steps(mode)
                                              : require_tensor(*trial, options.tensor).steps(mode);
  if (options.json) out << '[';
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (options.json) {
      out << (i == 0 ? "" : ",") << steps[i];
    } else {
      out << steps[i] << '\n';
    }
  }
  if (options.json) out << "]\n";
  tell_damage(*trial);
  return kExitFine;
}

}  // namespace cupel
