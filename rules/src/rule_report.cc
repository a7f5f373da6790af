#include "rule_report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <limits>

#include "cupel/core/log.h"

namespace cupel::runner_detail {
namespace {

// After so many saved steps at which a rule saw nothing, it says why.
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

// Why a rule saw nothing at a step; "" where it saw something.
std::string why_blind(const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::Skipped) return outcome.message;
  if (outcome.kind != Outcome::Kind::Judged) return {};
  const Verdict& verdict = outcome.verdict;
  if (!verdict.applicable()) return verdict.why_not_applicable();
  if (verdict.datapoints() > 0 || verdict.remembered() > 0 || verdict.skips().empty()) return {};
  return verdict.skips().front().tensor + ": " + verdict.skips().front().reason;
}

// The first damaged value that a rule met; "" where there was none.
std::string damage_of(const Outcome& outcome) {
  if (outcome.damaged) return outcome.message;
  const auto skip = std::ranges::find_if(outcome.verdict.skips(), &Skip::damaged);
  return skip == outcome.verdict.skips().end() ? "" : skip->tensor + ": " + skip->reason;
}

// Whether a rule judged something at a step; what it only remembers for later steps is not judged.
// A rule that counts nothing is trusted to have judged.
bool has_judged_at(const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::Fired) return true;
  if (outcome.kind != Outcome::Kind::Judged || !why_blind(outcome).empty()) return false;
  return outcome.verdict.datapoints() > 0 || outcome.verdict.remembered() == 0;
}

// The same between steps and at the end, where most rules are silent.
bool has_judged_between(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::Fired || outcome.verdict.datapoints() > 0;
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
  if (outcome.kind == Outcome::Kind::Skipped) {
    line.message = "skipped: " + outcome.message;
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
  using Kind = Outcome::Kind;
  News news;
  if (step != nullptr) record_.rewinds = step->rewinds;
  if (step != nullptr && outcome.kind == Kind::Rewound) {
    VerdictLine rewound = line(RuleStatus::Rewound);
    rewound.step = step->step;
    rewound.mode = step->mode;
    rewound.mode_step = step->mode_step;
    rewound.message =
        "training goes on from here once more; steps that were judged are not judged again";
    if (has_lines()) news.lines.push_back(std::move(rewound));
    return news;
  }
  RuleSummary& summary = record_.summary;
  record_.closed = outcome.last;
  if (step != nullptr) {
    record_.next_step = std::max(record_.next_step, step_behind(step->step));
    if (outcome.kind == Kind::Passed) return news;
    record_.last = {step->step, step->mode, step->mode_step, step->num_workers};
  }
  if (outcome.kind == Kind::Failed) {
    summary.status = RuleStatus::Error;
    summary.message = std::move(outcome.message);
    return news;
  }
  const std::vector<std::string> missing =
      step != nullptr ? step->missing_workers : std::vector<std::string>();
  const Verdict& verdict = outcome.verdict;
  report_damage(step, outcome);
  const bool judged = step != nullptr ? has_judged_at(outcome) : has_judged_between(outcome);
  summary.has_judged |= judged;
  if (step != nullptr) {
    ++summary.steps_evaluated;
    if (outcome.kind == Kind::Skipped || !verdict.skips().empty()) ++summary.steps_skipped;
    note_blindness(outcome);
    if (explain && has_lines()) {
      VerdictLine explained = line(RuleStatus::Explained);
      explained.missing_workers = missing;
      explain_step(outcome, explained);
      news.lines.push_back(std::move(explained));
    }
  }
  if (outcome.kind != Kind::Fired) {
    // A rule that is silent where it could not judge, or between steps, ends no incident.
    if (step != nullptr && judged) {
      if (auto open = record_.open_incidents.extract(step->mode)) {
        news.over = std::move(open.mapped());
        news.over->over_at = step->step;
      }
    }
    if (record_.closed) name_unfed();
    return news;
  }
  VerdictLine found = line(RuleStatus::IssuesFound);
  ++summary.steps_fired;
  if (summary.status != RuleStatus::IssuesFound) summary.first_step = found.step;
  summary.status = RuleStatus::IssuesFound;
  found.missing_workers = missing;
  found.nan_seen = verdict.nan_seen();
  found.findings_beyond = verdict.findings_beyond();
  found.message =
      outcome.message.empty() ? findings_message(verdict, found.num_workers) : outcome.message;
  if (summary.steps_fired == 1) record_.first_message = found.message;
  found.tensors = std::move(outcome.verdict).findings();
  add_to_incident(found);
  news.lines.push_back(std::move(found));
  return news;
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

}  // namespace cupel::runner_detail
