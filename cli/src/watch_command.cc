// Evaluates rules over a run as it comes: waits for the run, runs the rules, prints lines.

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "chosen_rules.h"
#include "colour.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/rules/rule_runner.h"
#include "note_words.h"
#include "open_trial.h"
#include "run_cli.h"
#include "stop_on_signal.h"
#include "table.h"

namespace cupel {
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

// Throws UsageError with every mistake, one a line.
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

RuleOptions runner_options(const ChosenRule& rule) {
  RuleOptions options{.name = rule.name,
                      .start_step = rule.runner.start_step,
                      .end_step = rule.runner.end_step,
                      .stop_at_first = rule.runner.stop_on_first_fire,
                      .actions = rule.actions,
                      .configuration = rule.configuration};
  // To let the firing out ends the rule, too.
  if (rule.runner.raise_eval_cond.value_or(false)) options.stop_at_first = true;
  return options;
}

// Waits for the run; null when a stop was requested.
std::unique_ptr<Trial> wait_for_trial(const WatchOptions& options,
                                      std::optional<milliseconds> patience,
                                      const std::stop_token& stop, std::ostream& err) {
  TrialOptions opening{.stop_waiting = stop, .wait_window = options.wait_window};
  try {
    return create_trial(options.trial, opening);
  } catch (const MissingCollectionFiles&) {
    if (stop.stop_requested()) return nullptr;
  }
  err << "cupel watch: waiting for a run in " << options.trial << std::endl;
  opening.wait_for_run = patience.value_or(kForEver);
  const Clock::time_point begin = Clock::now();
  try {
    return create_trial(options.trial, opening);
  } catch (const MissingCollectionFiles& error) {
    if (stop.stop_requested()) return nullptr;
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (waited < opening.wait_for_run) throw;  // waiting is in vain
    throw MissingCollectionFiles(
        error.run, "waited " + std::to_string(waited.count()) + " ms for a hook to begin");
  }
}

// Prints lines as they come, those that come together with one write; and what became of each rule
// at the end.
class LinePrinter {
 public:
  LinePrinter(std::ostream& out, bool json) : out_(out), json_(json) {}

  void print(const VerdictLine& line) {
    if (line.note) return print_note(line);
    const bool fired = line.status == RuleStatus::IssuesFound && !line.final_line;
    if (fired) ++fired_[line.name];
    found_ |= fired || line.action.has_value();
    if (json_) {
      add(to_json(line));
    } else if (line.final_line) {
      closing_.push_back(line);
    } else {
      add(painted_text(out_, line));
    }
  }

  void send() {
    if (text_.empty()) return;
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    out_.flush();
    text_.clear();
  }

  // `summary`: of a watch that has ended in good order; else what was printed is counted.
  void print_table(const RunSummary* summary) {
    send();
    if (json_ || closing_.empty()) return;  // none: it never began
    if (summary != nullptr)
      for (const RuleSummary& rule : summary->rules) fired_[rule.name] = rule.steps_fired;
    using enum Table::Align;
    Table table({"RULE", "STATUS", "FIRST STEP", "STEPS FIRED", "EVALUATED", "SKIPPED", ""},
                {Left, Left, Right, Right, Right, Right, Left});
    for (const VerdictLine& line : closing_) {
      table.add({line.name, std::string(to_string(line.status)),
                 line.first_step ? std::to_string(*line.first_step) : "-",
                 std::to_string(fired_[line.name]), std::to_string(line.steps_evaluated),
                 std::to_string(line.steps_skipped), line.message});
      table.paint(1, colour_of(line.status));
    }
    if (found_) out_ << '\n';
    table.print(out_);
    out_.flush();
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 15U;

  void add(std::string_view line) {
    text_.append(line) += '\n';
    if (text_.size() >= kMostBytes) send();
  }

  void print_note(VerdictLine line) {
    line.message = note_in_words(line.note->text);
    add(json_ ? to_json(line) : to_text(line));
  }

  std::ostream& out_;
  const bool json_;
  std::string text_;  // lines that are still to be sent
  std::vector<VerdictLine> closing_;
  std::map<std::string, std::int64_t> fired_;
  bool found_ = false;  // a line told so
};

}  // namespace

int run_watch(const WatchOptions& options, std::ostream& out, std::ostream& err) {
  const std::vector<ChosenRule> rules = choose_rules(options.rules);
  const std::vector<Action> actions = parse_actions(options.actions);
  const std::optional<milliseconds> idle_timeout = idle_timeout_of(options);
  if (options.start_step < 0) throw UsageError("--start-step must not be negative");
  if (options.jobs < 0) throw UsageError("--jobs must be at least 1");

  const StopOnSignal signals;
  const std::stop_token stop = signals.token();
  const std::unique_ptr<Trial> trial =
      options.no_wait ? open_trial(options.trial, {.wait_window = options.wait_window})
                      : wait_for_trial(options, idle_timeout, stop, err);
  if (trial == nullptr) {
    err << "cupel watch: stopped before a run began in " << options.trial << '\n';
    return kExitFine;
  }

  constexpr int kMostJobs = 4;
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  RuleRunner runner(*trial,
                    {.jobs = options.jobs > 0 ? options.jobs : std::clamp(processors, 1, kMostJobs),
                     .start_step = options.start_step,
                     .end_step = options.end_step,
                     .stop_at_first = options.first,
                     .wait = !options.no_wait,
                     .idle_timeout = idle_timeout,
                     .explain = options.explain,
                     .out = options.out,
                     .actions = actions,
                     .dry_run = options.dry_run});
  for (const ChosenRule& rule : rules) runner.add(rule.make(*trial), runner_options(rule));

  LinePrinter printer(out, options.json);
  const std::stop_callback stop_runner(stop, [&runner] { runner.stop(); });
  RunSummary summary;
  try {
    summary = runner.run([&printer](const VerdictLine& line) { printer.print(line); },
                         [&printer] { printer.send(); });
  } catch (...) {
    printer.print_table(nullptr);
    throw;
  }
  printer.print_table(&summary);
  if (summary.had_errors()) return kExitError;
  return summary.found_issues() ? kExitFound : kExitFine;
}

}  // namespace cupel
