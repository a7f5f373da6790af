#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "cupel/trial/run_comparison.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {

/// Two runs to compare, each of one worker unless a test adds more.
struct TwoRuns {
  MemoryRun a_run, b_run;
  WorkerWriter a = a_run.worker(), b = b_run.worker();

  void finish() {
    a.finish();
    b.finish();
  }
  RunComparison compare(const RunComparisonOptions& options = {}) const {
    return compare_runs(a_run.open(), b_run.open(), options);
  }
};

/// Compares runs of one step that holds one tensor each.
inline RunComparison compare(SavedTensor a, SavedTensor b,
                             const RunComparisonOptions& options = {}) {
  TwoRuns runs;
  runs.a.save(0, {std::move(a)});
  runs.b.save(0, {std::move(b)});
  runs.finish();
  return runs.compare(options);
}

/// The one difference of such runs; a default one if there is none.
inline RunDifference difference(SavedTensor a, SavedTensor b,
                                const RunComparisonOptions& options = {}) {
  const RunComparison found = compare(std::move(a), std::move(b), options);
  return found.same() ? RunDifference{} : found.differences.front();
}

inline bool same(SavedTensor a, SavedTensor b, const RunComparisonOptions& options = {}) {
  return compare(std::move(a), std::move(b), options).same();
}

template <class T>
bool same_elements(T a, T b, const RunComparisonOptions& options = {}) {
  return same(raw_of<T>("w", {a}), raw_of<T>("w", {b}), options);
}

template <class T>
void expect_number(const ComparedNumber& number, T expected) {
  ASSERT_TRUE(std::holds_alternative<T>(number));
  EXPECT_EQ(std::get<T>(number), expected);
}

}  // namespace cupel::testing
