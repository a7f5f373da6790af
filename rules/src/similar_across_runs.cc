// A tensor is not what it was in another run: for each tensor that both runs have at the same mode
// and step of the mode, from the same worker, shapes differ or elements are not close. With
// fire_on = similar it is the other way round: all that was compared is close.
//
// Raw values are compared where both runs have them, else the reductions that both have. Saved
// means often prove that values differ.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "builtin_table.h"
#include "closeness.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "only_path.h"
#include "plain_reductions.h"
#include "tensor_selection.h"

namespace cupel::rules_detail {
namespace {

class SimilarAcrossRuns final : public TensorRule {
 public:
  struct Options {
    std::string other;
    std::vector<std::string> collections;
    PatternList patterns;
    Tolerance tolerance;
    bool on_similar = false;
  };

  static RuleDefinition definition() {
    return define_rule<SimilarAcrossRuns>(
        {.name = "SimilarAcrossRuns",
         .summary = "tensors are not what they were in another run",
         .description = R"(
The rule compares a tensor a with the tensor b of the same name in another run, at the same mode,
step of that mode and worker. A tensor that differs fires: its shape is another one, or for some
element none of

    a == b, |a - b| <= atol + rtol * |b|, both are NaN

holds. With fire_on=similar the opposite fires: a step at which everything that was compared is
close fires once. Without collection_names and tensor_regex, the rule compares all tensors of the
step.

The rule compares raw values where both runs have them, else the reductions that both have, and then
the message contains "approximate". Saved means often prove a difference from the index. Tensors
that the other run has not saved at that step are skipped, as are text and empty tensors. The rule
remembers nothing from step to step.

The other run is opened when the rule is made, and must be there. While the other run is still being
written, the rule waits for its steps; with --no-wait, a step that it has not reached is skipped.
Compare two runs of one seed that should agree bit for bit with rtol=0 and atol=0. `cupel diff`
finds the first difference of two finished runs.
)",
         .example = "SimilarAcrossRuns,other_trials=runs/reference,collection_names=weights"},
        {option<std::string, Options>(
             {.name = "other_trials",
              .required = true,
              .help = "the path of the run to compare with"},
             [](Options& options, const std::string& value, ParameterMistakes& mistakes) {
               options.other = only_path(value, mistakes);
             }),
         option(&Options::collections, collection_names()),
         option(&Options::patterns, tensor_regex()),
         option(&Options::tolerance, &Tolerance::relative, relative_tolerance()),
         option(&Options::tolerance, &Tolerance::absolute, absolute_tolerance()),
         option<std::string, Options>(
             {.name = "fire_on",
              .default_text = "different",
              .choices = {"different", "similar"},
              .help = "different: at each tensor that differs; similar: where none does"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.on_similar = value == "similar";
             })});
  }

  static RuleNeeds needs(const Options& options) {
    RuleNeeds needs;
    TensorNeed& need = needs.tensors.emplace_back();
    need.tensors = selected_tensors(options.collections, options.patterns, true);
    need.suffices = {TensorSource::value(), TensorSource::any(1)};
    need.spares = {TensorSource::of({kMean, kAbsMean})};
    return needs;
  }

  SimilarAcrossRuns(Trial& base, const Options& options)
      : SimilarAcrossRuns(base, options, open_other(base, options)) {}

  Verdict invoke_at_step(std::int64_t step) override {
    const Mode mode = base_trial().mode(step).value_or(Mode::Global);
    const std::int64_t mode_step = base_trial().mode_step(step).value_or(step);
    if (other().has_passed_step(mode_step, mode) == StepState::NotYetAvailable) {
      Verdict verdict;
      verdict.ask_again(other().location() + " has not come to " + std::string(to_string(mode)) +
                        " step " + std::to_string(mode_step));
      return verdict;
    }
    compared_ = 0;
    differing_ = 0;
    largest_ = 0;
    first_.reset();
    Verdict verdict = TensorRule::invoke_at_step(step);
    if (options_.on_similar && compared_ > 0 && differing_ == 0)
      verdict.add({.tensor = first_->tensor,
                   .worker = first_->worker,
                   .value = largest_,
                   .threshold = options_.tolerance.absolute,
                   .message = "all " + std::to_string(compared_) +
                              " tensors that both runs have are close, largest difference " +
                              short_text(largest_)});
    return verdict;
  }

