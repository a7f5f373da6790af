#include "resumption.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"

namespace cupel::rules_detail {
namespace {

[[noreturn]] void refuse(const RunnerJournal& journal, const std::string& kept_for) {
  const std::string& file = journal.path();
  throw UsageError(file + ".state was kept for " + kept_for + "; remove " + file + " and " + file +
                   ".state to judge from the first step, or choose another file");
}

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

}  // namespace

std::vector<std::string> resume_run(const RunnerJournal& journal, std::vector<std::string> run_ids,
                                    const std::string& location) {
  if (!journal.found()) return run_ids;
  std::vector<std::string> ids = journal.found()->runs;
  const auto is_known = [&ids](const std::string& id) { return contains(ids, id); };
  if (std::ranges::none_of(run_ids, is_known)) refuse(journal, "another run than " + location);
  std::erase_if(run_ids, is_known);
  std::ranges::move(run_ids, std::back_inserter(ids));
  return ids;
}

void resume_rules(const RunnerJournal& journal, std::deque<RunnerRule>& rules) {
  if (!journal.found()) return;
  const std::vector<RunnerState::Rule>& kept = journal.found()->rules;
  std::vector<RunnerState::Rule> given;
  for (const RunnerRule& rule : rules)
    given.push_back({rule.configuration.fingerprint(), rule.found});
  if (const std::string what = difference_of_rules(kept, given); !what.empty())
    refuse(journal, "other rules or parameters: " + what);
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i].found = kept[i].record;
}

void resume_actions(const RunnerJournal& journal, const std::deque<RunnerRule>& rules,
                    RunnerActions* actions) {
  if (!journal.found()) return;
  const std::string file = journal.path() + ".state";
  for (const RunnerState::PendingAction& pending : journal.found()->pending) {
    const auto rule = std::ranges::find(rules, pending.rule,
                                        [](const RunnerRule& r) { return r.found.summary.name; });
    if (rule == rules.end())
      throw FormatError(file, 0,
                        "it has an action of a rule that does not exist: " + pending.incident);
    if (const Action* const action = action_of(pending, rule->actions))
      actions->take_over(pending, *action, file);
    else
      log(LogLevel::Warning, "an action is left undone, because it is no longer configured: " +
                                 pending.text + ", incident " + pending.incident);
  }
}

StepFeedOptions feed_options(const std::deque<RunnerRule>& rules, const RunnerOptions& options,
                             bool resumes) {
  if (rules.empty()) return {.start_step = options.start_step, .end_step = options.end_step};
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  StepFeedOptions feed{.start_step = kLast,
                       .end_step = 0,
                       .wait = options.wait,
                       .idle_timeout = options.idle_timeout,
                       .tick_interval = options.tick_interval,
                       .until_writer_gone = options.until_writer_gone,
                       .notes = options.explain};
  if (resumes) feed.first_fresh_step = kLast;
  for (const RunnerRule& rule : rules) {
    const RuleRecord& found = rule.found;
    // Rules that have ended have fallen behind.
    if (!found.closed) {
      const std::int64_t known = rule.rule->looks_back_by_itself() ? found.next_step : 0;
      feed.start_step = std::min(feed.start_step, std::max(rule.start_step, known));
      feed.first_fresh_step = std::min(feed.first_fresh_step, found.next_step);
      if (found.rewinds)
        feed.rewinds_before =
            std::min(feed.rewinds_before.value_or(*found.rewinds), *found.rewinds);
    }
    // The first rule's outcome of a step came behind the notes.
    feed.first_fresh_note = std::max(feed.first_fresh_note, found.next_step);
    if (feed.end_step)
      feed.end_step = rule.end_step ? std::max(*feed.end_step, *rule.end_step) : rule.end_step;
  }
  return feed;
}

}  // namespace cupel::rules_detail
