#pragma once

#include "cupel/core/reduction.h"

namespace cupel::rules_detail {

// The reductions that rules ask for, by name.
inline constexpr Reduction kMin{ReductionOp::Min, false}, kMax{ReductionOp::Max, false};
inline constexpr Reduction kAbsMin{ReductionOp::Min, true}, kAbsMax{ReductionOp::Max, true};
inline constexpr Reduction kMean{ReductionOp::Mean, false}, kAbsMean{ReductionOp::Mean, true};
inline constexpr Reduction kVariance{ReductionOp::Variance, false};
inline constexpr Reduction kL2{ReductionOp::L2, false};

}  // namespace cupel::rules_detail
