#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/pattern.h"
#include "cupel/rules/rule_definition.h"

namespace cupel {

/// A parameter of a rule in C++, and how its value gets into the rule's Options.
///
///     class TooWide final : public TensorRule {
///      public:
///       struct Options {
///         double most = 0;
///       };
///       static RuleDefinition definition() {
///         return define_rule<TooWide>(
///             {.name = "TooWide", .summary = "values are spread too widely"},
///             {option(&Options::most, {.name = "most",
///                                      .default_text = "3",
///                                      .range = {.least = 0},
///                                      .help = "fires when std is above this (>= 0)"})});
///       }
///       static RuleNeeds needs(const Options& options);
///       TooWide(Trial& base, const Options& options);
///       …
///     };
///
/// Defaults stand in the schema only: members of Options begin as `Options{}` leaves them.
template <class Options>
struct OptionParameter {
  Parameter parameter;
  /// Takes the value into the Options, where there is one; may add a mistake.
  std::function<void(Options&, const ParameterValues&, ParameterMistakes&)> fill;
};

namespace rules_detail {

// The kind of the parameter whose value has this type, and the value as that type.
template <class T>
struct ValueOf;
template <ParameterKind kTheKind, class T>
struct PlainValue {
  static constexpr ParameterKind kKind = kTheKind;
  static std::optional<T> take(const ParameterValues& values, const std::string& name,
                               ParameterMistakes& /*mistakes*/) {
    return values.get<T>(name);
  }
};
template <>
struct ValueOf<double> : PlainValue<ParameterKind::Float, double> {};
template <>
struct ValueOf<std::int64_t> : PlainValue<ParameterKind::Int, std::int64_t> {};
template <>
struct ValueOf<bool> : PlainValue<ParameterKind::Bool, bool> {};
template <>
struct ValueOf<std::string> : PlainValue<ParameterKind::Text, std::string> {};
template <>
struct ValueOf<std::vector<std::string>>
    : PlainValue<ParameterKind::List, std::vector<std::string>> {};
template <>
struct ValueOf<std::vector<double>> : PlainValue<ParameterKind::Numbers, std::vector<double>> {};
template <>
struct ValueOf<PatternList> {
  static constexpr ParameterKind kKind = ParameterKind::List;
  static std::optional<PatternList> take(const ParameterValues& values, const std::string& name,
                                         ParameterMistakes& mistakes);
};
template <class T>
struct ValueOf<std::optional<T>> : ValueOf<T> {};

// Makes the rule's text of what it reads that of its needs.
void set_reads(Rule& rule, const RuleNeeds& needs);

// The text without the line break that it may begin and the one that it may end with.
std::string without_outer_breaks(std::string text);

// The options that follow from values.
template <class R>
class OptionReader {
 public:
  using Options = typename R::Options;
  explicit OptionReader(std::vector<OptionParameter<Options>> parameters)
      : parameters_(
            std::make_shared<const std::vector<OptionParameter<Options>>>(std::move(parameters))) {}

  Options read(const ParameterValues& values, ParameterMistakes& mistakes) const {
    Options options{};
    for (const OptionParameter<Options>& each : *parameters_) each.fill(options, values, mistakes);
    if constexpr (requires { R::check(options, values, mistakes); })
      R::check(options, values, mistakes);
    return options;
  }
  // The same of values that were checked before, or that lack what is required.
  Options read(const ParameterValues& values) const {
    ParameterMistakes known;
    return read(values, known);
  }

