#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// A rule's parameters as they are configured: text by name.
using RuleParameters = std::map<std::string, std::string>;

/// One parameter that a rule takes: what `cupel rules NAME` prints.
struct ParameterInfo {
  std::string_view name;
  std::string_view kind;           ///< "float", "int", "bool", "list", "text"
  std::string_view default_value;  ///< "" where there is none.
  std::string_view help;
};

/// Which numbers are legal. Both bounds belong to them unless they are open.
struct NumberRange {
  double least = 0;
  double most = 0;
  bool open_below = false;
  bool open_above = false;
  bool contains(double number) const noexcept {
    return (open_below ? number > least : number >= least) &&
           (open_above ? number < most : number <= most);
  }
};

/// Converts a rule's parameters, once, and collects every mistake before it reports them all
/// together.
///
/// Each getter takes a parameter by name, or its default; "" and "None" mean not given. Whatever
/// was not asked for when finish() is called is an unknown parameter. A getter that met a mistake
/// returns some legal value, which finish() keeps from being used.
class ParameterReader {
 public:
  /// Borrows both until it is destroyed.
  ParameterReader(std::string_view rule, const RuleParameters& parameters,
                  std::span<const ParameterInfo> known);

  /// Decimal or exponent form, finite, within the bounds (both belong to them).
  double number(std::string_view name, double at_least, double at_most);
  double number(std::string_view name, const NumberRange& range);
  std::optional<double> optional_number(std::string_view name, const NumberRange& range);
  std::optional<double> optional_number(std::string_view name, double at_least, double at_most);
  /// Digits with an optional sign, or a number with a zero fraction ("10.0").
  std::int64_t integer(std::string_view name, std::int64_t at_least);
  std::optional<std::int64_t> optional_integer(std::string_view name, std::int64_t at_least);
  /// True, true, 1, False, false, 0.
  bool boolean(std::string_view name);
  /// Split at commas, blanks trimmed; or a JSON array of strings, which may hold commas.
  std::vector<std::string> list(std::string_view name);
  /// A list of numbers, each as number() takes it; also in parentheses: "(-1, 1)".
  std::vector<double> numbers(std::string_view name, const NumberRange& range);
  std::string text(std::string_view name);

  /// The text, as one of the legal ones spells it, whatever its case; "" where it is not given.
  std::string choice(std::string_view name, std::span<const std::string_view> legal);

  /// Whether it was given, so that its default does not count.
  bool is_given(std::string_view name) { return given(name) != nullptr; }

  /// Records a mistake of the caller's own finding, such as two parameters that exclude each other.
  void fail(std::string message);
  /// The same of something without which the rule has nothing to judge; where that is the only
  /// mistake, finish() throws it as InsufficientInformationForRuleInvocation.
  void lacks(std::string what);
  /// How many there are so far.
  std::size_t mistakes() const noexcept { return mistakes_.size(); }

  /// Throws UsageError with one line per mistake: the rule, the parameter, its value and what is
  /// legal.
  void finish();

 private:
  const std::string* given(std::string_view name);
  std::string_view text_or_default(std::string_view name);
  std::string_view default_of(std::string_view name) const;
  void wrong_value(std::string_view name, std::string_view text, std::string_view legal);
  std::string rule_;
  const RuleParameters& parameters_;
  std::span<const ParameterInfo> known_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> mistakes_;
  std::string lacking_;
};

}  // namespace cupel
