// A token, such as the padding, makes up too much of a batch of sequences: 100 * elements equal to
// the token / elements > threshold, a percentage. The copies of all workers count together.
//
// The index is asked first: the counts say how many zeros there are, and a range from min to max
// without the token that there is none.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "detector.h"
#include "elements.h"
#include "tensor_copy.h"
#include "tensor_selection.h"

namespace cupel {
namespace {

constexpr Reduction kMin{ReductionOp::Min, false}, kMax{ReductionOp::Max, false};
constexpr std::string_view kDefaultPattern = ".*embedding0_input_0";

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
      copy.met(*counts);
      return static_cast<double>(counts->zero);
    }
  }
  const auto min = copy.saved(kMin);
  const auto max = copy.saved(kMax);
  if ((min && *min > token) || (max && *max < token)) return 0;
  return std::nullopt;
}

class NLPSequenceRatio final : public Detector {
 public:
  static constexpr std::string_view kName = "NLPSequenceRatio";
  static constexpr std::string_view kSummary = "a token makes up too much of the sequences";
  static constexpr std::string_view kDescription = R"(
The share of a token, such as padding or unknown words, among all elements of a tensor at a step,
over all workers:

    100 * (elements equal to the token) / elements > threshold

fires, strictly, for each token by itself. The first threshold belongs to the first token and so on;
the last one also to all tokens behind it, and thresholds beyond the tokens are ignored. Numbers are
compared exactly; NaN is no token.

Each step stands alone, in every mode, and each tensor too. Text and empty tensors are skipped. A
copy that cannot be counted is skipped, and those of the other workers are judged.

For token 0 the counts of floating-point tensors suffice; a saved min above a token, or a max below
it, says that there is none. All else takes the raw value, every element once, whatever the number
of tokens. Half of a batch being padding, the default, is a batch whose sequences differ much in
length: sorting them by length into batches saves that much time.
)";
  static constexpr std::string_view kExample =
      "NLPSequenceRatio,tensor_regex=tokens,token_values=0,1,token_thresholds_percent=40,10";
  static constexpr std::array kParameters = {
      ParameterInfo{"tensor_regex", "list", kDefaultPattern,
                    "patterns searched in the names of tensors"},
      ParameterInfo{"token_values", "list", "0", "the tokens, as numbers"},
      ParameterInfo{"token_thresholds_percent", "list", "50",
                    "fires when more than so many percent are the token; one for each token, the "
                    "last one also for the rest (0 to 100)"}};
  struct Options {
    PatternList patterns = kDefaultPattern;
    std::vector<Token> tokens = {{0, 50}};
  };

  static Options read(ParameterReader& reader) {
    constexpr double kMost = std::numeric_limits<double>::max();
    Options options{.patterns = read_patterns(reader, "tensor_regex")};
    const auto numbers = [&](std::string_view name, const NumberRange& legal) {
      const std::size_t mistakes = reader.mistakes();
      std::vector<double> read = reader.numbers(name, legal);
      if (read.empty() && reader.mistakes() == mistakes)
        reader.fail("parameter " + std::string(name) + " holds no number");
      return read;
    };
    const std::vector<double> values = numbers("token_values", {-kMost, kMost});
    const std::vector<double> thresholds = numbers("token_thresholds_percent", {0, 100});
    options.tokens.clear();
    if (thresholds.empty()) return options;
    for (std::size_t i = 0; i < values.size(); ++i)
      options.tokens.push_back({values[i], thresholds[std::min(i, thresholds.size() - 1)]});
    return options;
  }

  static RuleNeeds needs(const Options& options) {
    TensorNeed need{.tensors = {.patterns = options.patterns,
                                .parameters = {"tensor_regex"},
                                .saved_as = "input_sequence"},
                    .suffices = {},
                    .spares = {TensorSource::of({kMin}), TensorSource::of({kMax})}};
    if (std::all_of(options.tokens.begin(), options.tokens.end(),
                    [](const Token& token) { return token.value == 0; }))
      need.suffices.push_back(TensorSource::counts());
    need.suffices.push_back(TensorSource::value());
    return {{std::move(need)}};
  }

  NLPSequenceRatio(Trial& base, const Options& options)
      : Detector(base, kName, needs(options)), options_(options), names_({}, options.patterns) {}

  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    Sequences sequences;
    const std::size_t selected =
        base_trial().visit_step(step, names_, [&](const RecordView& record) {
          if (sequences.tensor != &record.tensor()) {
            judge(sequences, verdict);
            sequences = {&record.tensor(), record.worker(), {}, 0, false};
            sequences.found.resize(options_.tokens.size());
          }
          TensorCopy copy(*this, record, verdict);
          add(copy, sequences);
        });
    judge(sequences, verdict);
    if (selected == 0)
      verdict.not_applicable("nothing of " + needs(options_).tensors.front().tensors.description() +
                             " was saved at this step");
    return verdict;
  }

 private:
  void add(TensorCopy& copy, Sequences& sequences) const {
    if (!copy.has_numbers()) return;
    std::vector<double> found(options_.tokens.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto known = found_in_index(copy, options_.tokens[i].value);
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
                shortest_text(options_.tokens[open.front()].value) +
                " occurs; the raw value would say");
      return false;
    }
    const auto value = copy.value();
    if (!value) return false;
    for_each_span(*value, [&](std::span<const double> elements, std::size_t) {
      for (const std::size_t i : open)
        found[i] += static_cast<double>(
            std::count(elements.begin(), elements.end(), options_.tokens[i].value));
      return true;
    });
    return true;
  }

  void judge(const Sequences& sequences, Verdict& verdict) const {
    if (sequences.elements == 0) return;
    for (std::size_t i = 0; i < options_.tokens.size(); ++i) {
      const double threshold = options_.tokens[i].threshold;
      const double percent =
          100 * static_cast<double>(sequences.found[i]) / static_cast<double>(sequences.elements);
      const bool fired = percent > threshold;
      verdict.count(1);
      if (!fired && !explaining()) continue;
      const std::string compared = "percent of token " + shortest_text(options_.tokens[i].value) +
                                   ": " + comparison_text(percent, ">", threshold);
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

  Options options_;
  NameSelection names_;
};

}  // namespace

BuiltinRule nlp_sequence_ratio() { return builtin_rule<NLPSequenceRatio>(); }

}  // namespace cupel
