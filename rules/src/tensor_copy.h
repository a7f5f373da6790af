#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "cupel/core/error.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/tensor_number.h"

namespace cupel {

/// What is said of a judgement, where somebody reads it.
struct Words {
  std::string read;      ///< "abs_mean (saved)"
  std::string compared;  ///< "3.1e-09 < 1e-07"
  std::string message;   ///< Of the finding: "abs_mean 3.1e-09 < 1e-07".
};

/// One copy of a tensor, of one worker at one step, while a rule judges it: what was saved of it,
/// and where the rule says what came out. For as long as the record is visited.
class TensorCopy {
 public:
  TensorCopy(const Rule& rule, const RecordView& record, Verdict& verdict) noexcept
      : rule_(rule), record_(record), verdict_(verdict) {}

  const RecordView& record() const noexcept { return record_; }

  /// Says that the rule cannot use this copy, and why.
  void skip(std::string reason, bool damaged = false);
  /// What `read()` gives. Where that is not to be had or damaged, skips and returns nothing; the
  /// reason then begins with `whose`.
  template <class Read>
  auto read_or_skip(Read&& read, const std::string& whose = {}) -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const TensorUnavailableForStep& error) {
      skip(whose + error.what());
    } catch (const DamagedValue& damage) {
      skip(whose + damage.what(), true);
    }
    return std::nullopt;
  }
  /// Whether there are numbers to judge; text and empty tensors are skipped.
  bool has_numbers();
  /// The reduction, if it was saved.
  std::optional<double> saved(Reduction reduction);
  /// The reduction as it was saved, or derived from what was, or computed from the raw value. Where
  /// there is none of it, skips and returns nothing.
  std::optional<TensorNumber> number(Reduction wanted);
  /// The raw value; where it is not to be had, skips and returns nothing.
  std::optional<TensorValue> value();
  /// The raw value of an earlier step from the same worker, likewise.
  std::optional<TensorValue> value_at(std::int64_t step);

  /// A NaN among what the rule looks at is told in its verdict. Whatever is read through this class
  /// is looked at by itself; of what a rule reads otherwise it tells here.
  void met(double number) noexcept {
    if (std::isnan(number)) verdict_.saw_nan();
  }
  void met(const ValueCounts& counts) noexcept {
    if (counts.nan > 0) verdict_.saw_nan();
  }
  void met(const ReductionValues& reductions) noexcept;
  void met(const TensorValue& value);

  /// Counts a judgement. `words()` gives its Words and is called only if somebody reads them.
  template <class F>
  void judged(bool fired, double value, double threshold, F&& words) {
    verdict_.count(1);
    if (fired || rule_.explaining()) tell(fired, value, threshold, words());
  }
  /// The same of a copy that is only remembered, for a judgement to come.
  template <class F>
  void noted(F&& words) {
    verdict_.remember(1);
    if (rule_.explaining()) tell(false, 0, 0, words());
  }

 private:
  std::optional<TensorNumber> number_of(Reduction wanted);
  TensorValue read_at(std::int64_t step) const;
  void tell(bool fired, double value, double threshold, Words words);
  const Rule& rule_;
  const RecordView& record_;
  Verdict& verdict_;
};

}  // namespace cupel
