#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cupel/rules/rule_runner.h"
#include "cupel/rules/verdict_line.h"
#include "runner_step.h"

namespace cupel::rules_detail {

/// Returns the time now as verdict lines have it.
std::string time_text();

/// The results of one rule so far, which a runner needs to resume.
struct RuleRecord {
  /// The step that was judged last, as lines name it.
  struct Place {
    std::int64_t step = 0;
    Mode mode = Mode::Global;
    std::int64_t mode_step = 0;
    std::int64_t num_workers = 1;
  };
  RuleSummary summary;
  std::int64_t next_step = 0;  ///< Steps before this one have been reported.
  /// RunFollower::rewinds() of the step that was reported last.
  std::optional<std::size_t> rewinds;
  bool closed = false;         ///< The rule is not asked again.
  std::int64_t incidents = 0;  ///< The number of incidents that have begun.
  std::map<Mode, Incident> open_incidents;
  std::string first_message;  ///< The message of the first finding.
  std::optional<Place> last;
  std::int64_t blind_steps = 0;  ///< The steps, from the first on, at which the rule saw nothing.
  std::string blind_reason;
  std::string first_damage;  ///< "step 12: ...", about the first damaged value.
};

/// Makes the lines about one rule, and keeps its record. Belongs to the thread of run().
class RuleReport {
 public:
  /// `reads` is Rule::what_it_reads(); for `only_if_fed` see RuleConfiguration.
  RuleReport(RuleRecord record, std::string trial, std::string reads, bool only_if_fed)
      : record_(std::move(record)),
        trial_(std::move(trial)),
        reads_(std::move(reads)),
        only_if_fed_(only_if_fed) {}

  const RuleRecord& record() const noexcept { return record_; }

  struct News {
    std::vector<VerdictLine> lines = {};
    std::optional<Incident> over = {};  ///< The incident that is over, after the lines.
  };
  /// Takes the outcome of a step, or of a question between steps, where `step` is null.
  News take(const Step* step, Outcome outcome, bool explain);
  /// Ends the rule, unless it has ended by itself. NoIssuesFound becomes NothingSeen for a rule
  /// that never had anything to judge.
  void end(RuleStatus status, std::string why);
  /// Returns why the rule never had anything to judge; "" if it had.
  std::string why_it_judged_nothing() const;

  /// Whether there are lines about the rule.
  bool has_lines() const;
  VerdictLine closing_line() const;

 private:
  // A question to the rule, and its outcome.
  struct Asked {
    const Step* step;  // null: between steps
    Outcome& outcome;
    bool explain;
    std::vector<std::string> missing_workers() const {
      return step != nullptr ? step->missing_workers : std::vector<std::string>();
    }
  };
  void report(const Passed& passed, const Asked& asked, News& news);
  void report(const NotYet& not_yet, const Asked& asked, News& news);
  void report(const Rewound& rewound, const Asked& asked, News& news);
  void report(const Failed& failed, const Asked& asked, News& news);
  void report(const Judged& judged, const Asked& asked, News& news);
  void report(const Skipped& skipped, const Asked& asked, News& news);
  void report(const Fired& fired, const Asked& asked, News& news);
  // Counts a step that was judged or skipped, and explains it; returns whether the rule judged.
  bool count(const Asked& asked, News& news);

  VerdictLine line(RuleStatus status) const;
  void note_blindness(const Outcome& outcome);
  void report_damage(const Step* step, const Outcome& outcome);
  void add_to_incident(VerdictLine& found);
  void name_unfed();

  RuleRecord record_;
  std::string trial_;
  std::string reads_;
  bool only_if_fed_;
};

/// Returns the line of a note.
VerdictLine note_line(const Note& note, const std::string& trial);

}  // namespace cupel::rules_detail
