// What a rule needs is what `check` looks for and what the rule cannot do without: of each rule's
// needs, one after the other is taken away from a configuration that feeds it, and the program is
// trained and judged with what is left.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "check/fed_rule.h"
#include "cupel/core/error.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/writer/saving_plan.h"

namespace cupel {

// How they stand in failures.
void PrintTo(const Gap& gap, std::ostream* out) {
  *out << to_string(gap.kind) << " of need " << gap.need << ": " << gap.found << "; needs "
       << gap.needed;
}

}  // namespace cupel

namespace cupel::testing {

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.configuration.dump(); }

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ValuesIn;

bool has_gap_of(const std::vector<Gap>& gaps, std::size_t need) {
  return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) { return gap.need == need; });
}

bool has_kind(const std::vector<Gap>& gaps, const std::vector<Gap::Kind>& kinds) {
  return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) {
    return std::find(kinds.begin(), kinds.end(), gap.kind) != kinds.end();
  });
}

// One that judges something else than tensors.
bool reads_nothing(const RuleDefinition& rule) {
  try {
    return rule.needs({}).tensors.empty();
  } catch (const UsageError&) {  // a parameter is missing that says what it reads
    return false;
  }
}

TEST(Needs, of_every_built_in_rule_are_fed_by_a_configuration_here) {
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical))
    EXPECT_TRUE(reads_nothing(*rule) ||
                std::any_of(fed_rules().begin(), fed_rules().end(),
                            [&](const FedRule& fed) { return fed.rule == rule->name; }))
        << rule->name << " has no configuration that feeds it among its cases";
}

TEST(Needs, make_enough_variants) {
  const auto all = variants();
  EXPECT_GE(std::count_if(all.begin(), all.end(), [](auto& variant) { return variant.is_broken; }),
            60);
}

class FedRules : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FedRules, are_silent_and_fire) {
  const FedRule& fed = fed_rules()[GetParam()];
  const Outcome out = outcome(fed, fed.configuration());
  EXPECT_THAT(out.in_plan, IsEmpty());
  EXPECT_THAT(out.in_run, IsEmpty());
  EXPECT_THAT(out.findings, Not(IsEmpty()));
}

TEST_P(FedRules, are_fed_by_the_collections_that_are_written_for_them) {
  const FedRule& fed = fed_rules()[GetParam()];
  // A hook that would save too little, unless the entries say otherwise.
  for (const char* hook : {R"({})", R"({"save_interval":"500"})", R"({"end_step":"0"})",
                           R"({"train.end_step":"1","eval.end_step":"0","reductions":"prod"})"}) {
    Json configuration = {{"HookParameters", Json::parse(hook)}};
    const auto plan = saving_plan(parse_hook_configuration(configuration.dump(), "hook.json"));
    Json entries = Json::array();
    for (const CollectionConfiguration& entry : needed_collections(fed.rule, fed.needs(), plan)) {
      entries.push_back(Json::parse(entry.to_json()));
      // Only its user knows what is in a collection of the user's.
      Json& parameters = entries.back()["CollectionParameters"];
      const bool own = entry.name == "costs" || entry.name == "gates";
      if (own) parameters["include_regex"] = "x";
    }
    configuration["CollectionConfigurations"] = entries;
    const auto fed_plan = saving_plan(parse_hook_configuration(configuration.dump(), "hook.json"));
    EXPECT_THAT(find_gaps(fed.rule, fed.needs(), fed_plan), IsEmpty()) << configuration;
  }
}

// Nothing here knows the needs: one that a rule has and does not say would show.
TEST_P(FedRules, are_said_to_be_fed_where_they_fire_and_nowhere_else) {
  const FedRule& fed = fed_rules()[GetParam()];
  for (const Changed& changed : changed_configurations(fed)) {
    const Outcome out = outcome(fed, changed.configuration);
    if (!out.findings.empty()) {
      // What spares reading a value can settle it without being enough always.
      EXPECT_TRUE(out.in_run.empty() || has_kind(out.in_run, {Gap::Kind::Source}))
          << changed.configuration << ::testing::PrintToString(out.in_run);
      EXPECT_TRUE(out.in_plan.empty() || has_kind(out.in_plan, {Gap::Kind::Source}))
          << changed.configuration << ::testing::PrintToString(out.in_plan);
      continue;
    }
    EXPECT_THAT(out.in_run, Not(IsEmpty())) << changed.configuration;
    if (changed.plan_can_tell) {
      EXPECT_THAT(out.in_plan, Not(IsEmpty())) << changed.configuration;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, FedRules, ::testing::Range(std::size_t{0}, fed_rules().size()),
                         [](const auto& row) {
                           return fed_rules()[row.param].rule + "_" + std::to_string(row.param);
                         });

class Variants : public ::testing::TestWithParam<Variant> {};

TEST_P(Variants, are_judged_as_they_work) {
  const Variant& variant = GetParam();
  const Outcome out = outcome(*variant.fed, variant.configuration, variant.workers);
  if (!variant.is_broken) {
    EXPECT_THAT(out.in_plan, IsEmpty());
    EXPECT_THAT(out.in_run, IsEmpty());
    EXPECT_THAT(out.findings, Not(IsEmpty()));
    EXPECT_THAT(out.workers, SizeIs(static_cast<std::size_t>(variant.workers)));
    return;
  }
  EXPECT_TRUE(has_kind(out.in_plan, variant.kinds)) << ::testing::PrintToString(out.in_plan);
  for (const Gap& gap : out.in_plan) {
    EXPECT_THAT(gap.found, Not(IsEmpty()));
    EXPECT_TRUE(Json::accept(gap.closing)) << gap.closing;
  }
  if (variant.workers > 1) {
    // The run was written by one, who does not say that there are others.
    EXPECT_THAT(out.workers, SizeIs(1));
    EXPECT_THAT(out.findings, Not(Contains(HasSubstr("worker_1"))));
    return;
  }
  for (const std::size_t need : variant.needs) {
    EXPECT_TRUE(has_gap_of(out.in_plan, need));
    EXPECT_TRUE(has_gap_of(out.in_run, need)) << ::testing::PrintToString(out.in_run);
  }
  EXPECT_THAT(out.findings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Derived, Variants, ValuesIn(variants()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace cupel::testing
