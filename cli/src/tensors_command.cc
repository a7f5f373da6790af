#include <algorithm>
#include <ostream>

#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/rules/nearest_names.h"
#include "cupel/rules/printable.h"
#include "open_trial.h"
#include "run_cli.h"
#include "value_text.h"

namespace cupel {
namespace {

// Whether the run has the collection; if not, says so.
bool has_collection(const Trial& trial, const std::string& wanted, std::ostream& err) {
  std::vector<std::string> names;
  for (const auto& [name, collection] : trial.collections()) {
    if (name == wanted) return true;
    names.push_back(name);
  }
  err << "cupel tensors: the run has no collection \"" << printable(wanted) << '"'
      << did_you_mean(wanted, names) << '\n';
  return false;
}

}  // namespace

int run_tensors(const TensorsOptions& options, std::ostream& out, std::ostream& err) {
  const Mode mode = parse_mode(options.mode);
  if (!options.collection.empty() && !options.regex.empty())
    throw UsageError("--collection and --regex exclude each other: give one of them");
  TensorQuery query{.step = options.step, .mode = mode, .collection = options.collection};
  if (!options.regex.empty()) query.regex = options.regex;
  const auto trial = open_trial(options.trial);
  const NoRefresh one_snapshot(*trial);
  std::vector<std::string> names;
  if (options.collection.empty() || has_collection(*trial, options.collection, err))
    names = trial->tensor_names(query);
  if (options.json) out << '[';
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (options.json) {
      out << (i == 0 ? "" : ",") << json_string(names[i]);
    } else {
      out << printable(names[i]) << '\n';
    }
  }
  if (options.json) out << "]\n";
  if (names.empty() && options.step) {
    const std::vector<std::int64_t> steps = trial->steps(mode);
    if (!std::binary_search(steps.begin(), steps.end(), *options.step))
      err << "cupel tensors: nothing was saved at step " << *options.step << " of mode "
          << to_string(mode) << "; cupel steps lists those that were\n";
  }
  tell_damage(*trial);
  return kExitFine;
}

}  // namespace cupel
