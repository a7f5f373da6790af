#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/saving_plan.h"
#include "cupel/rules/check_needs.h"
#include "cupel/rules/rule_parameter.h"
#include "cupel/store/memory_store.h"
#include "cupel/trial/trial.h"

namespace cupel::testing {

using Json = nlohmann::ordered_json;

/// A tensor of a training program: the same at every step.
struct ProgramTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::function<double(std::size_t element, Mode mode)> element;
};

/// A rule with a configuration that feeds it and a program in which it then fires.
struct FedRule {
  std::string rule;
  RuleParameters parameters;
  std::vector<std::string> fed_by;  ///< The collection of each need.
  Json entries;                     ///< CollectionConfigurations.
  std::vector<ProgramTensor> tensors;
  std::vector<Mode> modes = {Mode::Train};  ///< Of the steps, over and over.

  RuleNeeds needs() const;
  Json configuration() const;
};

/// One or more for each rule.
const std::vector<FedRule>& fed_rules();

constexpr int kSteps = 24;

/// What a configuration saves of the program, and what comes of it.
struct Outcome {
  std::vector<Gap> in_plan;
  std::vector<Gap> in_run;
  std::vector<std::string> findings;  ///< "step 3 worker_0 w: abs_mean 0 < 1e-07"
  std::vector<std::string> workers;   ///< That saved something.
};
Outcome outcome(const FedRule& fed, const Json& configuration, std::int64_t workers = 1);

/// The configuration with one key of one collection changed.
struct Changed {
  Json configuration;
  bool plan_can_tell =
      false;  ///< How long, and in which modes, the program trains does not matter.
};
/// In every way that there is: steps, modes, and what is saved.
std::vector<Changed> changed_configurations(const FedRule& fed);

/// A configuration with something taken away, or one of several alternatives left.
struct Variant {
  std::string name;
  const FedRule* fed = nullptr;
  Json configuration;
  bool is_broken = true;
  std::vector<std::size_t> needs;  ///< Those that are not met.
  std::vector<Gap::Kind> kinds;    ///< One of which the plan has to show.
  std::int64_t workers = 1;
};

/// All that follow from what the rules need.
std::vector<Variant> variants();

}  // namespace cupel::testing
