// Prints one tensor: a line for each saved step, or its value at one.

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>

#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/rules/nearest_names.h"
#include "cupel/rules/number_text.h"
#include "cupel/rules/printable.h"
#include "npy_file.h"
#include "open_trial.h"
#include "run_cli.h"
#include "table.h"
#include "value_text.h"

namespace cupel {
namespace {

Tensor require_tensor(const Trial& trial, const std::string& name) {
  if (const auto tensor = trial.find_tensor(name)) return *tensor;
  throw UsageError("the run has no tensor \"" + name + "\"" +
                   did_you_mean(name, trial.tensor_names()));
}

// The saved steps around one that was not.
std::string steps_around(const std::vector<std::int64_t>& steps, std::int64_t step) {
  if (steps.empty()) return "it was saved at no step of this mode";
  constexpr std::ptrdiff_t kEachSide = 2;
  const auto at = std::lower_bound(steps.begin(), steps.end(), step);
  const auto begin = at - std::min(kEachSide, at - steps.begin());
  const auto end = at + std::min(kEachSide, steps.end() - at);
  std::string text = "saved steps near it:";
  for (auto near = begin; near != end; ++near)
    text += (near == begin ? " " : ", ") + std::to_string(*near);
  return text;
}

TensorRecord require_record(const Tensor& tensor, std::int64_t step, Mode mode,
                            const std::string& worker) {
  try {
    return tensor.record(step, mode, worker);
  } catch (const StepUnavailable& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_around(tensor.steps(mode), step));
  } catch (const StepNotYetAvailable& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_around(tensor.steps(mode), step));
  } catch (const NoMoreData& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_around(tensor.steps(mode), step));
  } catch (const TensorUnavailableForStep& error) {
    throw UsageError(std::string(error.what()) + "; " + steps_around(tensor.steps(mode), step));
  }
}

double reduction_of(const Tensor& tensor, const TensorRecord& record, Reduction reduction) {
  if (const auto saved = record.reductions.get(reduction)) return *saved;
  return tensor.reduction_value(record.step, to_string(reduction),
                                {.worker = std::string(record.worker)});
}

TensorValue value_of(const Tensor& tensor, const TensorRecord& record) {
  return tensor.value(record.step, Mode::Global, record.worker);
}

// Prints a whole line or, when something cannot be read, nothing.
void print_json_line(const ShowOptions& options, const Tensor& tensor, const TensorRecord& record,
                     std::ostream& lines) {
  std::ostringstream out;
  out << "{\"tensor\":" << json_string(tensor.name()) << ",\"step\":" << record.step
      << ",\"mode\":\"" << to_string(record.mode) << "\",\"mode_step\":" << record.mode_step
      << ",\"worker\":" << json_string(record.worker) << ",\"dtype\":\"" << to_string(record.dtype)
      << "\",\"shape\":";
  if (record.shape) {
    out << '[';
    for (std::size_t axis = 0; axis < record.shape->rank(); ++axis)
      out << (axis == 0 ? "" : ",") << (*record.shape)[axis];
    out << ']';
  } else {
    out << "null";
  }
  if (options.reduction.empty() && record.has_value) {
    out << ",\"value\":";
    print_json(out, value_of(tensor, record));
  } else {
    out << ",\"reductions\":{";
    if (!options.reduction.empty()) {
      const Reduction wanted = require_reduction(options.reduction);
      out << '"' << to_string(wanted) << "\":" << json_number(reduction_of(tensor, record, wanted));
    } else {
      bool first = true;
      record.reductions.set.for_each([&](Reduction reduction) {
        out << (first ? "\"" : ",\"") << to_string(reduction)
            << "\":" << json_number(record.reductions.values[reduction.index()]);
        first = false;
      });
    }
    out << '}';
  }
  out << "}\n";
  lines << out.str();
}

std::string shape_text(const TensorRecord& record) {
  return record.shape ? to_string(*record.shape) : std::to_string(record.elements) + " elements";
}

