#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cupel/core/dtype.h"
#include "cupel/core/mode.h"
#include "cupel/core/shape.h"

namespace cupel {

/// The kinds of differences between two runs (compare_runs).
enum class DifferenceKind {
  Step,      ///< A step is in one run only.
  Mode,      ///< A step is of different modes; its tensors are compared all the same.
  Worker,    ///< A worker saved something at the step in one run only.
  Tensor,    ///< A worker saved the tensor at the step in one run only.
  DType,     ///< The tensor is of different types.
  Shape,     ///< The tensor has different shapes, or numbers of elements where shapes are unknown.
  Element,   ///< Raw values differ in an element.
  Count,     ///< Numbers of NaN, infinities or zeros differ, and a run lacks the raw value.
  Reduction  ///< A saved reduction differs, and a run lacks the raw value.
};
/// "step", "mode" … "reduction", as the command line prints them.
const char* to_string(DifferenceKind kind) noexcept;

/// An element of a tensor, a reduction or a count; std::monostate where there is none.
using ComparedNumber =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

/// The data of one of the runs at a difference.
struct DifferenceSide {
  /// The mode of the step.
  Mode mode = Mode::Global;
  /// The number of the step in its mode.
  std::int64_t mode_step = 0;
  /// The type of the tensor; of kinds from DifferenceKind::Tensor on, as the next two fields.
  DType dtype = DType::F32;
  /// The number of elements of the tensor.
  std::int64_t elements = 0;
  /// The shape of the tensor; nothing if it was not saved.
  std::optional<Shape> shape = {};
  /// The element, count or reduction that differs.
  ComparedNumber value = {};
};

/// One difference of two runs: at most one for each tensor, step and worker.
struct RunDifference {
  DifferenceKind kind = DifferenceKind::Step;
  /// The global step.
  std::int64_t step = 0;
  /// The name of the tensor; empty for steps, modes and workers.
  std::string tensor = {};
  /// The name of the worker; empty for steps and modes.
  std::string worker = {};
  /// The data of each run; nothing for the run that lacks the step, worker or tensor.
  std::optional<DifferenceSide> a = {}, b = {};

  /// The index of the first element, in row-major order, that differs; for kind Element.
  std::vector<std::int64_t> index = {};
  /// The first count or reduction that differs, such as "nan"; for kinds Count and Reduction.
  std::string statistic = {};
  /// The number of elements, counts or reductions that both runs have.
  std::int64_t compared = 0;
  /// The number of these that differ.
  std::int64_t differing = 0;
  /// |a - b| at the first that differs, and the greatest |a - b|; nothing where text or bools
  /// differ, or a NaN and a number.
  std::optional<double> difference = {}, greatest_difference = {};
};

}  // namespace cupel
