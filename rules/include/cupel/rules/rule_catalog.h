#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_definition.h"

namespace cupel {

/// The definitions that a program knows by name: those of cupel, and the program's own.
///
///     RuleCatalog catalog = builtin_rules();
///     catalog.add(TooWide::definition());
///     const auto rule = catalog.require("TooWide").make(*trial, {{"most", "3"}});
///
/// A definition is found by either form of its name and by its edition. Copies share definitions.
class RuleCatalog {
 public:
  /// Throws UsageError where name and edition are taken already, the name is no identifier or
  /// "all", a parameter has no legal number, a default is no legal value, or the definition cannot
  /// make a rule. The catalog is unchanged then.
  void add(RuleDefinition definition);
  void add(std::shared_ptr<const RuleDefinition> definition);
  /// Returns the definition of that name and edition, or null.
  std::shared_ptr<const RuleDefinition> find(std::string_view name,
                                             Definitions edition = Definitions::Practical) const;
  /// The same; throws UsageError, with the nearest names, where there is none.
  const RuleDefinition& require(std::string_view name,
                                Definitions edition = Definitions::Practical) const;
  /// The mistake in a name that no definition has, with the nearest names as its hint.
  Mistake mistake_in(std::string_view name, Definitions edition = Definitions::Practical) const;
  /// All definitions, by name, then edition.
  const std::vector<std::shared_ptr<const RuleDefinition>>& definitions() const noexcept {
    return definitions_;
  }
  /// The definitions that hold for an edition, by name: one for each name.
  std::vector<std::shared_ptr<const RuleDefinition>> definitions(Definitions edition) const;

 private:
  std::vector<std::shared_ptr<const RuleDefinition>> definitions_;
};

/// The rules that come with cupel.
const RuleCatalog& builtin_rules();

}  // namespace cupel
