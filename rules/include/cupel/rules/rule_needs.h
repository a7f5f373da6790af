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

/// What is saved of a tensor at a step.
struct SavedParts {
  bool counts = false;
  bool shape = false;
  bool raw = false;
  ReductionSet reductions = {};
};

/// Something that may be saved of a tensor, by which a rule can judge the tensor.
struct TensorSource {
  enum class Kind : std::uint8_t { Counts, Reductions, Any, Value };
  Kind kind = Kind::Value;
  ReductionSet reductions = {};  ///< Kind::Reductions: all of these together.
  bool shape = false;            ///< The shape is needed as well.
  std::size_t least = 0;         ///< Kind::Any: the number of reductions, whichever they are.

  /// The counts of NaN, infinities and zeros, which are saved of floating-point tensors only.
  static TensorSource counts() { return {Kind::Counts, {}}; }
  static TensorSource of(std::initializer_list<Reduction> together);
  static TensorSource with_shape(Reduction reduction);
  /// So many reductions; the same ones at all steps that are compared.
  static TensorSource any(std::size_t count) { return {.kind = Kind::Any, .least = count}; }
  static TensorSource value() { return {Kind::Value, {}}; }

  bool is_in(const SavedParts& saved) const noexcept;
};

/// Names that count only in a run without the names that a rule prefers.
struct FallbackNames {
  PatternList patterns = {};
  /// Only tensors of any of these collections count. Empty: collections do not matter.
  std::vector<std::string> collections = {};
  /// The least number of axes that a tensor of these names must have, by its saved shape. 0: the
  /// shape does not matter.
  std::size_t least_rank = 0;

  /// Returns "names matching \"relu\"", "names matching \"output\" in the collection activations",
  /// "names matching \"input\" of at least 4 axes".
  std::string description() const;
};

/// The tensors that a need is about: those of the collections, and those in whose names a pattern
/// is found.
struct NeededTensors {
  std::vector<std::string> collections = {};
  PatternList patterns = {};
  /// Where a run has none of these tensors, those of the first entry here count of which the run
  /// has any. PreferredSelection makes this choice while a run grows.
  std::vector<FallbackNames> fallbacks = {};
  /// Where there is neither a collection nor a pattern: every tensor. Else the choice is missing.
  bool all_if_none = false;
  /// The parameters of the rule that choose. Empty: the rule itself chooses.
  std::vector<std::string> parameters = {};
  /// Any one of the collections and patterns is enough; else each of them must have tensors.
  bool any_suffices = false;
  /// The collection for the tensors of the patterns in a configuration that is written for the
  /// rule.
  std::string saved_as = {};

  /// Returns the parts that must have tensors each: one for each collection and pattern, or itself
  /// where any one is enough or there are fallbacks.
  std::vector<NeededTensors> parts() const;
  /// Returns "the collections gradients, weights and names matching \"relu\"", "all tensors". The
  /// fallbacks are left out.
  std::string description() const;
};

/// A number that a parameter of the rule sets, and the name of the parameter.
struct NeededNumber {
  std::int64_t value = 1;
  std::string parameter = {};
};

/// Returns the number one larger than a parameter.
inline NeededNumber one_more(std::int64_t value, std::string parameter) {
  return {value < std::numeric_limits<std::int64_t>::max() ? value + 1 : value,
          std::move(parameter)};
}

/// Tensors that a rule must find in a run, and what must be saved of them.
struct TensorNeed {
  NeededTensors tensors;
  /// Any one of these is enough to judge a tensor at a step. A configuration that is written for
  /// the rule saves the first one.
  std::vector<TensorSource> suffices;
  /// Sources that often, but not always, are enough to judge without the value.
  std::vector<TensorSource> spares = {};
  /// The rule judges steps of the first of these modes that the run has. Global stands for all
  /// steps. Empty: the rule judges each step by itself, whatever its mode.
  std::vector<Mode> modes = {};
  /// The mode is the first of `modes` that the tensor itself was saved in, whatever the run has.
  bool modes_by_tensor = false;
  /// The rule compares steps of each of these modes with each other.
  std::vector<Mode> each_of = {};
  /// In place of `each_of`, pairs of names are enough, such as train-rmse and validation-rmse.
  bool or_pairs_of_names = false;
  /// The number of saved steps of a tensor at the first judgement that can find something.
  NeededNumber steps = {};
  /// Other numbers of steps in some modes.
  std::map<Mode, NeededNumber> steps_of_mode = {};
  /// The least distance between the first and the last of these steps, in steps of the mode.
  std::optional<NeededNumber> at_least_apart = std::nullopt;
  /// The largest distance between two saved steps, in steps of the mode.
  std::optional<NeededNumber> at_least_every = std::nullopt;
  /// The rule works without these tensors, and finds less.
  bool optional = false;
  /// The steps at which a configuration that is written for the rule saves the tensors.
  SaveTimes times = {};

  const NeededNumber& steps_in(Mode mode) const;
};

/// What a run must have saved to feed a rule.
struct RuleNeeds {
  std::vector<TensorNeed> tensors;
  bool any_suffices = false;  ///< Any one need is enough for the rule to judge something.
};

/// Returns "the collection gradients: abs_mean, else l1, else raw values". Needs are separated
/// by "; ", or by "; or " where any one is enough. Fallbacks become ", else other names".
std::string describe(const RuleNeeds& needs);

/// Returns "abs_mean, else l1, else raw values".
std::string sources_text(const std::vector<TensorSource>& sources);

/// Returns "neither abs_mean nor l1 nor the raw value was saved".
std::string none_was_saved(const std::vector<TensorSource>& sources);

}  // namespace cupel
