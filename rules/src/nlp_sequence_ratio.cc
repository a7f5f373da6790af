// A token, such as the padding, makes up too much of a batch of sequences: 100 * elements equal to
// the token / elements > threshold, a percentage. The copies of all workers count together.
//
// The index is read first: the counts have the number of zeros, and a range from min to max without
// the token proves that the token does not occur.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/preferred_selection.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/tensor_copy.h"
#include "elements.h"
#include "plain_reductions.h"
#include "tensor_selection.h"
#include "usual_names.h"

namespace cupel::rules_detail {
namespace {

struct Token {
  double value = 0;
  double threshold = 0;  // percent
};

// A tensor at one step, over its workers.
struct Sequences {
  const std::string* tensor = nullptr;
  std::string_view worker;    // the first
  std::vector<double> found;  // by token
  double elements = 0;
  bool read_value = false;
};

std::optional<double> found_in_index(TensorCopy& copy, double token) {
  if (token == 0) {
    if (const auto counts = copy.record().counts()) {
      copy.saw(*counts);
      return static_cast<double>(counts->zero);
    }
  }
  const auto min = copy.saved(kMin);
  const auto max = copy.saved(kMax);
  if ((min && *min > token) || (max && *max < token)) return 0;
  return std::nullopt;
}

class NLPSequenceRatio final : public Rule {
 public:
  struct Options {
    PreferredNames names;
    std::vector<double> tokens;
    std::vector<double> thresholds;  // by token; the last one also for the rest
  };

  static RuleDefinition definition(Definitions edition) {
    return define_rule<NLPSequenceRatio>(
        {.name = "NLPSequenceRatio",
         .edition = edition,
         .summary = "a token makes up too much of the sequences",
         .description =
             R"(
The rule computes the share of a token, such as padding or unknown words, among all elements of a
tensor at a step, over all workers:

    100 * (elements equal to the token) / elements > threshold

fires, strictly, for each token by itself. The first threshold belongs to the first token, and so
on; the last threshold also belongs to all further tokens, and superfluous thresholds are ignored.
Numbers are compared exactly; NaN is no token.

The rule judges each step and each tensor by itself, in every mode. Text and empty tensors are
skipped. A copy that cannot be counted is skipped, and those of the other workers are judged.

For token 0, the counts of floating-point tensors are enough. A saved min above a token, or a max
below it, proves that the token does not occur. Otherwise the rule reads the raw value, every
element once, however many tokens there are. Half of a batch is padding, the default threshold,
where sequences differ much in length; sorting them by length into batches saves that time.
)" + usual_names_page(edition, R"(
inputs of embeddings of tokens, such as embedding_input_0 or embed_tokens_input_0, but not of
positions, segments and images; without those, tensors called input_ids, token_ids or tokens)"),
         .example = "NLPSequenceRatio,tensor_regex=tokens,token_values=0,1,token_thresholds_"
                    "percent=40,10"},
        {preferred_names(&Options::names,
                         {.name = "tensor_regex",
                          .default_text = ".*embedding0_input_0",
                          .help = "patterns searched in the names of tensors; where they are "
                                  "given, no other names count"},
                         token_sequences(edition)),
         option(&Options::tokens,
                {.name = "token_values", .default_text = "0", .help = "the tokens, as numbers"}),
         option(
             &Options::thresholds,
             {.name = "token_thresholds_percent",
              .default_text = "50",
              .range = {.least = 0, .most = 100},
              .help = "fires when more than so many percent are the token; one for each token, the "
                      "last one also for the rest (0 to 100)"})});
  }

  static void check(const Options& /*options*/, const ParameterValues& values,
                    ParameterMistakes& mistakes) {
    for (const char* const name : {"token_values", "token_thresholds_percent"}) {
      const auto numbers = values.get<std::vector<double>>(name);
      if (numbers && numbers->empty())
        mistakes.add(std::string("parameter ") + name + " holds no number", name);
    }
  }

