#pragma once

#include <string>
#include <vector>

#include "training/judge.h"
#include "training/recipe.h"

namespace cupel::training {

/// The cells of a table's row.
using Row = std::vector<std::string>;

/// A run, and what the rules said of it, in the order of builtin_rules().
struct JudgedRun {
  Recipe recipe;
  std::vector<Opinion> opinions;
};

// The tables of docs/rules-on-real-training.md; each begins with its heads.

/// "relu_net_7 | relu_net | 7 | rules that fired, with the first step of each".
Row healthy_heads();
Row healthy_row(const JudgedRun& run);
/// "rate_too_small | conv_net | 9 | what is wrong | the rule that is meant | its first step, or
/// "missed" | other rules that fired".
Row sick_heads();
Row sick_row(const JudgedRun& run);
/// Of a rule: per architecture "1 of 5" healthy runs that it fired at, or "-" where it had nothing
/// to judge; "2 of 2" sick runs that are meant for it, and how many others it fired at.
Row rule_heads();
Row rule_row(const std::string& rule, const std::vector<JudgedRun>& healthy,
             const std::vector<JudgedRun>& sick);

/// "| a | b |"
std::string to_markdown(const Row& row);

}  // namespace cupel::training
