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

namespace cupel::runner_detail {

/// The time as verdict lines have it.
std::string time_text();

/// What has come of one rule so far: what a runner that goes on after a restart has to know.
struct RuleRecord {
  /// The step that was judged last, as lines name it.
  struct Place {
    std::int64_t step = 0;
    Mode mode = Mode::Global;
    std::int64_t mode_step = 0;
    std::int64_t num_workers = 1;
  };
  RuleSummary summary;
  std::int64_t next_step = 0;  ///< Steps before this one have been said.
  /// Trial::rewinds() of the step that was said last.
  std::optional<std::size_t> rewinds;
  bool closed = false;         ///< It is not asked again.
  std::int64_t incidents = 0;  ///< How many have begun.
  std::map<Mode, Incident> open_incidents;
  std::string first_message;  ///< Of its first firing.
  std::optional<Place> last;
  std::int64_t blind_steps = 0;  ///< At which it saw nothing, from its first on.
  std::string blind_reason;
  std::string first_damage;  ///< "step 12: ...", of the first damaged value that it skipped.
};

/// Makes lines of what comes of one rule, and keeps its record.
class RuleReport {
 public:
  /// `reads` says what the rule reads; for `only_if_fed` see RuleOptions.
  RuleReport(RuleRecord record, std::string trial, std::string reads, bool only_if_fed)
      : record_(std::move(record)),
        trial_(std::move(trial)),
        reads_(std::move(reads)),
        only_if_fed_(only_if_fed) {}

  const RuleRecord& record() const noexcept { return record_; }

  struct News {
    std::vector<VerdictLine> lines = {};
    std::optional<Incident> over = {};  ///< Behind the lines.
  };
  /// Takes in what came of a step, or of being asked between steps, where `step` is null.
  News take(const Step* step, Outcome outcome, bool explain);
  /// The rule has ended, unless it has by itself. NoIssuesFound of a rule that never had anything
  /// to judge becomes NothingSeen.
  void end(RuleStatus status, std::string why);
  /// Why it never had anything to judge; "" if it had.
  std::string why_it_judged_nothing() const;

  /// Whether there are lines about the rule.
  bool has_lines() const;
  VerdictLine closing_line() const;

 private:
  // A question to the rule, and what came of it.
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

/// The line that tells a note.
VerdictLine note_line(const Note& note, const std::string& trial);

}  // namespace cupel::runner_detail
