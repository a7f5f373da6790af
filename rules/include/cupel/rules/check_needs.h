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

/// Finds what a rule needs and will not get: before training from the plan of what is saved,
/// afterwards from the run itself.
///
///     const SavingPlan plan = saving_plan(read_hook_configuration("hook.json"));
///     for (const Gap& gap : find_gaps("VanishingGradient", rule.needs({}), plan))
///       std::cout << gap.found << ", " << gap.needed << '\n';

/// Something that a rule needs and that is not saved.
struct Gap {
  enum class Kind : std::uint8_t {
    Collection,  ///< One that is not saved, or that holds nothing.
    Pattern,     ///< No name that it is found in is saved.
    Mode,        ///< The steps that are to be judged are of a mode that is never saved.
    Steps,       ///< Too few steps are saved, or too close to each other.
    Interval,    ///< Saved steps are too far apart.
    Source,      ///< Nothing is saved of the tensors that the rule can judge by.
    Worker,      ///< Some workers do not save.
  };
  Kind kind = Kind::Collection;
  std::size_t need = 0;   ///< Which of the rule's needs.
  std::string parameter;  ///< The rule's parameter that asks for it; empty: the rule itself does.
  std::string tensors;    ///< "the collection gradients", "names matching \"relu\""
  std::string found;      ///< "saved every 500 steps of TRAIN"
  std::string needed;     ///< "two saved steps at most 10 apart"
  std::string closing;    ///< JSON: what to add to the configuration of the hook.
};

/// "collection", "pattern", "mode", "steps", "interval", "source", "worker".
std::string_view to_string(Gap::Kind kind) noexcept;

/// The gaps of a rule in what is planned, none if the rule can work.
///
/// Names of tensors are not known, so that a collection counts as holding what a pattern asks for
/// when an example of one pattern is found by the other; one of the built-in collections that has
/// no patterns counts as filled by the training's code. How long training takes is not known
/// either: steps are missing only where the plan ends them.
std::vector<Gap> find_gaps(std::string_view rule, const RuleNeeds& needs, const SavingPlan& plan);

/// The gaps of a rule in what is in a run so far. That there are too few steps is said of runs that
/// have ended only.
std::vector<Gap> find_gaps(std::string_view rule, const RuleNeeds& needs, const Trial& run);

/// The collections that feed a rule, as entries of a hook's configuration; `plan` says what holds
/// where they say nothing. A collection of the user's that nobody has given patterns comes without.
std::vector<CollectionConfiguration> needed_collections(std::string_view rule,
                                                        const RuleNeeds& needs,
                                                        const SavingPlan& plan);

/// Adds entries to others: those of the same name are merged into one.
void merge_collections(std::vector<CollectionConfiguration>& into,
                       const std::vector<CollectionConfiguration>& entries, const SaveConfig& hook);

}  // namespace cupel
