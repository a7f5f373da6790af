#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/dtype.h"
#include "cupel/core/mode.h"
#include "cupel/core/reduction.h"
#include "cupel/core/shape.h"
#include "cupel/core/value_counts.h"
#include "cupel/trial/tensor_value.h"

namespace cupel {

class Trial;

/// Selects a reduction (Tensor::reduction_value).
struct ReductionQuery {
  /// The mode that the step belongs to; Global: the step is a global step.
  Mode mode = Mode::Global;
  /// The worker that saved it; default: the first one, in the order of names, that has the step.
  std::string worker = {};
  /// Whether the reduction is that of the magnitudes.
  bool abs = false;
};

/// All that the index holds of one tensor at one step from one worker: what a rule can know without
/// reading any value.
struct TensorRecord {
  /// The global step.
  std::int64_t step = 0;
  /// The mode of the step.
  Mode mode = Mode::Global;
  /// The number of the step in its mode.
  std::int64_t mode_step = 0;
  /// The worker that saved the tensor. The text lives as long as the trial and its views.
  std::string_view worker;
  DType dtype = DType::F32;
  /// The number of elements.
  std::int64_t elements = 0;
  /// Whether the raw value was saved.
  bool has_value = false;
  /// The bytes of the saved raw value.
  std::int64_t bytes = 0;
  /// The saved shape; nothing if it was not saved.
  std::optional<Shape> shape;
  /// The counts of special elements, where the hook counted them: in floating-point tensors.
  std::optional<ValueCounts> counts;
  /// The saved reductions.
  ReductionValues reductions;
};

/// A reduction as the index holds it.
struct SavedReduction {
  double value = 0;
  /// The global step at which it was saved.
  std::int64_t step = 0;
  /// The worker that saved it. The text lives as long as the trial and its views.
  std::string_view worker;
};

/// One tensor of a trial, over all its steps. A cheap handle that must not outlive the view it came
/// from.
///
/// With Mode::Global a step is a global step of any mode. Queries for one step throw
/// StepUnavailable (the run has passed the step), StepNotYetAvailable (the step may come),
/// NoMoreData (the run has ended before the step), TensorUnavailableForStep (only other tensors
/// were saved there, or only other data of this one), or InvalidWorker.
class Tensor {
 public:
  const std::string& name() const noexcept { return name_; }

  /// Sorted steps at which anything of this tensor was saved.
  std::vector<std::int64_t> steps(Mode mode = Mode::Global,
                                  bool show_incomplete_steps = false) const;
  /// The last `n` saved steps <= `step`, ascending; 0: all.
  std::vector<std::int64_t> prev_steps(std::int64_t step, std::size_t n = 0,
                                       Mode mode = Mode::Global) const;
  /// The workers that saved it at the step.
  std::vector<std::string> workers(std::int64_t step, Mode mode = Mode::Global) const;

  /// The raw value, after a check of its checksum; never rebuilt from reductions. Throws
  /// FormatError for damage.
  TensorValue value(std::int64_t step, Mode mode = Mode::Global,
                    std::string_view worker = {}) const;
  /// Every raw value by step; steps without one are left out.
  std::map<std::int64_t, TensorValue> values(Mode mode = Mode::Global,
                                             std::string_view worker = {}) const;

  /// The saved reduction, else the same computed from the raw value; throws UsageError for an
  /// unknown name.
  double reduction_value(std::int64_t step, std::string_view reduction,
                         const ReductionQuery& query = {}) const;
  /// The saved reduction; nothing if it was not saved. Throws like value() if nothing of the tensor
  /// was saved at the step.
  std::optional<SavedReduction> find_reduction(std::int64_t step, Reduction reduction,
                                               Mode mode = Mode::Global,
                                               std::string_view worker = {}) const;
  /// All saved reductions.
  ReductionValues reduction_values(std::int64_t step, Mode mode = Mode::Global,
                                   std::string_view worker = {}) const;

  /// The saved shape; throws ShapeUnavailableForStep when only reductions were saved.
  Shape shape(std::int64_t step, Mode mode = Mode::Global, std::string_view worker = {}) const;
  std::map<std::int64_t, Shape> shapes(Mode mode = Mode::Global,
                                       std::string_view worker = {}) const;

  /// What the index holds of each worker, by name; empty when nothing was saved at the step. Reads
  /// no values.
  std::vector<TensorRecord> records(std::int64_t step, Mode mode = Mode::Global) const;
  /// The same of one worker; default: the first by name. Throws like value().
  TensorRecord record(std::int64_t step, Mode mode = Mode::Global,
                      std::string_view worker = {}) const;

 private:
  friend class Trial;
  Tensor(const Trial& trial, std::string name, std::uint32_t id);
  const Trial* trial_;
  std::string name_;
  std::uint32_t id_;
};

}  // namespace cupel
