// What adapters ask a hook before they compute values, and what they report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using HookForAdapters = HookTest;

TEST_F(HookForAdapters, profile_is_that_of_the_options) {
  EXPECT_EQ(make_hook()->profile(), Profile::Generic);
  options.existing = Existing::Replace;
  options.profile = Profile::XGBoost;
  EXPECT_EQ(make_hook()->profile(), Profile::XGBoost);
}

TEST_F(HookForAdapters, would_save_answers_as_wants_does_at_each_step) {
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  hook->get_collection("gradients").set_save_config({.save_interval = 3});
  EXPECT_FALSE(hook->would_save("fc.weight")) << "no step has begun";
  std::vector<std::string> saved;
  for (int step = 0; step < 5; ++step) {
    hook->next_step();
    for (const char* name : {"fc.weight", "gradient/fc.weight", "fc.output"})
      if (hook->would_save(name)) saved.push_back(std::to_string(step) + " " + name);
  }
  EXPECT_THAT(saved, ElementsAre("0 fc.weight", "0 gradient/fc.weight", "2 fc.weight",
                                 "3 gradient/fc.weight", "4 fc.weight"));
  hook->end_step();
  EXPECT_FALSE(hook->would_save("fc.weight")) << "the step has ended";
}

TEST_F(HookForAdapters, would_save_knows_what_calls_put_into_collections) {
  auto hook = make_hook();
  static_cast<void>(hook->handle("embedding", {"weights"}));
  hook->next_step();
  EXPECT_TRUE(hook->would_save("embedding"));
}

TEST_F(HookForAdapters, would_save_knows_listed_names) {
  auto hook = make_hook();
  hook->get_collection("weights").add_tensor_name("embedding");
  hook->next_step();
  EXPECT_TRUE(hook->would_save("embedding"));
}

TEST_F(HookForAdapters, would_save_leaves_the_name_unknown) {
  auto hook = make_hook();
  hook->next_step();
  EXPECT_FALSE(hook->would_save("fc.output"));
  EXPECT_TRUE(hook->would_save("fc.weight"));
  EXPECT_THAT(hook->collections_now().at("weights").tensor_names(), IsEmpty());
  EXPECT_THAT(hook->close().never_saved, IsEmpty());
}

TEST_F(HookForAdapters, would_save_is_false_behind_close) {
  auto hook = make_hook();
  hook->next_step();
  hook->close();
  EXPECT_FALSE(hook->would_save("fc.weight"));
}

TEST_F(HookForAdapters, a_reported_problem_is_in_the_log_and_in_the_report) {
  auto hook = make_hook();
  hook->report_problem("no values of a kind");
  EXPECT_EQ(logged_, "no values of a kind\n");
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, ElementsAre("no values of a kind"));
  EXPECT_FALSE(report.disabled);
}

TEST_F(HookForAdapters, a_reported_problem_is_not_thrown_where_errors_are) {
  options.on_error = OnError::Throw;
  auto hook = make_hook();
  EXPECT_NO_THROW(hook->report_problem("no values of a kind"));
  EXPECT_THAT(hook->close().problems, ElementsAre("no values of a kind"));
}

TEST_F(HookForAdapters, a_problem_reported_behind_close_changes_nothing) {
  auto hook = make_hook();
  hook->close();
  hook->report_problem("too late");
  EXPECT_THAT(hook->close().problems, IsEmpty());
}

TEST_F(HookForAdapters, a_check_refuses_what_the_constructor_refuses) {
  const testing::ScratchDirectory scratch;
  options.out_dir = scratch.path();
  const auto check = [](HookOptions checked) { Hook::check({std::move(checked), {}}); };
  EXPECT_NO_THROW(check(options));
  HookOptions other = options;
  other.out_dir.clear();
  EXPECT_THROW(check(other), OutDirError);
  other = options;
  other.include_regex = {"("};
  EXPECT_THROW(check(other), UsageError);
  other = options;
  other.save_config.save_interval = 0;
  EXPECT_THROW(check(other), UsageError);
  Hook(options).close();
  EXPECT_THROW(check(options), OutDirError);
  EXPECT_THROW(Hook{options}, OutDirError);
  options.existing = Existing::Continue;
  EXPECT_NO_THROW(check(options));
}

TEST_F(HookForAdapters, a_check_writes_nothing) {
  const testing::ScratchDirectory scratch;
  options.out_dir = scratch / "run";
  Hook::check({options, {}});
  EXPECT_FALSE(std::filesystem::exists(options.out_dir));
}

}  // namespace
}  // namespace cupel
