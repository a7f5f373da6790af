#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "cupel/core/error.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/tensor_number.h"

namespace cupel {

/// A judgement in words, for `watch --explain` and for the finding. A rule writes it only where it
/// is read: text costs more than the judgement itself.
struct JudgementText {
  std::string read;      ///< What was read, and from where: "abs_mean (saved)".
  std::string compared;  ///< What was compared: "3.1e-09 < 1e-07".
  std::string message;   ///< The message of the finding: "abs_mean 3.1e-09 < 1e-07".
};

/// The copy of a tensor that one worker saved at one step, while a rule judges it.
///
///     void judge(TensorCopy& copy) override {
///       if (!copy.has_numbers()) return;
///       const auto std = copy.number(*parse_reduction("std"));
///       if (!std) return;
///       copy.judged(std->value > most_, std->value, most_, [&] {
///         const std::string compared = comparison_text(std->value, ">", most_);
///         return JudgementText{std::string(std->origin_text()), compared, "std " + compared};
///       });
///     }
///
/// A rule reads through this class what was saved of the copy, and reports the result: judged(),
/// remembered() or skip(). The object borrows the rule, the record and the verdict; it lives as
/// long as the record is visited, and belongs to the thread that judges.
class TensorCopy {
 public:
  TensorCopy(const Rule& rule, const RecordView& record, Verdict& verdict) noexcept
      : rule_(rule), record_(record), verdict_(verdict) {}

  /// The row of the index: tensor, worker, step, mode, dtype, elements, and what was saved.
  const RecordView& record() const noexcept { return record_; }

  // ---- What was saved

  /// Returns whether there are numbers to judge; text and empty tensors are skipped.
  bool has_numbers();
  /// Returns the reduction, if it was saved.
  std::optional<double> saved(Reduction reduction);
  /// Returns the reduction as it was saved, or derived from what was, or computed from the raw
  /// value. Skips the copy and returns nothing where none of these is possible.
  std::optional<TensorNumber> number(Reduction wanted);
  /// Returns the raw value. Skips the copy and returns nothing where it is missing or damaged.
  std::optional<TensorValue> value();
  /// Returns the raw value of an earlier step from the same worker. Likewise.
  std::optional<TensorValue> value_at(std::int64_t step);
  /// Returns what `read()` returns. Where `read` throws TensorUnavailableForStep or DamagedValue,
  /// skips the copy and returns nothing; the reason begins with `prefix`.
  template <class Read>
  auto read_or_skip(Read&& read, const std::string& prefix = {})
      -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const TensorUnavailableForStep& error) {
      skip(prefix + error.what());
    } catch (const DamagedValue& damage) {
      skip(prefix + damage.what(), true);
    }
    return std::nullopt;
  }

  /// Records in the verdict that a NaN was met. The functions above do so for what they read; a
  /// rule that reads in another way calls one of these.
  void saw(double number) noexcept {
    if (std::isnan(number)) verdict_.saw_nan();
  }
  void saw(const ValueCounts& counts) noexcept {
    if (counts.nan > 0) verdict_.saw_nan();
  }
  void saw(const ReductionValues& reductions) noexcept;
  void saw(const TensorValue& value);

  // ---- The result

  /// Reports that the rule cannot use this copy. `damaged`: the value is there and damaged.
  void skip(std::string reason, bool damaged = false);
  /// Counts a judgement, and reports a finding where the rule fired. `text()` returns a
  /// JudgementText; it is called only where the rule fired or explains.
  template <class F>
  void judged(bool fired, double value, double threshold, F&& text) {
    verdict_.count(1);
    if (fired || rule_.explaining()) report(fired, value, threshold, text());
  }
  /// Counts a copy that is only remembered, for a judgement at a later step.
  template <class F>
  void remembered(F&& text) {
    verdict_.remember(1);
    if (rule_.explaining()) report(false, 0, 0, text());
  }

 private:
  std::optional<TensorNumber> number_of(Reduction wanted);
  TensorValue read_at(std::int64_t step) const;
  void report(bool fired, double value, double threshold, JudgementText text);
  const Rule& rule_;
  const RecordView& record_;
  Verdict& verdict_;
};

}  // namespace cupel
