#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cupel/core/dtype.h"
#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"
#include "cupel/core/shape.h"
#include "cupel/trial/step_range.h"

namespace cupel {

class Trial;

/// What compare_runs() compares, and how exactly. As it is, it looks for the first difference.
struct RunComparisonOptions {
  /// Floating-point numbers a and b are the same if |a - b| <= atol + rtol * max(|a|, |b|),
  /// computed in doubles: the same whichever run comes first. NaN is the same as any NaN, an
  /// infinity only as itself, -0 as 0. Integers, bools and text are always compared exactly. Not
  /// negative, finite.
  double rtol = 0, atol = 0;
  StepRange steps = {};      ///< Global steps.
  Mode mode = Mode::Global;  ///< Only steps that are of this mode in either run; Global: all.
  /// Tensors that a collection of either run has or in whose names a pattern is found; default:
  /// all.
  std::vector<std::string> collections = {};
  PatternList patterns = {};
  /// Values whose lengths, checksums (CRC32C), reductions and counts agree bit for bit are taken as
  /// the same unread. That errs where different values share all of these: one pair in 2^32 shares
  /// a checksum. This reads them too.
  bool read_all_values = false;
  std::size_t limit = 1;  ///< How many differences are looked for; 0: all.
  /// Told now and then how many of how many rows of both indexes are done.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

enum class DifferenceKind {
  Step,      ///< A step is in one run only.
  Mode,      ///< A step is of different modes; its tensors are compared all the same.
  Worker,    ///< A worker saved something at the step in one run only.
  Tensor,    ///< A worker saved the tensor at the step in one run only.
  DType,     ///< The tensor is of different types.
  Shape,     ///< The tensor has different shapes, or numbers of elements where shapes are unknown.
  Element,   ///< Raw values differ in an element.
  Count,     ///< Other numbers of NaN, infinities or zeros; where not both have the raw value.
  Reduction  ///< A saved reduction differs; where not both have the raw value.
};
/// "step", "mode" … "reduction": as on the command line.
const char* to_string(DifferenceKind kind) noexcept;

/// An element of a tensor, a reduction or a count; nothing where there is none to tell.
using ComparedNumber =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

/// What one of the runs has at a place where they part.
struct DifferenceSide {
  Mode mode = Mode::Global;  ///< Of the step.
  std::int64_t mode_step = 0;
  DType dtype = DType::F32;  ///< This and the next two: from DifferenceKind::Tensor on.
  std::int64_t elements = 0;
  std::optional<Shape> shape = {};  ///< Nothing if it was not saved.
  ComparedNumber value = {};        ///< Element, Count and Reduction: what differs.
};

/// One place where two runs part: at most one for each tensor at a step from a worker.
struct RunDifference {
  DifferenceKind kind = DifferenceKind::Step;
  std::int64_t step = 0;    ///< Global.
  std::string tensor = {};  ///< Empty for steps, modes and workers.
  std::string worker = {};  ///< Empty for steps and modes.
  /// Nothing in the run that lacks what the other has.
  std::optional<DifferenceSide> a = {}, b = {};

  /// Element: where the first one is that differs, in row-major order.
  std::vector<std::int64_t> index = {};
  std::string statistic = {};  ///< Count, Reduction: the first that differs; "nan", "mean".
  std::int64_t compared = 0;   ///< How many elements, counts or reductions the two have in common,
  std::int64_t differing = 0;  ///< and how many of those differ.
  /// |a - b| of the place that is told, and the greatest of all; nothing where no two numbers
  /// differ, but text, bools, or a NaN and a number.
  std::optional<double> difference = {}, greatest_difference = {};
};

/// What compare_runs() found, and what it looked at.
struct RunComparison {
  /// By global step, then tensor name, then worker; at most as many as were asked for.
  std::vector<RunDifference> differences;
  /// Everything was looked at; not when the limit ended it.
  bool complete = true;

  std::int64_t steps = 0;    ///< Compared: in both runs.
  std::int64_t tensors = 0;  ///< Rows compared: tensors at steps from workers, in both runs.
  std::int64_t steps_before = 0, tensors_before = 0;  ///< Of those, before the first difference.

  /// How tensors that are the same were found to be: each counts once.
  struct Agreements {
    std::int64_t values = 0;      ///< By their raw values, all elements compared,
    std::int64_t checksums = 0;   ///< by checksum and statistics of raw values,
    std::int64_t statistics = 0;  ///< by reductions and counts; a run lacks the raw value,
    std::int64_t shapes = 0;      ///< by type and shape; nothing else is in both,
    std::int64_t nothing = 0;     ///< or by type and number of elements only.
  } agreements;
  std::uint64_t values_read = 0, bytes_read = 0;  ///< In events files, of both runs.

  /// Where only one run has the raw value, or a reduction that the other lacks: no differences.
  std::int64_t values_only_in_a = 0, values_only_in_b = 0;
  std::int64_t reductions_only_in_a = 0, reductions_only_in_b = 0;
  /// Steps that were not compared, because the other run has not come so far and goes on.
  std::int64_t steps_ahead_in_a = 0, steps_ahead_in_b = 0;

  bool same() const noexcept { return differences.empty(); }
  /// Nothing differs, because the two have nothing in common that could: no tensor, or of each only
  /// the type and the number of elements.
  bool nothing_compared() const noexcept {
    return differences.empty() && agreements.nothing == tensors;
  }
};

/// Compares what two runs have committed so far, step by step as the global steps are numbered, and
/// tensor by tensor, in the memory that one step and two values take.
///
/// A step that one run lacks is a difference when it has passed that step, or has ended. Of a
/// tensor at a step, what both runs have is compared: raw values, else counts and reductions. Each
/// view answers from one snapshot, its own if it is pinned; the two may be one.
///
/// Throws UsageError for a bad tolerance; what the views' queries throw; FormatError naming the run
/// too for a damaged value, and TensorUnavailableForStep for one whose events file is missing.
RunComparison compare_runs(const Trial& a, const Trial& b,
                           const RunComparisonOptions& options = {});

}  // namespace cupel
