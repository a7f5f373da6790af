#pragma once

#include <hwy/highway.h>

#include <string>

namespace cupel {

/// Calls `f(name)` once per instruction set that the kernels are built for and this machine has,
/// while only that one is used.
template <class F>
void for_each_simd_target(F&& f) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    f(std::string(hwy::TargetName(target)));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace cupel
