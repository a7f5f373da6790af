#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/rules/rule_parameter.h"
#include "cupel/store/store.h"

namespace cupel::training {

/// The built-in rules that judge a run by what it holds: not the one that compares it with another,
/// nor the one that watches the clock.
std::vector<std::string> judging_rules();

/// What a rule is given: thresholds are its defaults, and what has none is chosen once for all
/// runs.
RuleParameters parameters_of(const std::string& rule);

/// What one rule said of a run.
struct Opinion {
  std::string rule;
  bool had_something_to_judge = false;
  std::optional<std::int64_t> first_step;  ///< The first that it fired at.
  bool fired() const noexcept { return first_step.has_value(); }
};

/// Has each of them judge an ended run, each by itself; opinions are in the rules' order.
/// Throws std::runtime_error where a rule could not judge.
std::vector<Opinion> judge(std::shared_ptr<const Store> run);

}  // namespace cupel::training