 private:
  struct Copy {
    std::string tensor, worker;
  };

  static std::unique_ptr<Trial> open_other(const Trial& base, const Options& options) {
    TrialOptions opening;
    opening.schemes = base.schemes();
    return create_trial(options.other, std::move(opening));
  }

  // The rule's views keep what they show alive.
  SimilarAcrossRuns(Trial& base, const Options& options, const std::unique_ptr<Trial>& other)
      : TensorRule(base, needs(options), {other.get()}), options_(options) {
    options_.tolerance.equal_nan = true;
  }

  const Trial& other() const { return *other_trials().front(); }

  void judge(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const RecordView& here = copy.record();
    const std::optional<Tensor> tensor = other().find_tensor(here.tensor());
    const std::optional<TensorRecord> there =
        tensor ? record_of(*tensor, here.mode_step(), here.mode(), here.worker()) : std::nullopt;
    if (!there) return copy.skip("the other run has not saved it at this step");
    if (there->elements != here.elements())
      return report(copy, {.close = false, .largest = 0}, "elements (saved)", "its shape differs");
    if (settled_by_means(copy, *there)) return;
    if (here.has_value() && there->has_value)
      compare_values(copy, *tensor);
    else
      compare_reductions(copy, *there);
  }

  static std::optional<TensorRecord> record_of(const Tensor& tensor, std::int64_t step, Mode mode,
                                               std::string_view worker) {
    for (const TensorRecord& record : tensor.records(step, mode))
      if (record.worker == worker) return record;
    return std::nullopt;
  }

  bool settled_by_means(TensorCopy& copy, const TensorRecord& there) {
    const auto mean = copy.saved(kMean);
    const auto other_mean = there.reductions.get(kMean);
    const auto other_abs_mean = there.reductions.get(kAbsMean);
    if (!mean || !other_mean || !other_abs_mean) return false;
    if (!means_differ(*mean, *other_mean, *other_abs_mean, options_.tolerance)) return false;
    const double between = std::abs(*mean - *other_mean);
    report(copy, {.close = false, .largest = between}, "mean, abs_mean (saved)",
           "means differ by " + short_text(between));
    return true;
  }

  void compare_values(TensorCopy& copy, const Tensor& tensor) {
    const RecordView& here = copy.record();
    const auto value = copy.value();
    if (!value) return;
    const auto there = copy.read_or_skip(
        [&] { return tensor.value(here.mode_step(), here.mode(), here.worker()); },
        "of the other run: ");
    if (!there) return;
    if (value->shape() != there->shape())
      return report(copy, {.close = false, .largest = 0}, "shape (saved)", "its shape differs");
    report(copy, closeness_of(*value, *there, options_.tolerance, true), "elements (from raw)", {});
  }

  void compare_reductions(TensorCopy& copy, const TensorRecord& there) {
    const ReductionValues here = copy.record().reductions();
    const ReductionSet common = in_both(here.set, there.reductions.set);
    copy.saw(here);
    if (common.empty()) return copy.skip("the runs have neither values nor reductions in common");
    const std::string names = names_of(common);
    report(copy, closeness_of(here, there.reductions, common, options_.tolerance),
           names + " (saved)", "approximate: of " + names);
  }

  void report(TensorCopy& copy, const Closeness& closeness, const std::string& read,
              const std::string& detail) {
    ++compared_;
    if (!first_) first_ = {copy.record().tensor(), std::string(copy.record().worker())};
    largest_ = std::max(largest_, closeness.largest);
    if (!closeness.close) ++differing_;
    const bool fires = !closeness.close && !options_.on_similar;
    copy.judged(fires, closeness.largest, options_.tolerance.absolute, [&] {
      std::string compared = closeness.close ? "close" : "different";
      compared += ", largest difference " + short_text(closeness.largest);
      if (!detail.empty()) compared += ", " + detail;
      return JudgementText{read, compared, compared};
    });
  }

  Options options_;
  // Of the step that is judged:
  std::int64_t compared_ = 0;
  std::int64_t differing_ = 0;
  double largest_ = 0;
  std::optional<Copy> first_;
};

}  // namespace

RuleDefinition similar_across_runs() { return SimilarAcrossRuns::definition(); }

}  // namespace cupel::rules_detail
