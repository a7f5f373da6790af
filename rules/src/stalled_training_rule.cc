// No new data for a while: no worker committed anything for `threshold` seconds, and the training
// has not ended. The rule reads the clock and the size of the index only, between steps; it fetches
// no value. The runner calls it on its own thread whenever a wait for steps ends. A run that has
// ended, and one that is judged without waiting (--no-wait), never stalls.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "builtin_table.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/rule.h"

namespace cupel::rules_detail {
namespace {

class StalledTrainingRule final : public Rule {
 public:
  struct Options {
    std::int64_t threshold = 0;
    bool stop = false;
    std::string job_name_prefix;  // not used
  };

  static RuleDefinition definition() {
    return define_rule<StalledTrainingRule>(
        {.name = "StalledTrainingRule",
         .summary = "nothing new was saved for a while",
         .description = R"(
The rule checks the clock about once a second while `cupel watch` waits for data:

    seconds since the last new data >= threshold

fires once and ends the rule. New data is any step that any worker commits. The clock starts when
the rule is first asked, not when the run was last written, so that an old run does not fire at
once.

A run with an end marker is never stalled, and the rule finds nothing at steps. With --no-wait
nothing is waited for, and the rule finds nothing. stop_training_on_fire=True asks the watched run
to stop, as the action stop does.

The rule reads no tensor. Training is silent between two saved steps: choose a threshold that is
longer than the slowest of these gaps, including evaluation and checkpoints. The lines of this rule
depend on the clock, so they are not repeatable.
)",
         .example = "StalledTrainingRule,threshold=600,stop_training_on_fire=True"},
        {option(&Options::threshold,
                {.name = "threshold",
                 .default_text = "1800",
                 .range = {.least = 1},
                 .help = "fires after so many seconds without new data (> 0)"}),
         option(&Options::stop, {.name = "stop_training_on_fire",
                                 .default_text = "False",
                                 .help = "whether the training is asked to stop then"}),
         option(&Options::job_name_prefix,
                {.name = "training_job_name_prefix",
                 .help =
                     "taken for what configurations say; it is the watched run that is stopped"})});
  }

  static RuleNeeds needs(const Options& /*options*/) { return {}; }

  StalledTrainingRule(Trial& base, const Options& options) : Rule(base), options_(options) {}

  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    verdict.count(1);
    if (explaining())
      verdict.observe({.read = "that the step is there",
                       .compared = "step " + std::to_string(step) + " has come"});
    return verdict;
  }

  Verdict on_tick(std::chrono::steady_clock::time_point now) override {
    const std::int64_t rows = base_trial().totals().rows;
    if (rows != rows_ || !last_news_) {
      rows_ = rows;
      last_news_ = now;
    }
    const auto silent = std::chrono::duration_cast<std::chrono::seconds>(now - *last_news_).count();
    Verdict verdict;
    if (silent < options_.threshold || base_trial().ended()) return verdict;
    verdict.add({.value = static_cast<double>(silent),
                 .threshold = static_cast<double>(options_.threshold),
                 .message = "no new data for " + std::to_string(silent) +
                            " s >= " + std::to_string(options_.threshold) + " s"});
    verdict.end_rule();
    return verdict;
  }

  bool stops_training() const override { return options_.stop; }

 private:
  Options options_;
  std::int64_t rows_ = 0;
  std::optional<std::chrono::steady_clock::time_point> last_news_;
};

}  // namespace

RuleDefinition stalled_training_rule() { return StalledTrainingRule::definition(); }

}  // namespace cupel::rules_detail
