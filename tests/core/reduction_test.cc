#include "cupel/core/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Names = std::vector<std::string>;

constexpr Reduction kMean = {ReductionOp::Mean, false};
constexpr Reduction kAbsMean = {ReductionOp::Mean, true};
constexpr Reduction kL1 = {ReductionOp::L1, false};
constexpr Reduction kAbsL2 = {ReductionOp::L2, true};

TEST(Reduction, each_of_the_twenty_is_read_back_from_its_name) {
  for (std::size_t i = 0; i < Reduction::kCount; ++i) {
    EXPECT_EQ(Reduction::at(i).index(), i);
    EXPECT_EQ(parse_reduction(to_string(Reduction::at(i))), Reduction::at(i));
  }
}

TEST(Reduction, norms_are_read_in_both_spellings) {
  EXPECT_EQ(parse_reduction("l1"), kL1);
  EXPECT_EQ(parse_reduction("l1_norm"), kL1);
  EXPECT_EQ(parse_reduction("abs_l2"), kAbsL2);
  EXPECT_EQ(parse_reduction("abs_l2_norm"), kAbsL2);
  EXPECT_EQ(to_string(kAbsL2), "abs_l2");
}

TEST(Reduction, other_text_is_none) {
  for (const char* text :
       {"", "abs_", "average", "mean_norm", "Mean", "abs_abs_mean", "l1_", "_norm"})
    EXPECT_EQ(parse_reduction(text), std::nullopt) << text;
}

TEST(Reduction, the_flag_and_the_prefix_mean_the_same) {
  EXPECT_EQ(require_reduction("mean"), kMean);
  EXPECT_EQ(require_reduction("mean", true), kAbsMean);
  EXPECT_EQ(require_reduction("abs_mean"), kAbsMean);
  EXPECT_THAT(
      [] { require_reduction("average"); },
      ThrowsMessage<UsageError>(::testing::AllOf(HasSubstr("median"), HasSubstr("'average'"))));
}

TEST(ReductionSet, holds_what_was_added_in_index_order) {
  ReductionSet set;
  set.add(kAbsL2);
  set.add(kMean);
  set.add(kMean);
  std::vector<Reduction> seen;
  set.for_each([&](Reduction each) { seen.push_back(each); });
  EXPECT_EQ(seen, (std::vector<Reduction>{kMean, kAbsL2}));
  EXPECT_EQ(set.size(), 2U);
  EXPECT_FALSE(set.contains(kAbsMean));
}

TEST(ReductionSet, unites) {
  ReductionSet a;
  a.add(kMean);
  ReductionSet b;
  b.add(kL1);
  a |= b;
  EXPECT_TRUE(a.contains(kMean) && a.contains(kL1));
  EXPECT_FALSE(b.contains(kMean));
}

TEST(ReductionValues, answer_only_what_was_put) {
  ReductionValues values;
  values.put(kAbsMean, 2.5);
  EXPECT_EQ(values.get(kAbsMean), 2.5);
  EXPECT_EQ(values.get(kMean), std::nullopt);
}

struct Text {
  const char* name;
  const char* text;
  ReductionConfig config;
  const char* written;
};

class ReductionText : public ::testing::TestWithParam<Text> {};

