#include "tensor_number.h"

#include <array>
#include <cmath>

namespace cupel {
namespace {

using Origin = TensorNumber::Origin;

struct Derivation {
  Reduction wanted;
  Reduction from;
  Origin how;
};

constexpr Reduction kMean{ReductionOp::Mean, false}, kSum{ReductionOp::Sum, false};
constexpr Reduction kAbsMean{ReductionOp::Mean, true}, kAbsSum{ReductionOp::Sum, true};
constexpr Reduction kL1{ReductionOp::L1, false}, kAbsL1{ReductionOp::L1, true};
constexpr Reduction kL2{ReductionOp::L2, false}, kAbsL2{ReductionOp::L2, true};
constexpr Reduction kStd{ReductionOp::Std, false}, kVariance{ReductionOp::Variance, false};

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

}  // namespace

std::string TensorNumber::origin_text() const {
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
      return name + " (from raw)";
  }
  return name;
}

std::optional<TensorNumber> saved_number(const RecordView& record, Reduction wanted) noexcept {
  if (const auto saved = record.reduction(wanted))
    return TensorNumber{*saved, wanted, Origin::Saved};
  for (const Derivation& derivation : kDerivations) {
    if (derivation.wanted != wanted) continue;
    if (const auto saved = record.reduction(derivation.from))
      return TensorNumber{derived(*saved, derivation.how, record.elements()), derivation.from,
                          derivation.how};
  }
  return std::nullopt;
}

std::vector<TensorSource> sources_of(Reduction wanted) {
  std::vector<TensorSource> sources = {TensorSource::of({wanted})};
  for (const Derivation& derivation : kDerivations)
    if (derivation.wanted == wanted) sources.push_back(TensorSource::of({derivation.from}));
  sources.push_back(TensorSource::value());
  return sources;
}

}  // namespace cupel
