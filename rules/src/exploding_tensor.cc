// NaN or infinities anywhere in the selected tensors.
//
// The index is asked first, from the exact to the circumstantial; the raw value is opened only when
// the index leaves it open:
//   1. the counts of NaN and infinities, which the hook saves of every float tensor that it
//   measures;
//   2. min, max and their abs forms: they propagate NaN, and hold an infinity if one is there;
//   3. mean, sum, l1, l2 and the like: a finite one proves that every element is finite. What is
//      not finite may come from overflow, so the raw value decides where there is one;
//   4. without one, NaN counts as found (or as inf - inf, itself a find unless only_nan), an
//      infinite mean as an infinity, and anything else stays open: the tensor is skipped.

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "elements.h"
#include "tensor_selection.h"

namespace cupel::rules_detail {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The question about a tensor. Text costs more than everything else, so it is made only where it is
// read.
struct Question {
  bool only_nan = false;
  bool in_words = false;
};

// What is known of one copy of a tensor.
struct Explosion {
  bool fired = false;
  double value = 0;  // of the finding
  bool nan = false;
  std::string read;   // what was read, and from where
  std::string found;  // "nan 3, +inf 1, -inf 0"
};

std::string counts_text(const ValueCounts& counts) {
  return "nan " + std::to_string(counts.nan) + ", +inf " + std::to_string(counts.pos_inf) +
         ", -inf " + std::to_string(counts.neg_inf);
}

Explosion judge_counts(const ValueCounts& counts, Question question, std::string_view read) {
  const std::int64_t bad = counts.nan + (question.only_nan ? 0 : counts.pos_inf + counts.neg_inf);
  Explosion judgement{bad > 0, static_cast<double>(bad), counts.nan > 0, {}, {}};
  if (question.in_words) {
    judgement.read = read;
    judgement.found = counts_text(counts);
  }
  return judgement;
}

std::string named_values(const ReductionValues& reductions, std::span<const Reduction> wanted) {
  std::string text;
  for (const Reduction reduction : wanted)
    if (const auto value = reductions.get(reduction))
      text +=
          (text.empty() ? "" : ", ") + std::string(to_string(reduction)) + " " + short_text(*value);
  return text;
}

std::string names_of(const ReductionValues& reductions, std::span<const Reduction> wanted) {
  std::string text;
  for (const Reduction reduction : wanted)
    if (reductions.set.contains(reduction))
      text += (text.empty() ? "" : ", ") + std::string(to_string(reduction));
  return text + " (saved)";
}

constexpr std::array kExtremes = {
    Reduction{ReductionOp::Min, false}, Reduction{ReductionOp::Max, false},
    Reduction{ReductionOp::Min, true}, Reduction{ReductionOp::Max, true}};

// Stage 2. Returns nothing where extremes that were not saved leave it open.
std::optional<Explosion> judge_extremes(const ReductionValues& saved, Question question) {
  bool any = false;
  bool nan = false;
  std::optional<double> infinity;
  for (const Reduction extreme : kExtremes) {
    const auto value = saved.get(extreme);
    if (!value) continue;
    any = true;
    if (std::isnan(*value)) nan = true;
    if (std::isinf(*value)) infinity = value;
  }
  if (!any) return std::nullopt;
  Explosion judgement;
  if (question.in_words) {
    judgement.read = names_of(saved, kExtremes);
    judgement.found = named_values(saved, kExtremes);
  }
  if (nan) {
    judgement.fired = judgement.nan = true;
    judgement.value = kNaN;
    return judgement;
  }
  if (question.only_nan) return judgement;  // one that is no NaN rules NaN out
  if (infinity) {
    judgement.fired = true;
    judgement.value = *infinity;
    return judgement;
  }
  const bool both_ends = saved.set.contains(kExtremes[0]) && saved.set.contains(kExtremes[1]);
  const bool magnitude = saved.set.contains(kExtremes[3]);
  return both_ends || magnitude ? std::optional(judgement) : std::nullopt;
}

constexpr std::array kSums = {
    Reduction{ReductionOp::Mean, false}, Reduction{ReductionOp::Mean, true},
    Reduction{ReductionOp::Sum, false},  Reduction{ReductionOp::Sum, true},
    Reduction{ReductionOp::L1, false},   Reduction{ReductionOp::L1, true},
    Reduction{ReductionOp::L2, false},   Reduction{ReductionOp::L2, true}};
constexpr std::array kOtherTotals = {
    Reduction{ReductionOp::Std, false},      Reduction{ReductionOp::Std, true},
    Reduction{ReductionOp::Variance, false}, Reduction{ReductionOp::Variance, true},
    Reduction{ReductionOp::Prod, false},     Reduction{ReductionOp::Prod, true}};

// Stage 3: one finite total proves that no element was NaN or infinite; one that is no NaN, that
// none was NaN.
std::optional<Explosion> prove_clean(const ReductionValues& saved, Question question) {
  const auto prove = [&](std::span<const Reduction> totals) -> std::optional<Explosion> {
    for (const Reduction total : totals) {
      const auto value = saved.get(total);
      if (!value || !(question.only_nan ? !std::isnan(*value) : std::isfinite(*value))) continue;
      Explosion judgement;
      if (question.in_words) {
        judgement.read = std::string(to_string(total)) + " (saved)";
        judgement.found = std::string(to_string(total)) + " " + short_text(*value);
      }
      return judgement;
    }
    return std::nullopt;
  };
  if (auto proof = prove(kSums)) return proof;
  return prove(kOtherTotals);
}

// Stage 4: there is no raw value, and no total is clean.
std::optional<Explosion> judge_totals(const ReductionValues& saved, bool only_nan) {
  bool any_nan = false;
  std::optional<double> infinite_mean;
  for (const Reduction sum : kSums) {
    const auto value = saved.get(sum);
    if (!value) continue;
    if (std::isnan(*value)) any_nan = true;
    if (std::isinf(*value) && sum.op == ReductionOp::Mean) infinite_mean = value;
  }
  Explosion judgement{true, kNaN, any_nan, names_of(saved, kSums), named_values(saved, kSums)};
  if (any_nan) {
    judgement.found += only_nan ? ", approximate: nan or inf-inf" : ", nan or inf-inf";
    return judgement;
  }
  if (infinite_mean) {
    judgement.value = *infinite_mean;
    return judgement;
  }
  return std::nullopt;
}

Explosion judge_raw(const TensorValue& value, bool only_nan) {
  ValueCounts counts;
  std::optional<std::size_t> first;
  for_each_span(value, [&](std::span<const double> elements, std::size_t begin) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const double element = elements[i];
      if (std::isfinite(element)) continue;
      ++(std::isnan(element) ? counts.nan : element > 0 ? counts.pos_inf : counts.neg_inf);
      if (!first && (std::isnan(element) || !only_nan)) first = begin + i;
    }
    return true;
  });
  Explosion judgement =
      judge_counts(counts, {.only_nan = only_nan, .in_words = true}, "nan, inf (from raw)");
  if (first) judgement.found += ", the first at element " + std::to_string(*first);
  return judgement;
}

