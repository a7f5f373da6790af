#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/collection_configuration.h"
#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"

namespace cupel {

/// What was saved, or will be, of a tensor at a step.
struct SavedParts {
  bool counts = false;
  bool shape = false;
  bool raw = false;
  ReductionSet reductions = {};
};

/// Something that may be saved of a tensor and that a rule can judge it by.
struct TensorSource {
  enum class Kind : std::uint8_t { Counts, Reductions, Any, Value };
  Kind kind = Kind::Value;
  ReductionSet reductions = {};  ///< Of Kind::Reductions: all of these together.
  bool shape = false;            ///< And the shape.
  std::size_t least = 0;         ///< Of Kind::Any: how many reductions, whichever they are.

  /// The counts of NaN, infinities and zeros, which are saved of floating-point tensors only.
  static TensorSource counts() { return {Kind::Counts, {}}; }
  static TensorSource of(std::initializer_list<Reduction> together);
  static TensorSource with_shape(Reduction reduction);
  /// So many reductions, the same ones wherever they are compared.
  static TensorSource any(std::size_t count) { return {.kind = Kind::Any, .least = count}; }
  static TensorSource value() { return {Kind::Value, {}}; }

  bool is_in(const SavedParts& saved) const noexcept;
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
  /// Any one of the collections and patterns is enough; else each of them is to have tensors.
  bool any_suffices = false;
  /// The collection that the tensors of the patterns are put into where a configuration is written.
  std::string saved_as = {};

  /// Each that is to have tensors by itself: one for each collection and pattern, or itself.
  std::vector<NeededTensors> parts() const;
  /// "the collections gradients, weights and names matching \"relu\"", "all tensors".
  std::string description() const;
};

/// A number that a rule's parameter sets, with the parameter's name.
struct NeededNumber {
  std::int64_t value = 1;
  std::string parameter = {};
};

/// One more than a parameter says.
inline NeededNumber one_more(std::int64_t value, std::string parameter) {
  return {value < std::numeric_limits<std::int64_t>::max() ? value + 1 : value,
          std::move(parameter)};
}

/// Tensors that a rule has to find in a run, and what of them.
struct TensorNeed {
  NeededTensors tensors;
  /// Any one of them is enough to judge a tensor at a step; the one to be saved first.
  std::vector<TensorSource> suffices;
  /// What often, but not always, settles it without reading the value.
  std::vector<TensorSource> spares = {};
  /// Only steps of the first of these modes that the run has; Global stands for all steps, and none
  /// for any.
  std::vector<Mode> modes = {};
  /// The first of them that the tensor itself was saved in, whatever else the run has.
  bool modes_by_tensor = false;
  /// Steps of each of these modes, because they are compared with each other,
  std::vector<Mode> each_of = {};
  /// or else tensors in pairs by name, such as train-rmse and validation-rmse.
  bool or_pairs_of_names = false;
  /// So many saved steps of a tensor make the first judgement that can find something;
  NeededNumber steps = {};
  /// other numbers in some modes.
  std::map<Mode, NeededNumber> steps_of_mode = {};
  /// And these lie between the first and the last of them, in steps of the mode.
  std::optional<NeededNumber> at_least_apart = std::nullopt;
  /// Two saved steps must not be further apart than this, in steps of the mode.
  std::optional<NeededNumber> at_least_every = std::nullopt;
  /// The rule works without, and says less.
  bool optional = false;
  /// When a configuration that is written for the rule saves them.
  SaveTimes times = {};

  const NeededNumber& steps_in(Mode mode) const;
};

/// What a run must have saved to feed a rule: what `cupel rules` says of it.
struct RuleNeeds {
  std::vector<TensorNeed> tensors;
  bool any_suffices = false;  ///< Each need by itself is enough for the rule to judge something.
};

/// "the collection gradients: abs_mean, else l1, else raw values"; needs are separated
/// by "; ", or by "; or " where any one is enough.
std::string describe(const RuleNeeds& needs);

/// "abs_mean, else l1, else raw values".
std::string sources_text(const std::vector<TensorSource>& sources);

/// "neither abs_mean nor l1 nor the raw value was saved".
std::string none_was_saved(const std::vector<TensorSource>& sources);

}  // namespace cupel
