#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection_configuration.h"
#include "cupel/core/saving_plan.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/trial/trial.h"

namespace cupel {

/// Finds what a rule needs and a run does not save: before training from the plan of what is saved,
/// afterwards from the run itself.
///
///     const SavingPlan plan = saving_plan(read_hook_configuration("hook.json"));
///     for (const Gap& gap : find_gaps("VanishingGradient", rule.needs({}), plan))
///       std::cout << gap.found << ", " << gap.needed << '\n';

/// Something that a rule needs and a run does not save.
struct Gap {
  enum class Kind : std::uint8_t {
    Collection,  ///< A collection is not saved, or holds nothing.
    Pattern,     ///< No saved tensor has a name that matches the pattern.
    Mode,        ///< No step of the mode that is judged is saved.
    Steps,       ///< Too few steps are saved, or too close to each other.
    Interval,    ///< Saved steps are too far apart.
    Source,      ///< The tensors are saved without anything that the rule can judge by.
    Worker,      ///< Some workers do not save.
  };
  Kind kind = Kind::Collection;
  std::size_t need = 0;   ///< The index of the need in RuleNeeds::tensors.
  std::string parameter;  ///< The parameter that asks for the tensors. Empty: the rule itself does.
  std::string tensors;    ///< The tensors: "the collection gradients", "names matching \"relu\""
  std::string found;      ///< What is saved: "saved every 500 steps of TRAIN".
  std::string needed;     ///< What is needed: "two saved steps at most 10 apart".
  std::string closing;    ///< JSON to add to the configuration of the hook, which closes the gap.
};

/// "collection", "pattern", "mode", "steps", "interval", "source", "worker".
std::string_view to_string(Gap::Kind kind) noexcept;

/// Returns the gaps of a rule in a plan; none if the rule can work.
///
/// Names of tensors are not known, so that a collection counts as holding what a pattern asks for
/// when an example of one pattern matches the other; a built-in collection without patterns counts
/// as filled by the code of the training. The length of the training is not known either: steps are
/// missing only where the plan ends them.
std::vector<Gap> find_gaps(std::string_view rule, const RuleNeeds& needs, const SavingPlan& plan);

/// Returns the gaps of a rule in a run, as far as it has come. Too few steps are a gap only where
/// the run has ended.
std::vector<Gap> find_gaps(std::string_view rule, const RuleNeeds& needs, const Trial& run);

/// Returns the collections that feed a rule, as entries of a hook's configuration. `plan` has the
/// values that hold where an entry has none. A user's collection without patterns is an entry
/// without patterns.
std::vector<CollectionConfiguration> needed_collections(std::string_view rule,
                                                        const RuleNeeds& needs,
                                                        const SavingPlan& plan);

/// Adds entries to `into`; entries of the same name are merged into one.
void merge_collections(std::vector<CollectionConfiguration>& into,
                       const std::vector<CollectionConfiguration>& entries, const SaveConfig& hook);

}  // namespace cupel