class ExplodingTensor final : public TensorRule {
 public:
  struct Options {
    std::vector<std::string> collections;
    PatternList patterns;
    bool only_nan = false;
  };

  static RuleDefinition definition() {
    return define_rule<ExplodingTensor>(
        {.name = "ExplodingTensor",
         .summary = "NaN or infinities in a tensor",
         .description = R"(
A tensor fires if it holds NaN, or an infinity of either sign; with only_nan=True, only NaN fires.
The rule judges each worker's copy and each step by itself, in every mode. Without collection_names
and tensor_regex it judges all tensors of a step but trees/*, whose leaves have no threshold and
hold NaN instead; with both, the tensors of either. Integers, booleans and text cannot hold NaN or
infinities, and an empty tensor holds nothing.

The rule first reads the counts that a hook saves beside reductions, which are exact. Next come min
and max, and abs_max, which propagate NaN and contain an infinity if there is one. Next comes any
finite mean, sum, l1 or l2, which proves that every element is finite. Only where these prove
nothing does the rule read the raw value. A sum that is not finite may be an overflow: without a raw
value the rule skips such a tensor, except that NaN fires as "nan or inf-inf", and so does an
infinite mean.

With reductions the rule reads the index only, however large the tensors are, and may watch all of
them. The message has the number of bad elements and, where a raw value was read, the first of them.
)",
         .example = "ExplodingTensor,collection_names=gradients,losses"},
        {option(&Options::collections, collection_names()),
         option(&Options::patterns, tensor_regex()),
         option(&Options::only_nan, {.name = "only_nan",
                                     .default_text = "False",
                                     .help = "whether infinities are fine"})});
  }

  static RuleNeeds needs(const Options& options) {
    TensorNeed need = {
        .tensors = selected_tensors(options.collections, options.patterns, true),
        .suffices = {TensorSource::counts(), TensorSource::of({kExtremes[0], kExtremes[1]}),
                     TensorSource::of({kExtremes[3]}), TensorSource::value()},
        .spares = {}};
    for (const Reduction sum : kSums) need.spares.push_back(TensorSource::of({sum}));
    return {{std::move(need)}};
  }

  ExplodingTensor(Trial& base, const Options& options)
      : TensorRule(base, needs(options)),
        only_nan_(options.only_nan),
        judges_trees_(!options.collections.empty() || !options.patterns.empty()) {}

 private:
  void judge(TensorCopy& copy) override {
    if (!judges_trees_ && copy.record().tensor().starts_with("trees/")) return;
    std::optional<Explosion> judgement = judge_index(copy.record(), explaining());
    if (judgement && judgement->fired && !explaining()) {
      judgement = judge_index(copy.record(), true);
    } else if (!judgement && copy.record().has_value()) {
      const auto value = copy.value();
      if (!value) return;
      judgement = judge_raw(*value, only_nan_);
    } else if (!judgement) {
      judgement = judge_totals(copy.record().reductions(), only_nan_);
    }
    if (!judgement)
      return copy.skip(
          "what was saved leaves open whether there are NaN or infinities; min and max, or the raw "
          "value, would say");
    if (judgement->nan) copy.saw(kNaN);
    copy.judged(judgement->fired, judgement->value, 0, [&] {
      return JudgementText{judgement->read, judgement->found, judgement->found};
    });
  }

  // Stages 1 to 3.
  std::optional<Explosion> judge_index(const RecordView& record, bool in_words) const {
    const Question question{.only_nan = only_nan_, .in_words = in_words};
    const DType dtype = record.dtype();
    if (!is_floating(dtype)) {
      Explosion judgement;
      if (in_words) {
        judgement.read = std::string(to_string(dtype)) + " (dtype)";
        judgement.found = "cannot hold NaN or infinities";
      }
      return judgement;
    }
    if (const auto counts = record.counts())
      return judge_counts(*counts, question, "nan, inf (counts)");
    if (record.elements() == 0) return Explosion{.read = "elements (saved)", .found = "empty"};
    const ReductionValues saved = record.reductions();
    if (auto judgement = judge_extremes(saved, question)) return judgement;
    return prove_clean(saved, question);
  }

  bool only_nan_;
  bool judges_trees_;
};

}  // namespace

RuleDefinition exploding_tensor() { return ExplodingTensor::definition(); }

}  // namespace cupel::rules_detail