 private:
  std::shared_ptr<const std::vector<OptionParameter<Options>>> parameters_;
};

template <class R>
std::unique_ptr<Rule> make_rule(Trial& base, const typename R::Options& options,
                                const std::vector<std::unique_ptr<Trial>>& others) {
  if constexpr (std::constructible_from<R, Trial&, const typename R::Options&,
                                        const std::vector<Trial*>&>) {
    std::vector<Trial*> borrowed;  // A rule has views of its own, which keep the runs open.
    for (const auto& other : others) borrowed.push_back(other.get());
    return std::make_unique<R>(base, options, borrowed);
  } else {
    return std::make_unique<R>(base, options);
  }
}

}  // namespace rules_detail

/// Declares a parameter that fills `member`, whose type is the parameter's kind: double,
/// std::int64_t, bool, std::string, std::vector<std::string>, std::vector<double>, PatternList (a
/// list of patterns, which compile, at least one), or an std::optional of one of these. A parameter
/// without a value leaves the member as it is.
template <class Options, class Member>
OptionParameter<Options> option(Member Options::*member, Parameter parameter) {
  using Value = rules_detail::ValueOf<Member>;
  parameter.kind = Value::kKind;
  const std::string name = parameter.name;
  return {std::move(parameter), [member, name](Options& options, const ParameterValues& values,
                                               ParameterMistakes& mistakes) {
            if (auto value = Value::take(values, name, mistakes))
              options.*member = *std::move(value);
          }};
}

/// Declares a parameter that fills the part `member` of the Options' member `whole`, likewise.
template <class Options, class Whole, class Member>
OptionParameter<Options> option(Whole Options::*whole, Member Whole::*member, Parameter parameter) {
  using Value = rules_detail::ValueOf<Member>;
  parameter.kind = Value::kKind;
  const std::string name = parameter.name;
  return {std::move(parameter),
          [whole, member, name](Options& options, const ParameterValues& values,
                                ParameterMistakes& mistakes) {
            if (auto value = Value::take(values, name, mistakes))
              options.*whole.*member = *std::move(value);
          }};
}

/// Declares a parameter of type Value, one of the types above, and hands its value to
/// `fill(Options&, Value, ParameterMistakes&)`, which is not called where there is none.
///
///     option<std::string, Options>({.name = "mode", .choices = {"EVAL", "TRAIN"}},
///                                  [](Options& options, const std::string& mode, auto&) {
///                                    options.mode = parse_mode(mode);
///                                  })
template <class Value, class Options, class Fill>
OptionParameter<Options> option(Parameter parameter, Fill fill) {
  parameter.kind = rules_detail::ValueOf<Value>::kKind;
  const std::string name = parameter.name;
  return {std::move(parameter),
          [name, fill = std::move(fill)](Options& options, const ParameterValues& values,
                                         ParameterMistakes& mistakes) {
            if (auto value = rules_detail::ValueOf<Value>::take(values, name, mistakes))
              fill(options, *std::move(value), mistakes);
          }};
}

/// Completes the definition of the rule R, whose name, page and edition `definition` has.
///
/// R has a struct Options and a constructor R(Trial&, const Options&), or, if it compares with
/// other runs, R(Trial&, const Options&, const std::vector<Trial*>&). It may also have
///
///     static RuleNeeds needs(const Options&);   // also for options that lack required parameters
///     static void check(Options&, const ParameterValues&, ParameterMistakes&);
///
/// check() adds the mistakes that no single parameter shows, and completes members that several
/// parameters fill. It also runs where other parameters have mistakes, so that a user sees all
/// mistakes at once: values.find(name) is null where the value of a parameter is illegal or
/// missing, and the member of that parameter is then as Options{} has it. A description may begin
/// and end with a line break.
template <class R>
RuleDefinition define_rule(RuleDefinition definition,
                           std::vector<OptionParameter<typename R::Options>> parameters) {
  for (const auto& each : parameters) definition.parameters.push_back(each.parameter);
  definition.description = rules_detail::without_outer_breaks(std::move(definition.description));
  const rules_detail::OptionReader<R> reader(std::move(parameters));
  definition.check_values = [reader](const ParameterValues& values, ParameterMistakes& mistakes) {
    static_cast<void>(reader.read(values, mistakes));
  };
  constexpr bool kHasNeeds = requires(const typename R::Options& options) { R::needs(options); };
  if constexpr (kHasNeeds)
    definition.needs_of = [reader](const ParameterValues& values) {
      return R::needs(reader.read(values));
    };
  definition.make_rule = [reader](Trial& base, const ParameterValues& values,
                                  const std::vector<std::unique_ptr<Trial>>& others) {
    const typename R::Options options = reader.read(values);
    std::unique_ptr<Rule> rule = rules_detail::make_rule<R>(base, options, others);
    if constexpr (kHasNeeds) rules_detail::set_reads(*rule, R::needs(options));
    return rule;
  };
  return definition;
}

}  // namespace cupel
