#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/action.h"
#include "cupel/rules/incident.h"
#include "cupel/rules/parameters.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/verdict_line.h"
#include "cupel/trial/run_status.h"

namespace cupel {

class Store;

struct RunnerOptions {
  int jobs = 1;                 ///< Threads that evaluate; the lines do not depend on it.
  std::int64_t start_step = 0;  ///< The first global step to judge.
  std::optional<std::int64_t> end_step = std::nullopt;  ///< Exclusive.
  bool stop_at_first = false;                           ///< A rule ends at its first firing.
  bool wait = true;  ///< false: judge what is there now, then end.
  /// End after so long without a new step.
  std::optional<std::chrono::milliseconds> idle_timeout = std::nullopt;
  /// End as soon as the run is seen to be interrupted (RunStatus), as at its end: what was
  /// committed is judged. Nothing follows from it where the locks of writers cannot be seen.
  bool until_writer_gone = false;
  /// Called with Interrupted when the run is seen to be so, and with Running when a process writes
  /// it again; from the thread in run(), between lines.
  std::function<void(RunStatus)> on_status = {};
  /// Also say per step what each rule selected, read and compared; before it, what hooks noted of
  /// themselves up to that step, each once.
  bool explain = false;
  /// A file to keep the lines in, as JSON; empty: none. `<out>.state` beside it is what a runner
  /// over the same run with the same rules and parameters goes on from, however this one ended
  /// (where to begin, and which rules have ended, the state says, not the options; actions are
  /// those of the new runner), and `<out>.status.json` says how the rules stand.
  ///
  /// "s3://bucket/name" names objects in the same way. They are put whole, and so no more often
  /// than every `out_interval` (twice that from 4 MiB of lines on, thrice from 8 MiB on, and so
  /// on), at the end, and before an action is begun. A second runner of this machine is refused
  /// them; one of another machine takes them over, and the first ends when it would write next.
  std::string out = {};
  std::chrono::milliseconds out_interval = std::chrono::seconds(5);
  /// Where given, `out` is the key of an object in it.
  std::shared_ptr<Store> out_store = nullptr;
  /// What is done when an incident begins. Once for each incident; where lines are kept in a file,
  /// also when the runner is killed and another goes on.
  std::vector<Action> actions = {};
  bool dry_run = false;  ///< Nothing is done; lines say what would be.
  /// A file with the certificates, in PEM, that webhooks trust in place of the system's. Empty: the
  /// file that SSL_CERT_FILE in the environment names, else the system's.
  std::string webhook_authority = {};
  /// How often rules are asked between steps (Rule::on_tick).
  std::chrono::milliseconds tick_interval = std::chrono::seconds(1);
};

/// What holds for one rule of a runner.
struct RuleOptions {
  std::string name = {};  ///< The configuration's; default: the rule's.
  /// In place of the runner's, where given.
  std::optional<std::int64_t> start_step = std::nullopt;
  std::optional<std::int64_t> end_step = std::nullopt;
  std::optional<bool> stop_at_first = std::nullopt;
  std::vector<Action> actions = {};  ///< Of this rule, before the runner's.
  /// Lines about the rule begin at the first step where it has something to judge. A rule that
  /// never has gives no line, not even a closing one.
  bool only_if_fed = false;
  /// What tells it from a rule of the same name, its parameters for instance: a runner does not go
  /// on with what was kept for another.
  std::string configuration = {};
};

/// What became of one rule.
struct RuleSummary {
  std::string rule;
  std::string name;
  RuleStatus status = RuleStatus::NoIssuesFound;
  std::optional<std::int64_t> first_step;
  std::int64_t steps_fired = 0;
  std::int64_t steps_evaluated = 0;
  std::int64_t steps_skipped = 0;
  std::int64_t steps_damaged = 0;  ///< Of these: a value was damaged.
  std::string message;             ///< The error, or why nothing was seen.
  bool has_judged = false;         ///< At some step there was something that the rule could judge.
};

struct RunSummary {
  std::vector<RuleSummary> rules;
  bool found_issues() const noexcept;
  /// A rule ended with an error, or skipped a value that is damaged.
  bool had_errors() const noexcept;
};

/// How far a runner has come.
struct RunnerProgress {
  std::optional<std::int64_t> newest_step;  ///< The newest complete step that the runner has seen.
  std::chrono::system_clock::time_point newest_at;  ///< When the runner saw it.
  std::int64_t steps_judged = 0;  ///< Steps whose lines were given to run()'s caller.
  std::int64_t steps_behind = 0;  ///< Steps that were seen and are still to be judged.
};

/// Evaluates several rules over one trial, each with its own cursor, in step order, on a few
/// threads, waking when data arrives, until training ends, stop() is called, or the options say so.
///
/// Lines come in the order of global steps, then of rules as added; one call at a time, from the
/// thread in run(). One failing rule ends that rule, not the runner.
///
/// Training may ask it to end, too: where SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE names a file of the
/// run, and that is there and holds an epoch second, the runner stops `rule_stop_grace_time_secs`
/// (60) after it.
class RuleRunner {
 public:
  /// Borrows the trial.
  explicit RuleRunner(Trial& trial, RunnerOptions options = {});
  ~RuleRunner();
  RuleRunner(const RuleRunner&) = delete;
  RuleRunner& operator=(const RuleRunner&) = delete;

  /// Adds a built-in rule. Throws UsageError for an unknown rule or bad parameters.
  void add(std::string_view rule, const RuleParameters& parameters = {}, RuleOptions options = {});
  /// Adds a rule made over the same trial.
  void add(std::unique_ptr<Rule> rule, RuleOptions options = {});

  using LineCallback = std::function<void(const VerdictLine&)>;
  using PauseCallback = std::function<void()>;
  using IncidentCallback = std::function<void(const Incident&)>;
  /// Runs until the end; once per runner. Errors of the trial (damage, a lost store) are let out
  /// after the closing lines of all rules; those of `out`, and of the callbacks, at once.
  /// UsageError for an `out` that was begun with another run or other rules, or that another runner
  /// has open, before any line; or takes over. `on_pause` is called, from the same thread, when no
  /// line follows at once, and every few steps while lines follow each other: whoever gathers lines
  /// sends them on then, and once more when run() has ended. `on_incident_over` is called, from the
  /// same thread, behind the lines of the step and rule where an incident is over.
  RunSummary run(const LineCallback& on_line, const PauseCallback& on_pause = {},
                 const IncidentCallback& on_incident_over = {});
  /// Ends run() soon, from any thread or from inside the callback; rules that have not ended are
  /// Stopped, and actions that were begun have a few seconds left.
  void stop();
  /// How far run() has come; from any thread, also before and after run().
  RunnerProgress progress() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
