#pragma once

#include <string>
#include <utility>

#include "cupel/rules/rule.h"

namespace cupel::rules_detail {

/// The texts that a definition gives to the rule that it makes.
struct RuleTexts {
  static void set_name(Rule& rule, std::string name) { rule.name_ = std::move(name); }
  static void set_reads(Rule& rule, std::string reads) { rule.reads_ = std::move(reads); }
};

}  // namespace cupel::rules_detail
