#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/trial/run_difference.h"
#include "cupel/trial/step_range.h"

namespace cupel {

class Trial;

/// The options of compare_runs(): what is compared, and how exactly. The default finds the first
/// difference.
struct RunComparisonOptions {
  /// Floating-point numbers a and b are the same if |a - b| <= atol + rtol * max(|a|, |b|),
  /// computed in doubles: the same whichever run comes first. NaN is the same as any NaN, an
  /// infinity only as itself, -0 as 0. Integers, bools and text are always compared exactly. Both
  /// tolerances are finite and not negative.
  double rtol = 0, atol = 0;
  /// Only these global steps are compared.
  StepRange steps = {};
  /// Only steps that are of this mode in either run are compared; Global: steps of all modes.
  Mode mode = Mode::Global;
  /// Only tensors are compared that one of these collections of either run has, or in whose names
  /// one of `patterns` is found; default: all tensors.
  std::vector<std::string> collections = {};
  /// See `collections`.
  PatternList patterns = {};
  /// Whether all values are read. By default, values whose lengths, checksums (CRC32C), reductions
  /// and counts agree bit for bit count as the same and are not read; that is wrong where different
  /// values share all of these, and one pair in 2^32 shares a checksum.
  bool read_all_values = false;
  /// The comparison ends after so many differences; 0: never.
  std::size_t limit = 1;
  /// Called from time to time with the rows of both indexes that are compared and all of them.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// The result of compare_runs(): the differences, and what was compared.
struct RunComparison {
  /// The differences by global step, then tensor name, then worker; no more than the limit.
  std::vector<RunDifference> differences;
  /// Whether everything was compared; false when the limit ended the comparison.
  bool complete = true;

  /// The number of steps that both runs have.
  std::int64_t steps = 0;
  /// The number of rows that both runs have: one for each tensor, step and worker.
  std::int64_t tensors = 0;
  /// The number of these steps and rows before the first difference.
  std::int64_t steps_before = 0, tensors_before = 0;

  /// The rows without a difference, by what was compared of them. Each row counts once.
  struct Agreements {
    /// Rows with equal raw values: all elements were compared.
    std::int64_t values = 0;
    /// Rows with equal checksums and statistics of the raw values.
    std::int64_t checksums = 0;
    /// Rows with equal reductions and counts; a run lacks the raw value.
    std::int64_t statistics = 0;
    /// Rows with equal types and shapes; the runs have nothing else in common.
    std::int64_t shapes = 0;
    /// Rows with equal types and numbers of elements; the runs have nothing else in common.
    std::int64_t nothing = 0;
  } agreements;
  /// The values that were read in events files of both runs, and their bytes.
  std::uint64_t values_read = 0, bytes_read = 0;

  /// The number of rows with a raw value in one run only, which is no difference.
  std::int64_t values_only_in_a = 0, values_only_in_b = 0;
  /// The number of rows with a reduction in one run only, which is no difference.
  std::int64_t reductions_only_in_a = 0, reductions_only_in_b = 0;
  /// The number of steps that were not compared, because the other run may still commit them.
  std::int64_t steps_ahead_in_a = 0, steps_ahead_in_b = 0;

  bool same() const noexcept { return differences.empty(); }
  /// Whether the runs agree only because they have nothing to compare in common: no tensor, or of
  /// each tensor only the type and the number of elements.
  bool nothing_compared() const noexcept {
    return differences.empty() && agreements.nothing == tensors;
  }
};

/// Compares what two runs have committed so far, by global steps and tensors. The memory is that of
/// one step and two values.
///
/// A step that one run lacks is a difference if that run has passed the step, or has ended. For
/// each tensor and step, what both runs have is compared: raw values, else counts and reductions.
/// Each view answers from one snapshot, the pinned one if it is pinned; `a` and `b` may be one
/// view.
///
/// Throws UsageError for a bad tolerance, FormatError that also names the run for a damaged value,
/// TensorUnavailableForStep for a value whose events file is missing, and what queries throw.
RunComparison compare_runs(const Trial& a, const Trial& b,
                           const RunComparisonOptions& options = {});

}  // namespace cupel
