// Operations that need not look at all elements.

#include <gtest/gtest.h>

#include "scripting/array_fixture.h"

namespace cupel::testing {
namespace {

using scripting_detail::Array;
using scripting_detail::Operand;

// What a comparison is charged for arrays that differ in one element.
template <class Compare>
std::int64_t charged_where_they_differ(std::size_t place, Compare&& compare) {
  constexpr std::size_t kElements = std::size_t{1} << 20U;
  std::vector<float> elements(kElements, 1);
  const Array a = array_of(elements);
  elements[place] = 9;
  const Array b = array_of(elements);
  CountingBudget budget;
  EXPECT_FALSE(compare(budget, a, b));
  return budget.charged;
}

TEST(KnownEarly, equal_ends_at_the_first_difference) {
  const auto compare = [](auto& budget, const Array& a, const Array& b) {
    return scripting_detail::equal(budget, a, b);
  };
  EXPECT_LT(charged_where_they_differ(0, compare),
            charged_where_they_differ(1'000'000, compare) / 8);
}

TEST(KnownEarly, all_close_ends_at_the_first_difference) {
  const auto compare = [](auto& budget, const Array& a, const Array& b) {
    return scripting_detail::all_close(budget, Operand(a), Operand(b), {});
  };
  EXPECT_LT(charged_where_they_differ(0, compare),
            charged_where_they_differ(1'000'000, compare) / 8);
}

}  // namespace
}  // namespace cupel::testing
