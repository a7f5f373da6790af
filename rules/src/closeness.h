#pragma once

#include <string>

#include "cupel/core/reduction.h"
#include "cupel/rules/rule_parameter.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::rules_detail {

/// When two numbers are close: a == b, or |a - b| <= absolute + relative * |b|, or, with equal_nan,
/// both are NaN.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  bool equal_nan = false;

  bool close(double a, double b) const noexcept;
};

/// The parameters rtol and atol of rules that compare elements.
Parameter relative_tolerance();
Parameter absolute_tolerance();

struct Closeness {
  bool close = true;
  double largest = 0;  ///< Difference of finite elements, as far as they were compared.
};

/// Whether all elements are close, and the shapes the same; text is not close to anything. Stops at
/// the first that are not, unless `to_the_end`.
Closeness closeness_of(const TensorValue& a, const TensorValue& b, const Tolerance& tolerance,
                       bool to_the_end = false);
/// The same of saved reductions, which both have.
Closeness closeness_of(const ReductionValues& a, const ReductionValues& b, ReductionSet common,
                       const Tolerance& tolerance);

/// Whether saved means prove that the elements are not all close: means cannot differ by more than
/// the means of what each element may.
bool means_differ(double mean_a, double mean_b, double abs_mean_b, const Tolerance& tolerance);

ReductionSet in_both(ReductionSet a, ReductionSet b) noexcept;
/// "mean, abs_mean".
std::string names_of(ReductionSet reductions);

}  // namespace cupel::rules_detail
