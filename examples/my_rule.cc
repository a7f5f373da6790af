// A rule of our own in C++, with two parameters, in a program with the command line of cupel.
//
//   my_rule check hook.json --rule MyRule                    does the hook save what MyRule needs?
//   my_rule watch RUN --rule MyRule --rule VanishingGradient judges a run, also while it grows
//   my_rule rules MyRule                                     prints the page of MyRule

#include <optional>
#include <string>

#include "cupel/command/rules_main.h"
#include "cupel/core/number_text.h"
#include "cupel/core/reduction.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"

namespace {

// A few elements of a gradient are much larger than the others: abs_max > factor * abs_mean.
class MyRule final : public cupel::TensorRule {
 public:
  struct Options {
    double factor = 0;
    std::string collection;
  };

  static cupel::RuleDefinition definition() {
    return cupel::define_rule<MyRule>(
        {.name = "MyRule",
         .summary = "a few elements of a gradient are much larger than the others",
         .description = R"(
Of every tensor of the collection, each worker's copy by itself,

    abs_max > factor * abs_mean

fires. Each step is judged by itself. Saved reductions are read, else raw values.
)",
         .example = "MyRule,factor=50,collection=gradients"},
        {cupel::option(&Options::factor,
                       {.name = "factor",
                        .default_text = "100",
                        .range = {.least = 1},
                        .help = "fires when abs_max is above factor times abs_mean"}),
         cupel::option(&Options::collection, {.name = "collection",
                                              .default_text = "gradients",
                                              .help = "the collection to judge"})});
  }

  static cupel::RuleNeeds needs(const Options& options) {
    return {
        {{.tensors = {.collections = {options.collection}, .parameters = {"collection"}},
          .suffices = {cupel::TensorSource::of({kLargest, kMean}), cupel::TensorSource::value()}}}};
  }

  MyRule(cupel::Trial& base, const Options& options)
      : TensorRule(base, needs(options)), factor_(options.factor) {}

 private:
  static constexpr cupel::Reduction kLargest{cupel::ReductionOp::Max, true};
  static constexpr cupel::Reduction kMean{cupel::ReductionOp::Mean, true};

  void judge(cupel::TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const auto largest = copy.number(kLargest);
    const auto mean = largest ? copy.number(kMean) : std::nullopt;
    if (!mean) return;  // the copy was skipped, with the reason
    const double limit = factor_ * mean->value;
    copy.judged(largest->value > limit, largest->value, limit, [&] {
      const std::string compared = cupel::comparison_text(largest->value, ">", limit);
      return cupel::JudgementText{std::string(largest->origin_text()), compared,
                                  "abs_max " + compared};
    });
  }

  const double factor_;
};

}  // namespace

int main(int argc, char** argv) { return cupel::rules_main(argc, argv, {MyRule::definition()}); }
