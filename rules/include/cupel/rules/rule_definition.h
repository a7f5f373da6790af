#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/rule_parameter.h"
#include "cupel/rules/rule_problem.h"

namespace cupel {

/// The edition of a definition: what cupel recommends, or what the published rule does.
enum class Definitions : std::uint8_t { Practical, Reference };

/// Returns "practical" or "reference".
std::string_view to_string(Definitions edition) noexcept;

/// What a rule is: its name and page, the schema of its parameters, what it needs, how to make it.
///
/// Built-in rules, rules in C++ of a program's own (define_rule() in option_parameter.h) and rules
/// in files (read_rule_file()) all have this form. A definition is
/// immutable once it is in a RuleCatalog, and any thread may use it.
struct RuleDefinition {
  std::string name;  ///< "VanishingGradient"; users may also write "vanishing_gradient".
  /// The edition that the definition belongs to. Nothing: the definition holds for every edition.
  std::optional<Definitions> edition = std::nullopt;
  std::string summary = {};  ///< What the rule fires on, in one line.
  /// Paragraphs of Markdown: what is compared with what, what is remembered, what is skipped, what
  /// it costs. Lines indented by four blanks are formulas. May be empty.
  std::string description = {};
  std::string example = {};  ///< A SPEC with everything that the rule requires. May be empty.
  std::vector<Parameter> parameters = {};
  std::size_t other_trials = 0;  ///< The least number of other runs that the rule compares with.
  std::string file = {};         ///< The file that defines the rule. Empty: C++.
  /// Tells the code of the rule from other code of the same name: a runner does not resume with the
  /// state that it kept for other code. Empty for rules in C++.
  std::string fingerprint = {};

  /// Adds the mistakes that the schema alone does not find, such as two parameters that exclude
  /// each other. May be null.
  std::function<void(const ParameterValues&, ParameterMistakes&)> check_values = nullptr;
  /// Returns what a run must have saved to feed the rule. Null: the needs are not known.
  std::function<RuleNeeds(const ParameterValues&)> needs_of = nullptr;
  /// Makes the rule over `base`; the rule owns the other runs.
  std::function<std::unique_ptr<Rule>(Trial& base, const ParameterValues&,
                                      std::vector<std::unique_ptr<Trial>> others)>
      make_rule = nullptr;
  /// Finds the place of an error that another function of the definition threw. Null: there are no
  /// places.
  std::function<RuleProblem(const std::exception&)> problem_of = nullptr;

  bool has_needs() const noexcept { return needs_of != nullptr; }
  /// Finds every mistake in the parameters, without a run, and whether there are too few other runs
  /// where their number is given.
  ParameterMistakes mistakes_in(const RuleParameters& given,
                                std::optional<std::size_t> others = std::nullopt) const;
  /// Returns what a run must have saved. Throws UsageError with every mistake in the parameters.
  RuleNeeds needs(const RuleParameters& given = {}) const;
  /// Describes in words what the rule reads at its defaults, also where a required parameter is
  /// missing.
  std::string reads() const;
  /// Makes the rule over `base`, which has the name of the definition. Throws UsageError with every
  /// mistake in the parameters, and where there are fewer other runs than the rule compares with.
  std::unique_ptr<Rule> make(Trial& base, const RuleParameters& given = {},
                             std::vector<std::unique_ptr<Trial>> others = {}) const;
};

}  // namespace cupel
