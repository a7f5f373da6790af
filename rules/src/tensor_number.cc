// Reductions of a tensor that follow from others that were saved.
//
// A short table has every derivation, the exact ones first: mean from sum, variance from std, l1
// from the sum of magnitudes. Nothing is read but the index row, and nothing is allocated: rules
// ask for every tensor of every step. Pure functions, for any thread.

#include "cupel/rules/tensor_number.h"

#include <array>
#include <cmath>
#include <string>

#include "plain_reductions.h"

namespace cupel {

using namespace rules_detail;

namespace {

using Origin = TensorNumber::Origin;

struct Derivation {
  Reduction wanted;
  Reduction from;
  Origin how;
};

constexpr Reduction kSum{ReductionOp::Sum, false}, kAbsSum{ReductionOp::Sum, true};
constexpr Reduction kL1{ReductionOp::L1, false}, kAbsL1{ReductionOp::L1, true};
constexpr Reduction kAbsL2{ReductionOp::L2, true}, kStd{ReductionOp::Std, false};

constexpr std::array kDerivations = {
    Derivation{kMean, kSum, Origin::PerElement},
    Derivation{kAbsMean, kL1, Origin::PerElement},
    Derivation{kAbsMean, kAbsL1, Origin::PerElement},
    Derivation{kAbsMean, kAbsSum, Origin::PerElement},
    Derivation{kVariance, kStd, Origin::Square},
    Derivation{kStd, kVariance, Origin::Root},
    Derivation{kL1, kAbsL1, Origin::Saved},
    Derivation{kL1, kAbsSum, Origin::Saved},
    Derivation{kL1, kAbsMean, Origin::TimesElements},
    Derivation{kL2, kAbsL2, Origin::Saved},
};

double derived(double saved, Origin how, std::int64_t elements) noexcept {
  switch (how) {
    case Origin::PerElement:
      return saved / static_cast<double>(elements);
    case Origin::TimesElements:
      return saved * static_cast<double>(elements);
    case Origin::Square:
      return saved * saved;
    case Origin::Root:
      return std::sqrt(saved);
    case Origin::Saved:
    case Origin::Value:
      break;
  }
  return saved;
}

std::string text_of(Reduction from, Origin origin) {
  const std::string name(to_string(from));
  switch (origin) {
    case Origin::Saved:
      return name + " (saved)";
    case Origin::PerElement:
      return name + " / elements (saved)";
    case Origin::TimesElements:
      return name + " * elements (saved)";
    case Origin::Square:
      return name + " squared (saved)";
    case Origin::Root:
      return "root of " + name + " (saved)";
    case Origin::Value:
      break;
  }
  return name + " (from raw)";
}

class OriginTexts {
 public:
  OriginTexts() {
    for (std::size_t from = 0; from < Reduction::kCount; ++from)
      for (std::size_t origin = 0; origin < kOrigins; ++origin)
        texts_[from][origin] = text_of(Reduction::at(from), static_cast<Origin>(origin));
  }
  const std::string& of(Reduction from, Origin origin) const noexcept {
    return texts_[from.index()][static_cast<std::size_t>(origin)];
  }

 private:
  static constexpr std::size_t kOrigins = static_cast<std::size_t>(Origin::Value) + 1;
  std::array<std::array<std::string, kOrigins>, Reduction::kCount> texts_;
};

// `saved(reduction)` gives what was saved.
template <class Saved>
std::optional<TensorNumber> number_from(Saved&& saved, std::int64_t elements,
                                        Reduction wanted) noexcept {
  if (const auto number = saved(wanted)) return TensorNumber{*number, wanted, Origin::Saved};
  for (const Derivation& derivation : kDerivations) {
    if (derivation.wanted != wanted) continue;
    if (const auto number = saved(derivation.from))
      return TensorNumber{derived(*number, derivation.how, elements), derivation.from,
                          derivation.how};
  }
  return std::nullopt;
}

}  // namespace

std::string_view TensorNumber::origin_text() const {
  static const OriginTexts texts;
  return texts.of(from, origin);
}

std::optional<TensorNumber> saved_number(const RecordView& record, Reduction wanted) noexcept {
  return number_from([&](Reduction from) { return record.reduction(from); }, record.elements(),
                     wanted);
}

std::optional<TensorNumber> saved_number(const TensorRecord& record, Reduction wanted) noexcept {
  return number_from([&](Reduction from) { return record.reductions.get(from); }, record.elements,
                     wanted);
}

std::vector<TensorSource> sources_of(Reduction wanted) {
  std::vector<TensorSource> sources = {TensorSource::of({wanted})};
  for (const Derivation& derivation : kDerivations)
    if (derivation.wanted == wanted) sources.push_back(TensorSource::of({derivation.from}));
  sources.push_back(TensorSource::value());
  return sources;
}

}  // namespace cupel