  static RuleNeeds needs(const Options& options) {
    TensorNeed need{.tensors = needed_tensors(options.names, "tensor_regex", "input_sequence"),
                    .suffices = {},
                    .spares = {TensorSource::of({kMin}), TensorSource::of({kMax})}};
    if (std::all_of(options.tokens.begin(), options.tokens.end(),
                    [](double token) { return token == 0; }))
      need.suffices.push_back(TensorSource::counts());
    need.suffices.push_back(TensorSource::value());
    return {{std::move(need)}};
  }

  NLPSequenceRatio(Trial& base, const Options& options)
      : Rule(base), names_(needs(options).tensors.front().tensors), tokens_(tokens_of(options)) {}

  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    Sequences sequences;
    names_.choose(step, base_trial());
    const std::size_t selected =
        base_trial().visit_step(step, names_.names(), [&](const RecordView& record) {
          if (sequences.tensor != &record.tensor()) {
            judge(sequences, verdict);
            sequences = {&record.tensor(), record.worker(), {}, 0, false};
            sequences.found.resize(tokens_.size());
          }
          TensorCopy copy(*this, record, verdict);
          add(copy, sequences);
        });
    judge(sequences, verdict);
    if (selected == 0)
      verdict.not_applicable("nothing of " + names_.description() + " was saved at this step");
    return verdict;
  }

 private:
  static std::vector<Token> tokens_of(const Options& options) {
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < options.tokens.size(); ++i)
      tokens.push_back(
          {options.tokens[i], options.thresholds[std::min(i, options.thresholds.size() - 1)]});
    return tokens;
  }

  void add(TensorCopy& copy, Sequences& sequences) const {
    if (!copy.has_numbers()) return;
    std::vector<double> found(tokens_.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto known = found_in_index(copy, tokens_[i].value);
      if (known)
        found[i] = *known;
      else
        open.push_back(i);
    }
    if (!open.empty() && !count(copy, open, found)) return;
    for (std::size_t i = 0; i < found.size(); ++i) sequences.found[i] += found[i];
    sequences.elements += static_cast<double>(copy.record().elements());
    sequences.read_value |= !open.empty();
  }

  // Counts the tokens that are `open`; false if the value is not to be had.
  bool count(TensorCopy& copy, const std::vector<std::size_t>& open,
             std::vector<double>& found) const {
    if (!copy.record().has_value()) {
      copy.skip("what was saved leaves open how often token " +
                shortest_text(tokens_[open.front()].value) + " occurs; the raw value would say");
      return false;
    }
    const auto value = copy.value();
    if (!value) return false;
    for_each_span(*value, [&](std::span<const double> elements, std::size_t) {
      for (const std::size_t i : open)
        found[i] +=
            static_cast<double>(std::count(elements.begin(), elements.end(), tokens_[i].value));
      return true;
    });
    return true;
  }

  void judge(const Sequences& sequences, Verdict& verdict) const {
    if (sequences.elements == 0) return;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const double threshold = tokens_[i].threshold;
      const double percent =
          100 * static_cast<double>(sequences.found[i]) / static_cast<double>(sequences.elements);
      const bool fired = percent > threshold;
      verdict.count(1);
      if (!fired && !explaining()) continue;
      const std::string compared = "percent of token " + shortest_text(tokens_[i].value) + ": " +
                                   comparison_text(percent, ">", threshold);
      if (explaining())
        verdict.observe({.tensor = *sequences.tensor,
                         .worker = std::string(sequences.worker),
                         .read = sequences.read_value ? "tokens (from raw)" : "tokens (saved)",
                         .compared = compared,
                         .fired = fired});
      if (fired)
        verdict.add({.tensor = *sequences.tensor,
                     .worker = std::string(sequences.worker),
                     .value = percent,
                     .threshold = threshold,
                     .message = compared});
    }
  }

  PreferredSelection names_;
  std::vector<Token> tokens_;
};

}  // namespace

RuleDefinition nlp_sequence_ratio(Definitions edition) {
  return NLPSequenceRatio::definition(edition);
}

}  // namespace cupel::rules_detail