TEST_P(ReductionText, is_parsed_and_written_back) {
  const auto& [name, text, config, written] = GetParam();
  EXPECT_EQ(ReductionConfig::parse(text), config);
  EXPECT_EQ(config.to_text(), written);
  EXPECT_EQ(ReductionConfig::parse(written), config);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ReductionText,
    ::testing::Values(
        Text{"nothing", "", {}, ""}, Text{"empty_entries_only", " , ,", {}, ""},
        Text{"one_name", "min", {.reductions = {"min"}}, "min"},
        Text{"empty_entries_between", ",min,,max,", {.reductions = {"min", "max"}}, "min,max"},
        Text{"blanks_around_names", " min ,\tmax\n", {.reductions = {"min", "max"}}, "min,max"},
        Text{"duplicate", "min,max,min", {.reductions = {"min", "max"}}, "min,max"},
        Text{"duplicate_of_a_magnitude", "abs_min,abs_min", {.abs_reductions = {"min"}}, "abs_min"},
        Text{"a_value_and_its_magnitude",
             "abs_min,min",
             {.reductions = {"min"}, .abs_reductions = {"min"}},
             "min,abs_min"},
        Text{"both_spellings_of_a_norm", "l1, l1_norm", {.norms = {"l1"}}, "l1_norm"},
        Text{"both_spellings_of_an_abs_norm",
             "abs_l1_norm,abs_l1",
             {.abs_norms = {"l1"}},
             "abs_l1_norm"},
        Text{"abs_norms",
             "abs_l1,abs_l2_norm",
             {.abs_norms = {"l1", "l2"}},
             "abs_l1_norm,abs_l2_norm"},
        Text{"median",
             "median,abs_median",
             {.reductions = {"median"}, .abs_reductions = {"median"}},
             "median,abs_median"},
        Text{"order_of_the_four_lists",
             "abs_l1_norm,abs_mean,l2_norm,min",
             {.reductions = {"min"},
              .abs_reductions = {"mean"},
              .norms = {"l2"},
              .abs_norms = {"l1"}},
             "min,l2_norm,abs_mean,abs_l1_norm"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ReductionConfig, takes_each_of_the_twenty_names_as_a_reduction) {
  for (std::size_t i = 0; i < Reduction::kCount; ++i) {
    const Reduction reduction = Reduction::at(i);
    const ReductionConfig config = {.reductions = {std::string(to_string(reduction))}};
    ReductionSet only;
    only.add(reduction);
    EXPECT_EQ(config.set(), only) << to_string(reduction);
    EXPECT_EQ(ReductionConfig::parse(config.to_text()).set(), only) << to_string(reduction);
  }
}

TEST(ReductionConfig, writes_names_among_the_reductions_as_those_of_the_other_lists) {
  const ReductionConfig mixed = {.reductions = {"abs_max", "mean", "l2", "abs_l1_norm"},
                                 .abs_reductions = {"max"}};
  EXPECT_EQ(mixed.to_text(), "mean,l2_norm,abs_max,abs_l1_norm");
  EXPECT_EQ(mixed.set(), ReductionConfig::parse("mean,l2,abs_max,abs_l1").set());
}

TEST(ReductionConfig, unknown_names_in_text_are_refused) {
  for (const char* text : {"min,average", "MIN", "min max", "abs_", "mean_norm", "abs_abs_min"})
    EXPECT_THROW(ReductionConfig::parse(text), UsageError) << text;
  EXPECT_THAT([] { ReductionConfig::parse("min,average"); },
              ThrowsMessage<UsageError>(HasSubstr("'average'")));
}

TEST(ReductionConfig, duplicate_names_in_a_list_are_written_once) {
  const ReductionConfig config = {.reductions = {"min", "max", "min"}, .norms = {"l1", "l1"}};
  EXPECT_EQ(config.to_text(), "min,max,l1_norm");
  EXPECT_EQ(config.set().size(), 3U);
}

TEST(ReductionConfig, the_set_unites_the_four_lists) {
  const ReductionSet set = ReductionConfig{
      .reductions = {"mean"},
      .abs_reductions = {"mean"},
      .norms = {"l1"},
      .abs_norms = {"l2"}}.set();
  EXPECT_EQ(set.size(), 4U);
  EXPECT_TRUE(set.contains(kMean) && set.contains(kAbsMean));
  EXPECT_TRUE(set.contains(kL1) && set.contains(kAbsL2));
  EXPECT_TRUE(ReductionConfig{}.set().empty());
}

TEST(ReductionConfig, names_in_the_wrong_list_are_refused_with_the_legal_ones) {
  EXPECT_THAT([] { static_cast<void>(ReductionConfig{.abs_reductions = {"l1"}}.set()); },
              ThrowsMessage<UsageError>(HasSubstr("one of min, max")));
  EXPECT_THAT([] { static_cast<void>(ReductionConfig{.reductions = {"average"}}.set()); },
              ThrowsMessage<UsageError>(HasSubstr("or abs_ and one of these: got 'average'")));
  EXPECT_THAT([] { static_cast<void>(ReductionConfig{.norms = {"mean"}}.set()); },
              ThrowsMessage<UsageError>(HasSubstr("one of l1, l2")));
  EXPECT_THROW(static_cast<void>(ReductionConfig{.abs_reductions = {"abs_mean"}}.set()),
               UsageError);
}

}  // namespace
}  // namespace cupel
