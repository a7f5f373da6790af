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

/// How a reduction is looked up.
struct ReductionQuery {
  Mode mode = Mode::Global;
  std::string worker = {};  ///< Default: the first by name that has the step.
  bool abs = false;         ///< Of the magnitudes.
};

/// All that the index holds of one tensor at one step from one worker: what a rule can know without
/// reading any value.
struct TensorRecord {
  std::int64_t step = 0;  ///< Global.
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  std::string_view worker;  ///< Lives as long as the trial and its views.
  DType dtype = DType::F32;
  std::int64_t elements = 0;
  bool has_value = false;  ///< The raw value was saved.
  std::int64_t bytes = 0;  ///< Of the saved raw value.
  std::optional<Shape> shape;
  std::optional<ValueCounts>
      counts;                  ///< Of floating-point tensors whose values the hook looked at.
  ReductionValues reductions;  ///< The saved ones.
};

/// A reduction as the index holds it, of whom and of when.
struct SavedReduction {
  double value = 0;
  std::int64_t step = 0;    ///< Global.
  std::string_view worker;  ///< Lives as long as the trial and its views.
};

/// One tensor of a trial, over all its steps. A cheap handle that must not outlive the view it came
/// from.
///
/// With Mode::Global a step is a global step, of whatever mode. What a step lacks is one of:
/// StepUnavailable (the run passed it), StepNotYetAvailable (it may come), NoMoreData (it will not:
/// the run has ended), TensorUnavailableForStep (others are there, or only other things of this one
/// are), InvalidWorker.
class Tensor {
 public:
  const std::string& name() const noexcept { return name_; }

  /// Sorted steps at which anything of this tensor was saved.
  std::vector<std::int64_t> steps(Mode mode = Mode::Global,
                                  bool show_incomplete_steps = false) const;
  /// The last `n` saved steps <= `step`, ascending; 0: all.
  std::vector<std::int64_t> prev_steps(std::int64_t step, std::size_t n = 0,
                                       Mode mode = Mode::Global) const;
  /// Who saved it at the step.
  std::vector<std::string> workers(std::int64_t step, Mode mode = Mode::Global) const;

  /// The raw value, its checksum verified; never rebuilt from reductions. FormatError for damage.
  TensorValue value(std::int64_t step, Mode mode = Mode::Global,
                    std::string_view worker = {}) const;
  /// Every raw value by step; steps without one are left out.
  std::map<std::int64_t, TensorValue> values(Mode mode = Mode::Global,
                                             std::string_view worker = {}) const;

  /// The saved reduction, else the same computed from the raw value; throws UsageError for an
  /// unknown name.
  double reduction_value(std::int64_t step, std::string_view reduction,
                         const ReductionQuery& query = {}) const;
  /// The saved one only, nothing where that is none; throws like value() where nothing of the
  /// tensor was saved at the step.
  std::optional<SavedReduction> find_reduction(std::int64_t step, Reduction reduction,
                                               Mode mode = Mode::Global,
                                               std::string_view worker = {}) const;
  /// All that were saved.
  ReductionValues reduction_values(std::int64_t step, Mode mode = Mode::Global,
                                   std::string_view worker = {}) const;

  /// The saved shape; throws ShapeUnavailableForStep when only reductions were saved.
  Shape shape(std::int64_t step, Mode mode = Mode::Global, std::string_view worker = {}) const;
  std::map<std::int64_t, Shape> shapes(Mode mode = Mode::Global,
                                       std::string_view worker = {}) const;

  /// What the index holds, per worker by name; empty when nothing was saved at the step. Never
  /// reads values.
  std::vector<TensorRecord> records(std::int64_t step, Mode mode = Mode::Global) const;
  /// The same of one worker (default: the first by name); throws like value().
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
