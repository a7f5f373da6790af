#include "cupel/rules/rule_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"

namespace cupel::command_detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(RuleSpec, a_name_alone_has_no_parameters) {
  const RuleSpec spec = parse_rule_spec("VanishingGradient");
  EXPECT_EQ(spec.rule, "VanishingGradient");
  EXPECT_THAT(spec.parameters, IsEmpty());
}

TEST(RuleSpec, parameters_follow_the_name) {
  const RuleSpec spec = parse_rule_spec("R,threshold=1e-6, only_nan=True,empty=");
  EXPECT_EQ(spec.rule, "R");
  EXPECT_THAT(spec.parameters,
              ElementsAre(Pair("empty", ""), Pair("only_nan", "True"), Pair("threshold", "1e-6")));
}

TEST(RuleSpec, a_piece_without_a_name_continues_the_value_before_it) {
  const RuleSpec spec = parse_rule_spec("R,tensor_regex=relu,tanh,^a=b,collection_names=x,y");
  EXPECT_THAT(spec.parameters,
              ElementsAre(Pair("collection_names", "x,y"), Pair("tensor_regex", "relu,tanh,^a=b")));
}

TEST(RuleSpec, commas_at_the_end_belong_to_the_value) {
  EXPECT_THAT(parse_rule_spec("R,a=x,,").parameters, ElementsAre(Pair("a", "x,,")));
}

TEST(RuleSpec, a_value_may_hold_an_equals_sign) {
  EXPECT_THAT(parse_rule_spec("R,a=b=c").parameters, ElementsAre(Pair("a", "b=c")));
}

TEST(RuleSpec, what_cannot_be_read_is_an_error) {
  for (const char* text : {"", ",a=1", "a=1", "R,x", "R,,a=1", "R,a=1,a=2"})
    EXPECT_THROW(parse_rule_spec(text), UsageError) << text;
}

TEST(RuleSpec, a_file_of_rules_comes_before_the_name) {
  const std::vector<std::string> endings = {".lua", ".py"};
  const auto parts = [&endings](const char* text) {
    const RuleSpec spec = parse_rule_spec(text, endings);
    return spec.file + "|" + spec.rule + "|" + std::to_string(spec.parameters.size());
  };
  EXPECT_EQ(parts("my.lua"), "my.lua||0");
  EXPECT_EQ(parts("dir/my.lua:Name,a=1"), "dir/my.lua|Name|1");
  EXPECT_EQ(parts("a.lua:b.lua:Name"), "a.lua:b.lua|Name|0");
  EXPECT_EQ(parts("my.lua,a=1,b=x.lua"), "my.lua||2");
  EXPECT_EQ(parts("s3://bucket/my.lua:Name"), "s3://bucket/my.lua|Name|0");
  EXPECT_EQ(parts("lua"), "|lua|0");
  EXPECT_EQ(parts("my.py:Name,a=1"), "my.py|Name|1");
  EXPECT_EQ(parts("my.py:a.lua"), "my.py:a.lua||0");
  EXPECT_EQ(parts("my.txt:Name"), "|my.txt:Name|0");
}

TEST(RuleSpec, of_a_file_in_lua_is_read_without_a_list_of_endings) {
  EXPECT_EQ(parse_rule_spec("my.lua:Name").file, "my.lua");
  EXPECT_EQ(parse_rule_spec("my.lua:Name").rule, "Name");
}

}  // namespace
}  // namespace cupel::command_detail
