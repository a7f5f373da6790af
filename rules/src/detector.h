#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"

namespace cupel {

/// A rule that comes with cupel: it tells what it reads, and says the same of a step whichever one
/// it was given first.
class Detector : public Rule {
 public:
  /// `name` lives as long as the rule.
  Detector(Trial& base, std::string_view name, const RuleNeeds& needs,
           const std::vector<Trial*>& others = {})
      : Rule(base, others), name_(name), reads_(describe(needs)) {}

  std::string rule_name() const final { return std::string(name_); }
  std::string what_it_reads() const final { return reads_; }
  bool looks_back_by_itself() const final { return true; }

 private:
  std::string_view name_;
  std::string reads_;
};

}  // namespace cupel
