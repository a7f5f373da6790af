#include <cstdint>
#include <string>
#include <vector>

#include "commands.h"
#include "exit_codes.h"
#include "open_trial.h"
#include "step_ranges.h"
#include "terminal.h"

namespace cupel::command_detail {
namespace {

void print_step_numbers(const std::vector<std::int64_t>& steps, Printer out) {
  out << '[';
  for (std::size_t i = 0; i < steps.size(); ++i) out << (i == 0 ? "" : ",") << steps[i];
  out << "]\n";
}

// Prints as many ranges in a line as there is room for.
void print_step_ranges(const std::vector<std::int64_t>& steps, Printer out) {
  constexpr std::size_t kDefaultColumns = 80;
  const std::size_t columns = columns_of(out, kDefaultColumns);
  std::string line;
  for (const std::string& range : step_ranges(steps)) {
    // There must be room for the comma, too.
    if (!line.empty() && line.size() + 2 + range.size() + 1 > columns) {
      out << line << ",\n";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + range;
  }
  if (!line.empty()) out << line << '\n';
}

}  // namespace

int run_steps(const StepsOptions& options, const CommandContext& context) {
  const Mode mode = parse_mode(options.mode);
  const auto trial = open_trial(options.trial);
  const NoRefresh one_snapshot(*trial);
  const std::vector<std::int64_t> steps = options.tensor.empty()
                                              ? trial->steps(mode)
                                              : require_tensor(*trial, options.tensor).steps(mode);
  if (options.json) {
    print_step_numbers(steps, context.out);
  } else {
    print_step_ranges(steps, context.out);
  }
  throw_damage(*trial);
  return kExitFine;
}

}  // namespace cupel::command_detail
