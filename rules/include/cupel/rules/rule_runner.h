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
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_configuration.h"
#include "cupel/rules/verdict_line.h"
#include "cupel/trial/run_status.h"

namespace cupel {

class Store;

/// What holds for all rules of a runner.
struct RunnerOptions {
  int jobs = 1;  ///< The threads that evaluate; the lines do not depend on the number.
  std::int64_t start_step = 0;                          ///< The first global step to judge.
  std::optional<std::int64_t> end_step = std::nullopt;  ///< Exclusive.
  bool stop_at_first = false;                           ///< A rule ends at its first firing.
  bool wait = true;  ///< False: judge the steps that are there now, then end.
  /// The runner ends after so long without a new step. Default: never.
  std::optional<std::chrono::milliseconds> idle_timeout = std::nullopt;
  /// The runner ends as soon as the run is interrupted (RunStatus), as at its end: committed steps
  /// are judged. The option has no effect where the locks of writers cannot be seen.
  bool until_writer_gone = false;
  /// Called with Interrupted when the run is interrupted, and with Running when a process writes it
  /// again; from the thread in run(), between lines.
  std::function<void(RunStatus)> on_status = {};
  /// There are also lines, for each step, about what each rule selected, read and compared; before
  /// them come the notes of hooks up to that step, each once.
  bool explain = false;
  /// A file that keeps the lines, as JSON. Empty: none. From `<out>.state` beside it, a runner over
  /// the same run with the same rules and parameters resumes, however this one ended: the state,
  /// not the options, decides where to begin and which rules have ended; actions are those of the
  /// new runner. `<out>.status.json` has the status of the rules.
  ///
  /// "s3://bucket/name" names objects in the same way, in a store that TrialOptions::schemes of the
  /// trial open. Objects are put whole, and so no more often
  /// than every `out_interval` (twice that from 4 MiB of lines on, thrice from 8 MiB on, and so
  /// on), at the end, and before an action begins. A second runner of this machine is refused; a
  /// runner of another machine takes the objects over, and the first runner ends at its next write.
  std::string out = {};
  std::chrono::milliseconds out_interval = std::chrono::seconds(5);
  /// The store in which `out` is the key of an object. Null: `out` is a file or an address.
  std::shared_ptr<Store> out_store = nullptr;
  /// The actions of every incident, which run when it begins. Each runs once for each incident;
  /// where `out` keeps the lines, also if the runner is killed and another resumes.
  std::vector<Action> actions = {};
  bool dry_run = false;  ///< No action is done; lines report the planned actions.
  /// A file with the certificates, in PEM, that webhooks trust in place of the system's. Empty: the
  /// file that SSL_CERT_FILE in the environment names, else the system's.
  std::string webhook_authority = {};
  /// The interval at which rules are asked between steps (Rule::on_tick).
  std::chrono::milliseconds tick_interval = std::chrono::seconds(1);
};

/// The result of one rule.
struct RuleSummary {
  std::string rule;
  std::string name;
  RuleStatus status = RuleStatus::NoIssuesFound;
  std::optional<std::int64_t> first_step;
  std::int64_t steps_fired = 0;
  std::int64_t steps_evaluated = 0;
  std::int64_t steps_skipped = 0;
  std::int64_t steps_damaged = 0;  ///< The skipped steps with a damaged value.
  std::string message;             ///< The error, or why nothing was seen.
  bool has_judged = false;         ///< The rule had something to judge at some step.
};

/// The results of all rules, in the order in which they were added.
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
/// threads, as data arrives, until the training ends, stop() is called, or an option ends the
/// runner.
///
/// Lines come in the order of global steps, then of rules as added; one call at a time, from the
/// thread in run(). One failing rule ends that rule, not the runner.
///
/// The training may end a runner, too: where the environment variable
/// SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE names a file of the run, and that file holds an epoch
/// second, the runner stops `rule_stop_grace_time_secs` (60) after that second.
class RuleRunner {
 public:
  /// Borrows the trial.
  explicit RuleRunner(Trial& trial, RunnerOptions options = {});
  ~RuleRunner();
  RuleRunner(const RuleRunner&) = delete;
  RuleRunner& operator=(const RuleRunner&) = delete;

  /// Adds a built-in rule. Throws UsageError for an unknown rule or bad parameters.
  void add(std::string_view rule, RuleParameters parameters = {});
  /// Makes the rule that a configuration describes, and adds it. Throws what
  /// RuleConfiguration::make() throws.
  void add(const RuleConfiguration& configuration);
  /// Adds a rule that was made over the same trial. The configuration has how the rule is run;
  /// its parameters distinguish the rule from others of the same name where a runner resumes.
  void add(std::unique_ptr<Rule> rule, RuleConfiguration configuration = {});

  using LineCallback = std::function<void(const VerdictLine&)>;
  using PauseCallback = std::function<void()>;
  using IncidentCallback = std::function<void(const Incident&)>;
  /// Runs until the end; once per runner. Throws errors of the trial (damage, a lost store) after
  /// the closing lines of all rules, and errors of `out` and of the callbacks at once. Throws
  /// UsageError, before any line, for an `out` that belongs to another run or other rules, or that
  /// another runner has open; and later, where another runner takes `out` over.
  ///
  /// `on_pause` is called, from the same thread, when no line follows at once, and every few steps
  /// while lines follow each other: a caller that gathers lines sends them on then, and once more
  /// when run() has ended. `on_incident_over` is called, from the same thread, after the lines of
  /// the step and rule at which an incident is over.
  RunSummary run(const LineCallback& on_line, const PauseCallback& on_pause = {},
                 const IncidentCallback& on_incident_over = {});
  /// Ends run() soon; from any thread, also from a callback. Rules that have not ended are Stopped,
  /// and actions that have begun have a few seconds left.
  void stop();
  /// How far run() has come; from any thread, also before and after run().
  RunnerProgress progress() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
