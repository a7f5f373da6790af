// The lines about one rule.
//
// RuleReport takes the outcomes of a rule in the order of its steps, makes a line of each, numbers
// the incidents by mode and keeps the record that a later runner resumes with. It belongs to the
// thread of run(). It never fails: an outcome with an error becomes a line with the status Error.

#include "rule_report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <limits>

#include "cupel/core/log.h"

namespace cupel::rules_detail {
namespace {

// After so many saved steps at which a rule saw nothing, a warning gives the reason.
constexpr std::int64_t kBlindSteps = 10;

std::string in_words(const Finding& finding, std::int64_t num_workers) {
  std::string text = finding.tensor;
  if (num_workers > 1) text += " (" + finding.worker + ")";
  return text + (text.empty() ? "" : ": ") + finding.message;
}

// The first findings in words, the others counted.
std::string findings_message(const Verdict& verdict, std::int64_t num_workers) {
  constexpr std::size_t kInWords = 3;
  const std::vector<Finding>& findings = verdict.findings();
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), kInWords); ++i)
    text += (i == 0 ? "" : "; ") + in_words(findings[i], num_workers);
  const auto listed = static_cast<std::int64_t>(std::min(findings.size(), kInWords));
  const std::int64_t more =
      static_cast<std::int64_t>(findings.size()) - listed + verdict.findings_beyond();
  if (more > 0) text += "; and " + std::to_string(more) + " more";
  if (verdict.findings_beyond() > 0)
    text += " (" + std::to_string(verdict.findings_beyond()) + " of them are not listed)";
  return text;
}

// Why a rule saw nothing at a step that it judged or skipped; "" where it saw something.
std::string why_blind(const Outcome& outcome) {
  if (const auto* const skipped = std::get_if<Skipped>(&outcome.what)) return skipped->reason;
  if (!outcome.is<Judged>()) return {};
  const Verdict& verdict = outcome.verdict;
  if (!verdict.applicable()) return verdict.why_not_applicable();
  if (verdict.datapoints() > 0 || verdict.remembered() > 0 || verdict.skips().empty()) return {};
  return verdict.skips().front().tensor + ": " + verdict.skips().front().reason;
}

// The first damaged value that a rule met; "" where there was none.
std::string damage_of(const Outcome& outcome) {
  const auto* const skipped = std::get_if<Skipped>(&outcome.what);
  if (skipped != nullptr && skipped->damaged) return skipped->reason;
  const auto skip = std::ranges::find_if(outcome.verdict.skips(), &Skip::damaged);
  return skip == outcome.verdict.skips().end() ? "" : skip->tensor + ": " + skip->reason;
}

// Whether a rule judged something: at a step, where a value that it only remembers for later steps
// is not judged, and a rule that counts nothing is trusted; or between steps, where most rules are
// silent.
bool has_judged(const Outcome& outcome, bool at_step) {
  if (outcome.is<Fired>()) return true;
  if (!at_step) return outcome.verdict.datapoints() > 0;
  if (!outcome.is<Judged>() || !why_blind(outcome).empty()) return false;
  return outcome.verdict.datapoints() > 0 || outcome.verdict.remembered() == 0;
}

// The last step there can be has none behind it, and is not followed by another.
std::int64_t step_behind(std::int64_t step) {
  return step < std::numeric_limits<std::int64_t>::max() ? step + 1 : step;
}

void explain_step(const Outcome& outcome, VerdictLine& line) {
  const Verdict& verdict = outcome.verdict;
  line.observations = verdict.observations();
  line.skips = verdict.skips();
  line.nan_seen = verdict.nan_seen();
  if (const auto* const skipped = std::get_if<Skipped>(&outcome.what)) {
    line.message = "skipped: " + skipped->reason;
  } else if (!verdict.applicable()) {
    line.message = "not applicable: " + verdict.why_not_applicable();
  } else if (verdict.observations().empty() && verdict.skips().empty()) {
    line.message = "the rule tells nothing of what it looked at";
  }
}

}  // namespace

std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.", &utc);
  const auto thousandths =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::string digits = std::to_string(1000 + thousandths);
  return std::string(text.data(), length) + digits.substr(1) + "Z";
}

