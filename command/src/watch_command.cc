// `watch`: waits for the run, evaluates rules while the run grows, and prints lines. For people a
// line is printed where an incident begins and another where it ends, and a terminal has a status
// line; --all and JSON have every finding. The runner calls back in the thread of run(); the status
// line has a thread of its own and is removed while lines are printed. A signal stops the runner,
// whose rules then close in good order; an error of the run ends the command after the table.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "amount_text.h"
#include "closing_table.h"
#include "colour.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/rules/rule_runner.h"
#include "cupel/trial/pins.h"
#include "exit_codes.h"
#include "incident_text.h"
#include "loaded_rules.h"
#include "missing_run.h"
#include "note_words.h"
#include "open_trial.h"
#include "status_news.h"
#include "stop_on_signal.h"
#include "unfed_rules.h"
#include "watch_status.h"

namespace cupel::command_detail {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kForEver = std::chrono::hours(24 * 365 * 10);

std::optional<milliseconds> idle_timeout_of(const WatchOptions& options) {
  if (!options.idle_timeout) return std::nullopt;
  constexpr double kLongest = 1e9;
  if (!(*options.idle_timeout >= 0 && *options.idle_timeout <= kLongest))
    throw UsageError("--idle-timeout takes seconds from 0 to 1e9");
  return milliseconds(static_cast<std::int64_t>(*options.idle_timeout * 1000));
}

// Throws UsageError with every mistake, one in each line.
std::vector<Action> parse_actions(const std::vector<std::string>& texts) {
  std::vector<Action> actions;
  std::string mistakes;
  for (const std::string& text : texts) {
    try {
      actions.push_back(parse_action(text));
    } catch (const UsageError& error) {
      mistakes += (mistakes.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!mistakes.empty()) throw UsageError(mistakes);
  return actions;
}

// Reports that the watch waits. Throws UsageError where no run can be written.
void report_waiting(const std::string& path, const CommandContext& context) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) throw UsageError(missing_run_text(path));
  context.message() << "waiting for a run in " << printable(path);
  if (const std::string runs = runs_below_text(path); !runs.empty())
    context.err << "; below it are: " << printable(runs);
  context.err << std::endl;
}

// Waits for the run. Returns null when a stop was requested.
std::unique_ptr<Trial> wait_for_trial(const WatchOptions& options,
                                      std::optional<milliseconds> patience,
                                      const std::stop_token& stop, const CommandContext& context) {
  TrialOptions opening{.stop_waiting = stop, .wait_window = options.wait_window};
  try {
    return create_trial(options.trial, opening);
  } catch (const MissingCollectionFiles&) {
    if (stop.stop_requested()) return nullptr;
  }
  report_waiting(options.trial, context);
  opening.wait_for_run = patience.value_or(kForEver);
  const Clock::time_point begin = Clock::now();
  try {
    return create_trial(options.trial, opening);
  } catch (const MissingCollectionFiles& error) {
    if (stop.stop_requested()) return nullptr;
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (waited < opening.wait_for_run) throw;  // the run cannot come
    throw Error(missing_run_text(error) + "; waited " + std::to_string(waited.count()) +
                " ms for a hook to begin");
  }
}

// The newest step of the run when the watch began.
struct FoundRun {
  std::optional<std::int64_t> newest_step = {};
  CommitTime newest_at = {};
};

// Reports that the run was found.
FoundRun report_run(Trial& trial, const std::string& path, std::size_t rules,
                    const CommandContext& context) {
  const NoRefresh one_snapshot(trial);
  const std::vector<std::int64_t> steps = trial.steps();
  context.message() << "run found in " << printable(path) << ": "
                    << count_text(steps.size(), "step") << " so far, " << count_text(rules, "rule")
                    << std::endl;
  if (steps.empty()) return {};
  try {
    return {steps.back(), CommitTime(CommitTime::duration(trial.totals().newest_time_us))};
  } catch (const Error&) {
    return {};  // damage, which the runner reports
  }
}

// Prints lines as they come, with one write for lines that come together, and the closing table at
// the end.
class LinePrinter {
 public:
  LinePrinter(Printer out, const WatchOptions& options)
      : out_(out), json_(options.json), every_finding_(options.json || options.all) {}

  // Any thread may call this.
  std::int64_t findings() const { return findings_; }
  // Removes this line while something is printed. Null: there is no such line.
  void set_status(WatchStatus* status) { status_ = status; }

  void print(const VerdictLine& line) {
    if (line.note) return print_note(line);
    const bool fired = line.status == RuleStatus::IssuesFound && !line.final_line;
    if (fired) {
      ++fired_[line.name];
      findings_ += std::max<std::int64_t>(
          1, static_cast<std::int64_t>(line.tensors.size()) + line.findings_beyond);
    }
    if (json_) return add(to_json(line));
    if (line.final_line) return closing_.push_back(line);
    if (fired && !every_finding_) {
      if (line.begins_incident)
        print_news(with_painted_name(out_, Colour::Alarm, begin_text(line), line.name));
    } else if (fired || line.action) {
      print_news(painted_text(out_, line));
    } else {
      add(painted_text(out_, line));
    }
  }

  void print_over(const Incident& incident) {
    if (!every_finding_) print_news(over_text(incident));
  }

  void send() {
    if (text_.empty()) return;
    const auto write = [this] { out_ << Composed{text_} << std::flush; };
    beside_status(write);
    text_.clear();
  }

