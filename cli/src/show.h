#pragma once

// What the forms of `cupel show` have in common; each form is in a show_<form>.cc.

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

namespace cupel {

/// What is drawn takes so many columns where no terminal says how many there are.
inline constexpr std::size_t kDefaultWidth = 80;

/// A tensor and the steps of it that are to be shown.
struct ShownTensor {
  const ShowOptions& options;
  const Tensor& tensor;
  Mode mode;
  std::vector<Reduction> reductions;  ///< Asked for, each once.
  std::vector<std::int64_t> steps;    ///< Of the mode, in the range, saved by the worker.

  /// Of the worker asked for, else of the first by name.
  TensorRecord record(std::int64_t step) const;
  TensorValue value(const TensorRecord& record) const;
  /// Saved, else from the value; nothing where there is neither. FormatError for damage.
  std::optional<double> reduction(const TensorRecord& record, Reduction reduction) const;
  /// The record's step in the mode.
  std::int64_t step_of(const TensorRecord& record) const;
};

/// "(4, 4)", or how many elements there are where the shape was not saved.
std::string shape_text(const TensorRecord& record);

/// "step 5", "steps 0, 10", and of many "steps 0 to 990 by 10" (step_ranges.h).
std::string steps_text(const std::vector<std::int64_t>& steps);

/// The line of a step for programs: whole or, when something cannot be read, nothing.
void print_json_line(const ShownTensor& shown, const TensorRecord& record, Printer lines);

/// Begins a JSON object with what a step's record says: tensor, step … shape, without the end.
void begin_json_line(const ShownTensor& shown, const TensorRecord& record, Printer out);

/// All steps: a table for people, lines for programs.
void show_steps(const ShownTensor& shown, Printer out, Printer err);

/// A plot over the steps of each reduction asked for, else of what says most.
void show_plot(const ShownTensor& shown, Printer out, Printer err);

/// How the values are spread, step by step.
void show_histogram(const ShownTensor& shown, Printer out, Printer err);

/// The values of all steps in one array, written to options.npy.
void write_steps(const ShownTensor& shown, Printer err);

}  // namespace cupel