RuleReport::News RuleReport::take(const Step* step, Outcome outcome, bool explain) {
  News news;
  if (step != nullptr) record_.rewinds = step->rewinds;
  if (!outcome.is<Rewound>()) {
    record_.closed = outcome.last;
    if (step != nullptr) record_.next_step = std::max(record_.next_step, step_behind(step->step));
    if (step != nullptr && !outcome.is<Passed>())
      record_.last = {step->step, step->mode, step->mode_step, step->num_workers};
  }
  const Asked asked{step, outcome, explain};
  std::visit([&](const auto& what) { report(what, asked, news); }, outcome.what);
  if (record_.closed) name_unfed();
  return news;
}

void RuleReport::report(const Passed&, const Asked&, News&) {}

// A rule that asks for more at the end of the run will not get it; what it judged counts.
void RuleReport::report(const NotYet&, const Asked& asked, News& news) {
  if (asked.step == nullptr) count(asked, news);
}

void RuleReport::report(const Rewound&, const Asked& asked, News& news) {
  if (asked.step == nullptr || !has_lines()) return;
  VerdictLine rewound = line(RuleStatus::Rewound);
  rewound.step = asked.step->step;
  rewound.mode = asked.step->mode;
  rewound.mode_step = asked.step->mode_step;
  rewound.message =
      "training goes on from here once more; steps that were judged are not judged again";
  news.lines.push_back(std::move(rewound));
}

void RuleReport::report(const Failed& failed, const Asked&, News&) {
  record_.summary.status = RuleStatus::Error;
  record_.summary.message = failed.error;
}

// A rule that is silent where it could not judge, or between steps, ends no incident.
void RuleReport::report(const Judged&, const Asked& asked, News& news) {
  if (!count(asked, news) || asked.step == nullptr) return;
  if (auto open = record_.open_incidents.extract(asked.step->mode)) {
    news.over = std::move(open.mapped());
    news.over->over_at = asked.step->step;
  }
}

void RuleReport::report(const Skipped&, const Asked& asked, News& news) { count(asked, news); }

void RuleReport::report(const Fired& fired, const Asked& asked, News& news) {
  count(asked, news);
  VerdictLine found = line(RuleStatus::IssuesFound);
  RuleSummary& summary = record_.summary;
  ++summary.steps_fired;
  if (summary.status != RuleStatus::IssuesFound) summary.first_step = found.step;
  summary.status = RuleStatus::IssuesFound;
  Verdict& verdict = asked.outcome.verdict;
  found.missing_workers = asked.missing_workers();
  found.nan_seen = verdict.nan_seen();
  found.findings_beyond = verdict.findings_beyond();
  found.message =
      fired.message.empty() ? findings_message(verdict, found.num_workers) : fired.message;
  if (summary.steps_fired == 1) record_.first_message = found.message;
  found.tensors = std::move(verdict).findings();
  add_to_incident(found);
  news.lines.push_back(std::move(found));
}

bool RuleReport::count(const Asked& asked, News& news) {
  const Outcome& outcome = asked.outcome;
  RuleSummary& summary = record_.summary;
  report_damage(asked.step, outcome);
  const bool judged = has_judged(outcome, asked.step != nullptr);
  summary.has_judged |= judged;
  if (asked.step == nullptr) return judged;
  ++summary.steps_evaluated;
  if (outcome.is<Skipped>() || !outcome.verdict.skips().empty()) ++summary.steps_skipped;
  note_blindness(outcome);
  if (asked.explain && has_lines()) {
    VerdictLine explained = line(RuleStatus::Explained);
    explained.missing_workers = asked.missing_workers();
    explain_step(outcome, explained);
    news.lines.push_back(std::move(explained));
  }
  return judged;
}

void RuleReport::add_to_incident(VerdictLine& found) {
  const auto [place, begins] = record_.open_incidents.try_emplace(found.mode);
  Incident& incident = place->second;
  if (begins)
    incident = {.rule = found.rule,
                .name = found.name,
                .mode = found.mode,
                .number = ++record_.incidents,
                .first_step = found.step.value_or(0)};
  incident.last_step = found.step.value_or(0);
  ++incident.steps;
  // A rule that fires by an exception names no tensor.
  incident.findings += std::max<std::int64_t>(
      1, static_cast<std::int64_t>(found.tensors.size()) + found.findings_beyond);
  found.incident = incident.number;
  found.begins_incident = begins;
}

