#include "cupel/core/natural_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace cupel {
namespace {

using ::testing::ElementsAre;

TEST(NaturalOrder, every_run_of_digits_counts_by_its_value) {
  const std::set<std::string, NaturalOrder> workers = {
      "node10_rank0", "node2_rank10", "node2_rank1", "worker_10", "worker_2", "node2_rank2"};
  EXPECT_THAT(workers, ElementsAre("node2_rank1", "node2_rank2", "node2_rank10", "node10_rank0",
                                   "worker_2", "worker_10"));
}

TEST(NaturalOrder, a_beginning_comes_before_what_goes_on) {
  const std::set<std::string, NaturalOrder> names = {"worker_1a", "worker_", "worker_1", "",
                                                     "worker"};
  EXPECT_THAT(names, ElementsAre("", "worker", "worker_", "worker_1", "worker_1a"));
}

TEST(NaturalOrder, leading_zeros_count_where_nothing_else_differs) {
  const std::set<std::string, NaturalOrder> names = {"w1",   "w01", "w001", "w1b",
                                                     "w01a", "w0",  "w00"};
  EXPECT_THAT(names, ElementsAre("w0", "w00", "w001", "w01", "w1", "w01a", "w1b"));
}

TEST(NaturalOrder, numbers_of_any_length_are_compared) {
  const std::string nines(1000, '9');
  EXPECT_TRUE(natural_less("w" + nines, "w1" + nines));
  EXPECT_FALSE(natural_less("w1" + nines, "w" + nines));
}

TEST(NaturalOrder, bytes_beyond_ascii_come_last) {
  EXPECT_TRUE(natural_less("wz", "w\xc3\xa9"));
  EXPECT_FALSE(natural_less("w\xc3\xa9", "wz"));
}

TEST(NaturalOrder, is_an_order_of_all_names) {
  std::mt19937 random(1);
  const auto name = [&random] {
    std::string text;
    for (auto length = random() % 7; length > 0; --length) text += "01291a_"[random() % 7];
    return text;
  };
  std::vector<std::string> names;
  for (int i = 0; i < 120; ++i) names.push_back(name());
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_EQ(natural_less(a, b) || natural_less(b, a), a != b) << a << " and " << b;
      EXPECT_FALSE(natural_less(a, b) && natural_less(b, a)) << a << " and " << b;
      for (const std::string& c : names)
        EXPECT_TRUE(natural_less(a, c) || !natural_less(a, b) || !natural_less(b, c))
            << a << ", " << b << ", " << c;
    }
  }
}

}  // namespace
}  // namespace cupel
