// `show`: one tensor, as a table or a drawing of its steps, or its value at one step. Options that
// exclude each other are refused before the run is opened. The queries of one call see one snapshot
// of the run. Damage ends the command after what could be read was printed.

#include <algorithm>
#include <string>

#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "exit_codes.h"
#include "npy_file.h"
#include "open_trial.h"
#include "show.h"
#include "step_ranges.h"
#include "terminal.h"
#include "value_text.h"

namespace cupel::command_detail {
namespace {

TensorRecord require_record(const Tensor& tensor, std::int64_t step, Mode mode,
                            const std::string& worker) {
  try {
    return tensor.record(step, mode, worker);
  } catch (const StepUnavailable& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_near(tensor.steps(mode), step));
  } catch (const StepNotYetAvailable& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_near(tensor.steps(mode), step));
  } catch (const NoMoreData& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_near(tensor.steps(mode), step));
  } catch (const TensorUnavailableForStep& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_near(tensor.steps(mode), step));
  }
}

void show_readable(const ShownTensor& shown, const TensorRecord& record, Printer out) {
  out << printable(shown.tensor.name()) << "  step " << record.step << " ("
      << to_string(record.mode) << ' ' << record.mode_step << ")  " << printable(record.worker)
      << "  " << to_string(record.dtype) << ' ' << shape_text(record) << '\n';
  for (const Reduction reduction : shown.reductions) {
    const double number = shown.tensor.reduction_value(record.step, to_string(reduction),
                                                       {.worker = std::string(record.worker)});
    out << to_string(reduction) << ' ' << shortest_text(number) << '\n';
  }
  if (!shown.reductions.empty()) return;
  record.reductions.set.for_each([&](Reduction reduction) {
    out << to_string(reduction) << ' ' << shortest_text(record.reductions.values[reduction.index()])
        << '\n';
  });
  if (record.has_value) {
    print_readable(out, shown.value(record));
  } else {
    out << "the value was not saved\n";
  }
}

bool has_range(const ShowOptions& options) {
  return options.start_step || options.end_step || options.last;
}

void refuse_together(bool both, const char* what) {
  if (both) throw UsageError(std::string(what) + " exclude each other");
}

// Throws UsageError for options that exclude each other.
void check(const ShowOptions& options) {
  refuse_together(options.step && has_range(options),
                  "--step and a range (--start-step, --end-step, --last)");
  refuse_together(options.plot && options.step, "--plot and --step");
  refuse_together(options.plot && options.histogram, "--plot and --histogram");
  refuse_together(options.plot && options.json, "--plot and --json");
  refuse_together(options.histogram && !options.reductions.empty(), "--histogram and --reduction");
  if (options.log && !options.plot) throw UsageError("--log is a scale of --plot: give both");
  if (options.npy.empty()) return;
  refuse_together(options.plot || options.histogram, "--npy and --plot or --histogram");
  if (!options.step && !has_range(options))
    throw UsageError("--npy writes the value of one step: give --step N, or a range for many");
  if (!options.reductions.empty())
    throw UsageError("--npy writes the value, not a reduction: give one of the two");
}

std::vector<Reduction> reductions_of(const ShowOptions& options) {
  std::vector<Reduction> reductions;
  for (const std::string& name : options.reductions) {
    const Reduction reduction = require_reduction(name);
    if (std::find(reductions.begin(), reductions.end(), reduction) == reductions.end())
      reductions.push_back(reduction);
  }
  return reductions;
}

void require_worker(const Trial& trial, const std::string& worker) {
  const std::vector<std::string> workers = trial.workers();
  if (std::find(workers.begin(), workers.end(), worker) == workers.end())
    throw UsageError("the run has no worker \"" + worker + "\"" + did_you_mean(worker, workers));
}

bool saved_by(const Tensor& tensor, std::int64_t step, Mode mode, const std::string& worker) {
  const std::vector<TensorRecord> records = tensor.records(step, mode);
  return std::any_of(records.begin(), records.end(),
                     [&worker](const TensorRecord& record) { return record.worker == worker; });
}

std::vector<std::int64_t> steps_in_range(const ShowOptions& options, const Tensor& tensor,
                                         Mode mode) {
  const StepRange range{options.start_step, options.end_step};
  std::vector<std::int64_t> steps = tensor.steps(mode);
  std::erase_if(steps, [&](std::int64_t step) {
    return !range.contains(step) ||
           (!options.worker.empty() && !saved_by(tensor, step, mode, options.worker));
  });
  if (options.last) {
    const auto count = static_cast<std::int64_t>(steps.size());
    steps.erase(steps.begin(), steps.end() - std::min(count, *options.last));
  }
  return steps;
}

