#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"

namespace cupel {

/// Something that may be saved of a tensor and that a rule can judge it by.
struct TensorSource {
  enum class Kind : std::uint8_t { Counts, Reductions, Value };
  Kind kind = Kind::Value;
  ReductionSet reductions = {};  ///< Of Kind::Reductions: all of these together.

  /// The counts of NaN, infinities and zeros, which are saved of floating-point tensors only.
  static TensorSource counts() { return {Kind::Counts, {}}; }
  static TensorSource of(std::initializer_list<Reduction> together);
  static TensorSource value() { return {Kind::Value, {}}; }
};

/// Which tensors a need is about: those of the collections and those in whose names a pattern is
/// found, together.
struct NeededTensors {
  std::vector<std::string> collections = {};
  PatternList patterns = {};
  /// Neither was given: every tensor, or else nothing, because somebody has to choose.
  bool all_if_none = false;
  /// The rule's parameters that choose; empty where the choice is the rule's own.
  std::vector<std::string> parameters = {};

  /// "the collections gradients, weights and names matching \"relu\"", "all tensors".
  std::string description() const;
};

/// A number that a rule's parameter sets, with the parameter's name.
struct NeededNumber {
  std::int64_t value = 1;
  std::string parameter = {};
};

/// Tensors that a rule has to find in a run, and what of them.
struct TensorNeed {
  NeededTensors tensors;
  /// Any one of them is enough to judge a tensor at a step; the cheapest first.
  std::vector<TensorSource> suffices;
  /// What often, but not always, settles it without reading the value.
  std::vector<TensorSource> spares = {};
  /// Only steps of the first of these modes that the run has; Global stands for all steps, and none
  /// for any.
  std::vector<Mode> modes = {};
  /// So many saved steps of a tensor make the first judgement.
  NeededNumber steps = {};
  /// Two saved steps must not be further apart than this, in steps of the mode.
  std::optional<NeededNumber> at_least_every = std::nullopt;
};

/// What a run must have saved to feed a rule: what `cupel rules` says of it.
struct RuleNeeds {
  std::vector<TensorNeed> tensors;
};

/// "the collection gradients: abs_mean, else l1, else raw values"; needs are separated by "; ".
std::string describe(const RuleNeeds& needs);

/// "neither abs_mean nor l1 nor the raw value was saved".
std::string none_was_saved(const std::vector<TensorSource>& sources);

}  // namespace cupel