  // Calls `write` while the status line is removed.
  void beside_status(const std::function<void()>& write) {
    status_ != nullptr ? status_->step_aside(write) : write();
  }

  // Prints the closing table. `summary` is that of a watch that ended in good order. Without it the
  // table counts the printed lines, and `error`, which ended the watch, is reported by the caller.
  void print_table(const RunSummary* summary, std::string_view error = {}) {
    send();
    if (json_ || closing_.empty()) return;  // no rule was evaluated
    if (summary != nullptr)
      for (const RuleSummary& rule : summary->rules) fired_[rule.name] = rule.steps_fired;
    if (found_) out_ << '\n';
    print_closing_table(closing_, fired_, error, out_);
    out_.flush();
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 15U;

  void print_news(std::string_view line) {
    found_ = true;
    add(line);
  }

  void add(std::string_view line) {
    text_.append(line) += '\n';
    if (text_.size() >= kMostBytes) send();
  }

  void print_note(VerdictLine line) {
    line.message = note_in_words(line.note->text);
    add(json_ ? to_json(line) : to_text(line));
  }

  Printer out_;
  const bool json_;
  const bool every_finding_;
  WatchStatus* status_ = nullptr;
  std::atomic<std::int64_t> findings_ = 0;
  std::string text_;  // lines that are not sent yet
  std::vector<VerdictLine> closing_;
  std::map<std::string, std::int64_t> fired_;
  bool found_ = false;  // a line of a finding was printed
};

}  // namespace

int run_watch(const WatchOptions& options, const CommandContext& context) {
  AskedRules asked = options.rules;
  if (asked.empty()) asked.sources.specs = {"all"};
  const auto loaded = load_rules_or_report(asked, options.json, context);
  if (!loaded) return kExitError;
  const std::vector<RuleConfiguration>& rules = *loaded;
  const std::vector<Action> actions = parse_actions(options.actions);
  const std::optional<milliseconds> idle_timeout = idle_timeout_of(options);
  if (options.start_step < 0) throw UsageError("--start-step must not be negative");
  require_directory_of(options.out);
  std::error_code ignored;
  if (!options.webhook_ca.empty() && !std::filesystem::is_regular_file(options.webhook_ca, ignored))
    throw UsageError("--webhook-ca takes a file of certificates: " + options.webhook_ca +
                     " is none");
  if (options.jobs < 0) throw UsageError("--jobs must be at least 1");

  const StopOnSignal signals;
  const std::stop_token stop = signals.token();
  const std::unique_ptr<Trial> trial =
      options.no_wait ? open_trial(options.trial, {.wait_window = options.wait_window})
                      : wait_for_trial(options, idle_timeout, stop, context);
  if (trial == nullptr) {
    context.message() << "stopped before a run began in " << printable(options.trial) << '\n';
    return kExitInterrupted;
  }

  if (options.until_writer_gone) warn_of_unseen_writers(*trial, context);

  LinePrinter printer(context.out, options);
  const auto report_status =
      [&printer, news = status_news(context, options.until_writer_gone)](const RunStatus& now) {
        printer.beside_status([&] { news(now); });
      };
  constexpr int kMostJobs = 4;
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  RuleRunner runner(*trial,
                    {.jobs = options.jobs > 0 ? options.jobs : std::clamp(processors, 1, kMostJobs),
                     .start_step = options.start_step,
                     .end_step = options.end_step,
                     .stop_at_first = options.first,
                     .wait = !options.no_wait,
                     .idle_timeout = idle_timeout,
                     .until_writer_gone = options.until_writer_gone,
                     .on_status = report_status,
                     .explain = options.explain,
                     .out = options.out,
                     .actions = actions,
                     .dry_run = options.dry_run,
                     .webhook_authority = options.webhook_ca});
  for (const RuleConfiguration& rule : rules) runner.add(rule);

  const FoundRun found =
      options.json ? FoundRun() : report_run(*trial, options.trial, rules.size(), context);
  std::optional<WatchStatus> status(
      std::in_place,
      [&] {
        const RunnerProgress progress = runner.progress();
        const bool was_there = progress.newest_step <= found.newest_step;
        return watch_status_text(progress, printer.findings(),
                                 was_there ? found.newest_at : commit_time(progress.newest_at),
                                 commit_time(std::chrono::system_clock::now()));
      },
      options.json ? StatusLine::Terminal() : StatusLine::standard_error());
  const auto end_status = [&] {
    printer.set_status(nullptr);
    status.reset();
  };
  printer.set_status(&*status);
  const std::stop_callback stop_runner(stop, [&runner] { runner.stop(); });
  RunSummary summary;
  try {
    summary = runner.run([&printer](const VerdictLine& line) { printer.print(line); },
                         [&printer] { printer.send(); },
                         [&printer](const Incident& incident) { printer.print_over(incident); });
  } catch (const std::exception& error) {
    end_status();
    printer.print_table(nullptr, error.what());
    throw;
  }
  end_status();
  printer.print_table(&summary);
  report_unfed_rules(rules, summary, *trial, context);
  if (stop.stop_requested()) return kExitInterrupted;
  if (summary.had_errors()) return kExitError;
  return summary.found_issues() || (options.strict && is_unfed(rules, summary)) ? kExitFound
                                                                                : kExitFine;
}

}  // namespace cupel::command_detail