// Returns the reason why a range has no steps.
std::string empty_range_text(const ShowOptions& options, const Tensor& tensor, Mode mode) {
  const std::vector<std::int64_t> steps = tensor.steps(mode);
  const std::string name = printable(tensor.name());
  if (steps.empty()) return name + " was saved at no step of mode " + std::string(to_string(mode));
  const std::int64_t begin = options.start_step.value_or(0);
  if (options.end_step && *options.end_step <= begin)
    return "the range from " + std::to_string(begin) + " to before " +
           std::to_string(*options.end_step) + " is empty";
  std::string by;
  if (!options.worker.empty()) by = " by " + printable(options.worker);
  return name + " was not saved" + by + " in this range; it was from step " +
         std::to_string(steps.front()) + " to " + std::to_string(steps.back());
}

void show_range(const ShownTensor& shown, const CommandContext& context) {
  const ShowOptions& options = shown.options;
  if (shown.steps.empty()) {
    const std::string why = empty_range_text(options, shown.tensor, shown.mode);
    if (!options.npy.empty()) throw UsageError("there is nothing to write: " + why);
    context.message() << why << '\n';
    return;
  }
  if (!options.npy.empty()) return write_steps(shown, context);
  if (options.plot) return show_plot(shown, context);
  if (options.histogram) return show_histogram(shown, context);
  show_steps(shown, context);
}

void show_one_step(ShownTensor& shown, const CommandContext& context) {
  const ShowOptions& options = shown.options;
  const TensorRecord record =
      require_record(shown.tensor, *options.step, shown.mode, options.worker);
  shown.steps = {*options.step};
  if (!options.npy.empty()) {
    write_npy(options.npy, shown.value(record));
    context.err << "wrote " << options.npy << ": " << to_string(record.dtype) << ' '
                << shape_text(record) << '\n';
  } else if (options.histogram) {
    show_histogram(shown, context);
  } else if (options.json) {
    print_json_line(shown, record, context.out);
  } else {
    show_readable(shown, record, context.out);
  }
}

}  // namespace

TensorRecord ShownTensor::record(std::int64_t step) const {
  return tensor.record(step, mode, options.worker);
}

TensorValue ShownTensor::value(const TensorRecord& record) const {
  return tensor.value(record.step, Mode::Global, record.worker);
}

std::optional<double> ShownTensor::reduction(const TensorRecord& record,
                                             Reduction reduction) const {
  if (const auto saved = record.reductions.get(reduction)) return saved;
  if (!record.has_value || record.dtype == DType::Utf8) return std::nullopt;
  return tensor.reduction_value(record.step, to_string(reduction),
                                {.worker = std::string(record.worker)});
}

std::int64_t ShownTensor::step_of(const TensorRecord& record) const {
  return mode == Mode::Global ? record.step : record.mode_step;
}

std::string shape_text(const TensorRecord& record) {
  return record.shape ? to_string(*record.shape) : std::to_string(record.elements) + " elements";
}

std::string steps_text(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t kMostListed = 20;
  if (steps.size() == 1) return "step " + std::to_string(steps.front());
  const std::vector<std::string> ranges = step_ranges(steps);
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostListed); ++i)
    text += (i == 0 ? "steps " : ", ") + ranges[i];
  return ranges.size() > kMostListed ? text + " … to " + std::to_string(steps.back()) : text;
}

int run_show(const ShowOptions& options, const CommandContext& context) {
  const Mode mode = parse_mode(options.mode);
  check(options);
  Terminal terminal = terminal_of(context.out);
  if (options.width) terminal.columns = static_cast<std::size_t>(*options.width);
  const TerminalScope as_wide_as_asked(context.out, terminal);
  const std::vector<Reduction> reductions = reductions_of(options);
  const auto trial = open_trial(options.trial);
  const NoRefresh one_snapshot(*trial);
  if (!options.worker.empty()) require_worker(*trial, options.worker);
  const Tensor tensor = require_tensor(*trial, options.tensor);
  ShownTensor shown{options, tensor, mode, reductions, {}};
  if (options.step) {
    show_one_step(shown, context);
  } else {
    shown.steps = steps_in_range(options, tensor, mode);
    show_range(shown, context);
  }
  throw_damage(*trial);
  return kExitFine;
}

}  // namespace cupel::command_detail
