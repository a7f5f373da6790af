// No new data for a while: nothing was committed by any worker for `threshold` seconds, and
// training has not ended. Only the clock and the run's index are looked at, between steps.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "builtin_table.h"
#include "detector.h"

namespace cupel {
namespace {

class StalledTrainingRule final : public Detector {
 public:
  static constexpr std::string_view kName = "StalledTrainingRule";
  static constexpr std::string_view kSummary = "nothing new was saved for a while";
  static constexpr std::string_view kDescription = R"(
Looks at the clock about once a second while `cupel watch` waits for data:

    seconds since the last new data >= threshold

fires once and ends the rule. New data is any step that any worker commits; the clock starts when
the rule is first asked, not when the run was last written, so that an old run does not fire at
once.

A run that has ended, and says so, is never stalled; neither does the rule say anything of steps.
With --no-wait nothing is waited for, and it finds nothing. stop_training_on_fire=True asks the
watched run to stop, as the action stop does.

No tensor is read. Training is silent between two saved steps: a threshold must be longer than the
slowest of these gaps, with evaluation and checkpoints in it. That a line is said depends on the
clock, so this rule is not repeatable.
)";
  static constexpr std::string_view kExample =
      "StalledTrainingRule,threshold=600,stop_training_on_fire=True";
  static constexpr std::array kParameters = {
      ParameterInfo{"threshold", "int", "1800",
                    "fires after so many seconds without new data (> 0)"},
      ParameterInfo{"stop_training_on_fire", "bool", "False", "whether training is then to stop"},
      ParameterInfo{"training_job_name_prefix", "text", "",
                    "taken for what configurations say; it is the watched run that is stopped"}};
  struct Options {
    std::int64_t threshold = 1800;
    bool stop = false;
  };

  static Options read(ParameterReader& reader) {
    reader.text("training_job_name_prefix");
    return {.threshold = reader.integer("threshold", 1),
            .stop = reader.boolean("stop_training_on_fire")};
  }
  static RuleNeeds needs(const Options& /*options*/) { return {}; }

  StalledTrainingRule(Trial& base, const Options& options)
      : Detector(base, kName, needs(options)), options_(options) {}

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

BuiltinRule stalled_training_rule() { return builtin_rule<StalledTrainingRule>(); }

}  // namespace cupel
