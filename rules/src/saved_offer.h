#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cupel/rules/check_needs.h"

namespace cupel::rules_detail {

/// The steps of one mode at which something is saved that a rule can use.
struct SavedSteps {
  std::int64_t count = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::optional<std::int64_t> closest = std::nullopt;  ///< Two of them that are nearest.

  /// Steps come in rising order.
  void add(std::int64_t step);
};

/// Tensors that are saved alike, or one: what it offers to a rule.
struct SavedOffer {
  std::string name;                  ///< "the collection gradients", "fc1.weight"
  std::map<Mode, SavedSteps> modes;  ///< Those in which it is saved.
  SavedSteps all;                    ///< Of all modes, by global step.
  SavedParts parts;                  ///< That were saved at any step.
  bool usable = false;               ///< One of the need's sources is in them.
};

/// What decides which steps are judged.
struct OfferedModes {
  std::vector<Mode> saved = {};  ///< Those that the run has.
  bool steps_are_known = true;   ///< Nothing is to come.
  bool are_planned = false;      ///< Which of them training has is not known.
  bool pairs_by_name = false;    ///< So that modes are not compared.
};

/// What an offer leaves open of a need. The gaps have what was found and what is needed.
std::vector<Gap> gaps_of_offer(const TensorNeed& need, const SavedOffer& offer,
                               const OfferedModes& modes);

/// What a saved collection offers.
SavedOffer offer_of(const SavedCollection& saved, const TensorNeed& need);
bool saves_in(const SavedCollection& saved, Mode mode);

/// The entry that feeds a part of a need, over what holds in `plan`.
CollectionConfiguration needed_collection(std::string_view rule, const TensorNeed& need,
                                          const NeededTensors& part, const SavingPlan& plan);

/// The rule's parameter that chooses the tensors of a part; empty if it is the rule's own choice.
std::string choosing_parameter(const NeededTensors& part);

}  // namespace cupel::rules_detail