void RuleReport::end(RuleStatus status, std::string why) {
  if (record_.closed) return;
  // What it found holds, but for an error.
  if (status == RuleStatus::Error || record_.summary.steps_fired == 0)
    record_.summary.status = status;
  record_.summary.message = std::move(why);
  name_unfed();
}

void RuleReport::name_unfed() {
  RuleSummary& summary = record_.summary;
  if (summary.has_judged || summary.status != RuleStatus::NoIssuesFound) return;
  summary.status = RuleStatus::NothingSeen;
  if (summary.message.empty()) summary.message = why_it_judged_nothing();
}

std::string RuleReport::why_it_judged_nothing() const {
  const RuleSummary& summary = record_.summary;
  if (summary.has_judged || summary.steps_evaluated == 0) return {};
  const bool is_blind = record_.blind_steps == summary.steps_evaluated;
  return (is_blind ? "saw nothing in its " : "judged nothing in its ") +
         std::to_string(summary.steps_evaluated) + " saved steps" +
         (is_blind ? ": " + record_.blind_reason : "") + "; it reads " + reads_;
}

bool RuleReport::has_lines() const {
  const bool has_failed = record_.closed && record_.summary.status == RuleStatus::Error;
  return !only_if_fed_ || record_.summary.has_judged || has_failed;
}

void RuleReport::note_blindness(const Outcome& outcome) {
  if (record_.blind_steps + 1 != record_.summary.steps_evaluated) return;  // it has seen something
  std::string reason = why_blind(outcome);
  if (reason.empty()) return;
  ++record_.blind_steps;
  record_.blind_reason = std::move(reason);
  if (record_.blind_steps == kBlindSteps && !only_if_fed_)
    log(LogLevel::Warning, "rule " + record_.summary.name + " saw nothing in its first " +
                               std::to_string(kBlindSteps) +
                               " saved steps: " + record_.blind_reason + "; it reads " + reads_);
}

void RuleReport::report_damage(const Step* step, const Outcome& outcome) {
  const std::string damage = damage_of(outcome);
  if (damage.empty()) return;
  // What is met between steps is met again and again, and counts once.
  const bool is_first = record_.first_damage.empty();
  if (step != nullptr || is_first) ++record_.summary.steps_damaged;
  if (!is_first) return;
  record_.first_damage =
      (step != nullptr ? "step " + std::to_string(step->step) : "the end") + ": " + damage;
  log(LogLevel::Warning, "rule " + record_.summary.name +
                             " skipped a damaged value and goes on: " + record_.first_damage);
}

VerdictLine RuleReport::line(RuleStatus status) const {
  VerdictLine line;
  line.time = time_text();
  line.trial = trial_;
  line.rule = record_.summary.rule;
  line.name = record_.summary.name;
  line.status = status;
  if (record_.last) {
    line.step = record_.last->step;
    line.mode = record_.last->mode;
    line.mode_step = record_.last->mode_step;
    line.num_workers = record_.last->num_workers;
  }
  return line;
}

VerdictLine RuleReport::closing_line() const {
  VerdictLine closing = line(record_.summary.status);
  closing.final_line = true;
  closing.message = record_.summary.message;
  closing.first_step = record_.summary.first_step;
  closing.steps_evaluated = record_.summary.steps_evaluated;
  closing.steps_skipped = record_.summary.steps_skipped;
  closing.steps_damaged = record_.summary.steps_damaged;
  if (!record_.first_damage.empty())
    closing.message += (closing.message.empty() ? "" : "; ") +
                       std::to_string(closing.steps_damaged) +
                       (closing.steps_damaged == 1 ? " step" : " steps") +
                       " with damaged values, the first at " + record_.first_damage;
  return closing;
}

VerdictLine note_line(const Note& note, const std::string& trial) {
  VerdictLine line;
  line.time = time_text();
  line.trial = trial;
  line.step = note.step;
  line.status = RuleStatus::Noted;
  line.message = note.text;
  line.note = note;
  return line;
}

}  // namespace cupel::rules_detail