// What fits into one line: a scalar's value, or the reductions, and what is bad.
std::string summary_of(const ShowOptions& options, const Tensor& tensor,
                       const TensorRecord& record) {
  if (!options.reduction.empty())
    return shortest_text(reduction_of(tensor, record, require_reduction(options.reduction)));
  if (record.has_value && record.elements == 1) return element_json(value_of(tensor, record), 0);
  std::string text;
  record.reductions.set.for_each([&](Reduction reduction) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(reduction)) + " " +
            short_text(record.reductions.values[reduction.index()]);
  });
  if (text.empty()) text = record.has_value ? "value saved" : "only the shape was saved";
  if (record.counts && record.counts->nan > 0)
    text += ", " + std::to_string(record.counts->nan) + " NaN";
  if (record.counts && record.counts->pos_inf + record.counts->neg_inf > 0)
    text += ", " + std::to_string(record.counts->pos_inf + record.counts->neg_inf) + " infinite";
  return text;
}

int show_all_steps(const ShowOptions& options, const Tensor& tensor, Mode mode, std::ostream& out) {
  Table table({"STEP", "MODE", "MODE STEP", "WORKER", "DTYPE", "SHAPE",
               options.reduction.empty() ? "VALUE" : options.reduction},
              {Table::Align::Right, Table::Align::Left, Table::Align::Right});
  for (const std::int64_t step : tensor.steps(mode)) {
    const std::vector<TensorRecord> records = tensor.records(step, mode);
    const auto record =
        std::find_if(records.begin(), records.end(), [&options](const TensorRecord& candidate) {
          return options.worker.empty() || candidate.worker == options.worker;
        });
    if (record == records.end()) continue;
    if (options.json) {
      print_json_line(options, tensor, *record, out);
    } else {
      table.add({std::to_string(record->step), std::string(to_string(record->mode)),
                 std::to_string(record->mode_step), std::string(record->worker),
                 std::string(to_string(record->dtype)), shape_text(*record),
                 summary_of(options, tensor, *record)});
    }
  }
  if (!options.json) table.print(out);
  return kExitFine;
}

void show_readable(const ShowOptions& options, const Tensor& tensor, const TensorRecord& record,
                   std::ostream& out) {
  out << printable(tensor.name()) << "  step " << record.step << " (" << to_string(record.mode)
      << ' ' << record.mode_step << ")  " << printable(record.worker) << "  "
      << to_string(record.dtype) << ' ' << shape_text(record) << '\n';
  if (!options.reduction.empty()) {
    const Reduction wanted = require_reduction(options.reduction);
    out << to_string(wanted) << ' ' << shortest_text(reduction_of(tensor, record, wanted)) << '\n';
    return;
  }
  record.reductions.set.for_each([&](Reduction reduction) {
    out << to_string(reduction) << ' ' << shortest_text(record.reductions.values[reduction.index()])
        << '\n';
  });
  if (record.has_value) {
    print_readable(out, value_of(tensor, record));
  } else {
    out << "the value was not saved\n";
  }
}

}  // namespace

int run_show(const ShowOptions& options, std::ostream& out, std::ostream& err) {
  const Mode mode = parse_mode(options.mode);
  if (!options.reduction.empty()) require_reduction(options.reduction);
  if (!options.npy.empty() && !options.step)
    throw UsageError("--npy writes the value of one step: give --step N");
  if (!options.npy.empty() && !options.reduction.empty())
    throw UsageError("--npy writes the value, not a reduction: give one of the two");
  const auto trial = open_trial(options.trial);
  const NoRefresh one_snapshot(*trial);
  if (!options.worker.empty()) {
    const std::vector<std::string> workers = trial->workers();
    if (std::find(workers.begin(), workers.end(), options.worker) == workers.end())
      throw UsageError("the run has no worker \"" + options.worker + "\"" +
                       did_you_mean(options.worker, workers));
  }
  const Tensor tensor = require_tensor(*trial, options.tensor);
  if (!options.step) {
    const int code = show_all_steps(options, tensor, mode, out);
    tell_damage(*trial);
    return code;
  }

  const TensorRecord record = require_record(tensor, *options.step, mode, options.worker);
  if (!options.npy.empty()) {
    write_npy(options.npy, value_of(tensor, record));
    err << "wrote " << options.npy << ": " << to_string(record.dtype) << ' ' << shape_text(record)
        << '\n';
  } else if (options.json) {
    print_json_line(options, tensor, record, out);
  } else {
    show_readable(options, tensor, record, out);
  }
  tell_damage(*trial);
  return kExitFine;
}

}  // namespace cupel
