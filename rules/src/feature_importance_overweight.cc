// A few features bear most of the importance: the sum of the nfeatures largest importances, divided
// by the sum of all, is above the threshold. The importances are those of one worker at one step,
// each a tensor of one number.

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/tensor_copy.h"
#include "plain_reductions.h"
#include "tensor_selection.h"

namespace cupel::rules_detail {
namespace {

struct Importance {
  const std::string* tensor = nullptr;  // the trial's own
  double value = 0;
};

double sum(const std::vector<Importance>& importances, std::size_t first) {
  double total = 0;
  for (std::size_t i = 0; i < first; ++i) total += importances[i].value;
  return total;
}

class FeatureImportanceOverweight final : public Rule {
 public:
  struct Options {
    PatternList patterns;
    double threshold = 0;
    std::int64_t largest = 0;
  };

  static RuleDefinition definition() {
    return define_rule<FeatureImportanceOverweight>(
        {.name = "FeatureImportanceOverweight",
         .summary = "a few features bear most of the importance",
         .description = R"(
Each matching tensor is the importance of one feature. For one worker at one step

    (sum of the nfeatures largest) / (sum of all) > threshold

fires, strictly. With the default pattern the tensors are feature_importance/weight/FEATURE, which
count how often a feature is used in splits. A pattern such as feature_importance/gain judges by
another measure; a pattern that matches several measures would mix them.

The rule judges each step by itself, in every mode. Where there are no more than nfeatures features,
their share is always 1, and the step is skipped. The step is also skipped where the sum is 0,
negative or not finite. A tensor of several numbers is skipped, and the other tensors are judged.
Equal importances are ordered by name.

Importances are scalars, which are in the index: the rule opens no file of values. With few
features, raise the threshold: any three of four equal features have 75 percent.
)",
         .example = "FeatureImportanceOverweight,threshold=0.6,nfeatures=2"},
        {option(&Options::threshold,
                {.name = "threshold",
                 .default_text = "0.8",
                 .range = {.least = 0, .most = 1},
                 .help = "fires when the share of the largest importances is above this (0 to 1)"}),
         option(&Options::largest,
                {.name = "nfeatures",
                 .default_text = "3",
                 .range = {.least = 1},
                 .help = "the number of largest importances that are added up (>= 1)"}),
         option(
             &Options::patterns,
             {.name = "tensor_regex",
              .default_text = ".*feature_importance/weight",
              .help =
                  "patterns searched in the names of tensors, each the importance of a feature"})});
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = {.patterns = options.patterns,
                          .parameters = {"tensor_regex"},
                          .saved_as = "feature_importance"},
              .suffices = sources_of(kMean)}}};
  }

  FeatureImportanceOverweight(Trial& base, const Options& options)
      : Rule(base), options_(options), names_({}, options.patterns) {}

  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    std::map<std::string_view, std::vector<Importance>> by_worker;
    const std::size_t selected =
        base_trial().visit_step(step, names_, [&](const RecordView& record) {
          TensorCopy copy(*this, record, verdict);
          if (!copy.has_numbers()) return;
          if (record.elements() != 1)
            return copy.skip("it holds several numbers; the importance of a feature is one");
          if (const auto importance = copy.number(kMean))
            by_worker[record.worker()].push_back({&record.tensor(), importance->value});
        });
    if (selected == 0)
      verdict.not_applicable("nothing of " + needs(options_).tensors.front().tensors.description() +
                             " was saved at this step");
    for (auto& [worker, importances] : by_worker) judge(worker, importances, verdict);
    return verdict;
  }

 private:
  void judge(std::string_view worker, std::vector<Importance>& importances,
             Verdict& verdict) const {
    std::stable_sort(importances.begin(), importances.end(),
                     [](const Importance& a, const Importance& b) {
                       // NaN, which no sum survives, comes last.
                       return a.value > b.value || (std::isnan(b.value) && !std::isnan(a.value));
                     });
    const auto skip = [&](std::string reason) {
      verdict.skip({*importances.front().tensor, std::string(worker), std::move(reason)});
    };
    const std::size_t count = importances.size();
    if (count <= static_cast<std::uint64_t>(options_.largest))
      return skip("there are only " + std::to_string(count) +
                  " features, no more than nfeatures, which have all of the importance");
    const double total = sum(importances, count);
    if (!(total > 0) || std::isinf(total))
      return skip("the importances add up to " + short_text(total));
    const auto largest = static_cast<std::size_t>(options_.largest);
    report(worker, importances, sum(importances, largest) / total, verdict);
  }

  void report(std::string_view worker, const std::vector<Importance>& importances, double share,
              Verdict& verdict) const {
    verdict.count(static_cast<std::int64_t>(importances.size()));
    const bool fired = share > options_.threshold;
    if (!fired && !explaining()) return;
    const std::string& tensor = *importances.front().tensor;
    const std::string compared = comparison_text(share, ">", options_.threshold);
    if (explaining())
      verdict.observe({.tensor = tensor,
                       .worker = std::string(worker),
                       .read = std::to_string(importances.size()) + " importances",
                       .compared = compared,
                       .fired = fired});
    if (fired)
      verdict.add({.tensor = tensor,
                   .worker = std::string(worker),
                   .value = share,
                   .threshold = options_.threshold,
                   .message = "share of the largest " + std::to_string(options_.largest) + " " +
                              compared + ": " + largest_names(importances)});
  }

  std::string largest_names(const std::vector<Importance>& importances) const {
    constexpr std::int64_t kMostNames = 10;
    std::string names;
    for (std::int64_t i = 0; i < std::min(options_.largest, kMostNames); ++i)
      names += (i == 0 ? "" : ", ") + *importances[static_cast<std::size_t>(i)].tensor;
    if (options_.largest > kMostNames)
      names += " and " + std::to_string(options_.largest - kMostNames) + " more";
    return names;
  }

  Options options_;
  NameSelection names_;
};

}  // namespace

RuleDefinition feature_importance_overweight() { return FeatureImportanceOverweight::definition(); }

}  // namespace cupel::rules_detail
