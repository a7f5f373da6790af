#include "builtin_table.h"
#include "cupel/rules/rule_catalog.h"

namespace cupel {

using namespace rules_detail;

const RuleCatalog& builtin_rules() {
  static const RuleCatalog catalog = [] {
    RuleCatalog rules;
#define CUPEL_ADD_BUILTIN_RULE(rule) rules.add(rule());
    CUPEL_FOR_EACH_BUILTIN_RULE(CUPEL_ADD_BUILTIN_RULE)
#undef CUPEL_ADD_BUILTIN_RULE
#define CUPEL_ADD_BUILTIN_RULE(rule)       \
  rules.add(rule(Definitions::Practical)); \
  rules.add(rule(Definitions::Reference));
    CUPEL_FOR_EACH_BUILTIN_RULE_OF_EDITIONS(CUPEL_ADD_BUILTIN_RULE)
#undef CUPEL_ADD_BUILTIN_RULE
    return rules;
  }();
  return catalog;
}

}  // namespace cupel
