#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel {

/// The parameters of a rule: the schema that a definition declares, and the values that follow from
/// the text that a user gave.
///
///     ParameterMistakes mistakes;
///     const ParameterValues values = read_parameters(definition.parameters, given, mistakes);
///     mistakes.throw_if_any(definition.name);
///
/// All types here are values. Any number of threads may read one object at once.

/// The text of parameters by name, as a SPEC, a configuration or a program gives it.
using RuleParameters = std::map<std::string, std::string>;

/// The type of a parameter's value. Numbers is a list of numbers.
enum class ParameterKind : std::uint8_t { Float, Int, Bool, Text, List, Numbers };

/// Returns "float", "int", "bool", "text" or "list"; a list of numbers is a "list", too.
std::string_view to_string(ParameterKind kind) noexcept;

/// The legal numbers of a parameter. Both bounds are legal unless they are open.
struct NumberRange {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  bool open_below = false;
  bool open_above = false;
  bool contains(double number) const noexcept {
    return (open_below ? number > least : number >= least) &&
           (open_above ? number < most : number <= most);
  }
  /// Whether any number is legal; of whole numbers, those of 64 bits count.
  bool has_number() const noexcept;
  bool has_whole_number() const noexcept;
};

/// One parameter of a rule. The default stands here and nowhere else.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::Text;
  /// The default as a user would write it; the empty text is the value "", also where there are
  /// choices. Nothing: no default.
  std::optional<std::string> default_text = std::nullopt;
  bool required = false;                  ///< The rule cannot be made without this parameter.
  NumberRange range = {};                 ///< The legal numbers of Float, Int and Numbers.
  std::vector<std::string> choices = {};  ///< The legal texts of Text. Empty: every text.
  std::string help = {};                  ///< One line. Of a required one: what it is.
};

/// The value of a parameter, typed as its kind: bool, std::int64_t, double, std::string,
/// std::vector<std::string> or std::vector<double>.
using ParameterValue = std::variant<bool, std::int64_t, double, std::string,
                                    std::vector<std::string>, std::vector<double>>;

/// One mistake in what a user wrote.
struct Mistake {
  std::string message;
  std::string hint = {};       ///< "did you mean threshold?"; empty where there is no suggestion.
  std::string parameter = {};  ///< The parameter that the mistake is in. Empty: none, or several.
};

/// Collects the mistakes in the parameters of one rule, so that a user sees all of them at once.
class ParameterMistakes {
 public:
  void add(Mistake mistake) { all_.push_back(std::move(mistake)); }
  void add(std::string message, std::string parameter = {}) {
    add(Mistake{.message = std::move(message), .parameter = std::move(parameter)});
  }
  /// Adds a mistake of something without which the rule has nothing to judge. Where this is the
  /// only mistake, throw_if_any() throws it as InsufficientInformationForRuleInvocation.
  void add_missing(std::string message, std::string parameter = {});
  /// Puts the mistakes into the order of the schema. Those in unknown parameters come last, behind
  /// those in none.
  void sort(std::span<const Parameter> schema);
  bool empty() const noexcept { return all_.empty(); }
  std::size_t size() const noexcept { return all_.size(); }
  const std::vector<Mistake>& all() const noexcept { return all_; }
  /// Returns the mistakes with messages that stand alone: each begins with the name of the rule.
  std::vector<Mistake> of_rule(std::string_view rule) const;
  /// Throws UsageError with one line for each mistake, as of_rule() words it.
  void throw_if_any(std::string_view rule) const;

 private:
  std::vector<Mistake> all_;
  std::string missing_;
};

/// The typed values of a rule's parameters, by name. A parameter without a default that the user
/// did not give has no value, and neither has a parameter whose text is a mistake.
class ParameterValues {
 public:
  /// Returns null where the parameter has no value.
  const ParameterValue* find(std::string_view name) const noexcept;
  /// Whether the user gave the parameter, so that its default does not count. True of a mistake.
  bool is_given(std::string_view name) const noexcept;
  /// Returns the value of that type, or nothing where there is no value. Throws
  /// std::bad_variant_access where the parameter is of another kind.
  template <class T>
  std::optional<T> get(std::string_view name) const {
    const ParameterValue* value = find(name);
    return value == nullptr ? std::nullopt : std::optional<T>(std::get<T>(*value));
  }

 private:
  friend ParameterValues read_parameters(std::span<const Parameter> known,
                                         const RuleParameters& given, ParameterMistakes& mistakes);
  struct Entry {
    // Shared, because GCC 12 leaves a variant in disorder where copying it finds no memory.
    std::shared_ptr<const ParameterValue> value;
    bool given = false;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

/// Reads the text of parameters by their schema. "" and "None" mean not given. Each unknown name,
/// each illegal value and each missing required parameter is a mistake.
///
/// Float is decimal or exponent text. Int is digits with an optional sign, or a number with a zero
/// fraction ("10.0"). Bool is True, true, 1, False, false or 0. List is split at commas, or a JSON
/// array of strings, which may hold commas. Numbers is a list of numbers, also in parentheses. Text
/// with choices takes them in any case, and the value is the choice as the schema spells it.
ParameterValues read_parameters(std::span<const Parameter> known, const RuleParameters& given,
                                ParameterMistakes& mistakes);

/// Splits the text of a list, as read_parameters() does for a parameter of kind List.
std::vector<std::string> split_list(std::string_view text);
/// Returns the text that split_list() splits into these entries: with commas, or a JSON array where
/// an entry would not be itself between commas.
std::string join_list(const std::vector<std::string>& entries);

}  // namespace cupel
