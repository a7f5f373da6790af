#pragma once

// The declarations that the forms of `show` share; each form is in a show_<form>.cc.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "cupel/core/mode.h"
#include "cupel/core/printer.h"
#include "cupel/core/reduction.h"
#include "cupel/trial/tensor.h"

namespace cupel::command_detail {

/// The columns of a drawing where the output is no terminal.
inline constexpr std::size_t kDefaultWidth = 80;

/// A tensor, and the steps of it to be shown.
struct ShownTensor {
  const ShowOptions& options;
  const Tensor& tensor;
  Mode mode;
  std::vector<Reduction> reductions;  ///< The reductions that were asked for, each once.
  std::vector<std::int64_t> steps;    ///< The steps of the mode in the range that the worker saved.

  /// Returns the record of the worker that was asked for, else of the first worker by name.
  TensorRecord record(std::int64_t step) const;
  TensorValue value(const TensorRecord& record) const;
  /// Returns the saved reduction, else the one of the value; nothing where neither was saved.
  /// Throws FormatError for damage.
  std::optional<double> reduction(const TensorRecord& record, Reduction reduction) const;
  /// Returns the step of the record in the mode.
  std::int64_t step_of(const TensorRecord& record) const;
};

/// Returns "(4, 4)", or the number of elements where the shape was not saved.
std::string shape_text(const TensorRecord& record);

/// Returns "step 5", "steps 0, 10", or for many "steps 0 to 990 by 10" (step_ranges.h).
std::string steps_text(const std::vector<std::int64_t>& steps);

/// Prints the JSON line of a step. Prints nothing where something cannot be read, and throws.
void print_json_line(const ShownTensor& shown, const TensorRecord& record, Printer lines);

/// Begins the JSON object of a step with the keys of its record: tensor, step … shape.
void begin_json_line(const ShownTensor& shown, const TensorRecord& record, Printer out);

/// Prints all steps: a table, or JSON lines.
void show_steps(const ShownTensor& shown, const CommandContext& context);

/// Prints a plot for each reduction that was asked for, else for the most useful ones.
void show_plot(const ShownTensor& shown, const CommandContext& context);

/// Prints the distribution of the values, step by step.
void show_histogram(const ShownTensor& shown, const CommandContext& context);

/// Writes the values of all steps to options.npy, as one array.
void write_steps(const ShownTensor& shown, const CommandContext& context);

}  // namespace cupel::command_detail
