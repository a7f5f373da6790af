#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cupel {

/// One violation of a rule's condition.
struct Finding {
  std::string tensor = {};  ///< The tensor that the finding is about.
  /// The worker. Empty: the first worker by name that saved the tensor at the step.
  std::string worker = {};
  double value = 0;          ///< The number that was compared.
  double threshold = 0;      ///< The number that it was compared with.
  std::string message = {};  ///< "abs_mean 3.1e-09 < 1e-07". Empty: "value 12, threshold 10".
};

/// Something that a rule judged, whether it fired or not; `watch --explain` shows observations.
struct Observation {
  std::string tensor = {};
  std::string worker = {};
  /// What was read, and from where: "abs_mean (saved)", "nan, inf (counts)", "max (from raw)".
  std::string read = {};
  std::string compared = {};  ///< What was compared: "3.1e-09 < 1e-07".
  bool fired = false;         ///< The comparison held.
};

/// A tensor that a rule selected and could not judge.
struct Skip {
  std::string tensor = {};
  std::string worker = {};
  std::string reason = {};
  bool damaged = false;  ///< The value is there and damaged.
};

/// The outcome of one evaluation at one step. Default-made: nothing found.
class Verdict {
 public:
  static constexpr std::size_t kMaxFindings = 1000;

  /// Records a violation. After the first kMaxFindings, findings are only counted.
  void add(Finding finding) {
    if (findings_.size() < kMaxFindings)
      findings_.push_back(std::move(finding));
    else
      ++more_;
  }
  /// Records that a selected tensor could not be judged.
  void skip(Skip skip) { skips_.push_back(std::move(skip)); }
  /// Records what was judged. Costly: call it only where Rule::explaining() is true.
  void observe(Observation observation) { observations_.push_back(std::move(observation)); }
  /// Counts values that were judged.
  void count(std::int64_t datapoints) noexcept { datapoints_ += datapoints; }
  /// Counts values that were only remembered, for a judgement at a later step.
  void remember(std::int64_t datapoints) noexcept { remembered_ += datapoints; }
  /// Records that something that was read at this step holds NaN.
  void saw_nan() noexcept { nan_seen_ = true; }
  /// Records that the rule does not apply to this step: a wrong mode, nothing selected.
  void not_applicable(std::string reason) { not_applicable_ = std::move(reason); }

  /// Records that the step cannot be judged yet, because another run has not come so far; the rest
  /// of the verdict is ignored. A runner that waits asks again a little later. For steps only.
  void ask_again(std::string why) { why_to_ask_again_ = std::move(why); }
  const std::string& why_to_ask_again() const noexcept { return why_to_ask_again_; }
  /// Records that the rule has nothing more to judge.
  void end_rule() noexcept { ends_rule_ = true; }

  bool ends_rule() const noexcept { return ends_rule_; }
  bool fired() const noexcept { return !findings_.empty(); }
  bool applicable() const noexcept { return not_applicable_.empty(); }
  const std::string& why_not_applicable() const noexcept { return not_applicable_; }
  const std::vector<Finding>& findings() const& noexcept { return findings_; }
  std::vector<Finding> findings() && noexcept { return std::move(findings_); }
  std::int64_t findings_beyond() const noexcept { return more_; }
  const std::vector<Skip>& skips() const noexcept { return skips_; }
  const std::vector<Observation>& observations() const noexcept { return observations_; }
  std::int64_t datapoints() const noexcept { return datapoints_; }
  std::int64_t remembered() const noexcept { return remembered_; }
  bool nan_seen() const noexcept { return nan_seen_; }

 private:
  friend class RuleEvaluation;  // completes and sorts what invoke_at_step() returned
  std::vector<Finding> findings_;
  std::vector<Skip> skips_;
  std::vector<Observation> observations_;
  std::int64_t more_ = 0;
  std::int64_t datapoints_ = 0;
  std::int64_t remembered_ = 0;
  std::string not_applicable_;
  std::string why_to_ask_again_;
  bool ends_rule_ = false;
  bool nan_seen_ = false;
};

}  // namespace cupel
