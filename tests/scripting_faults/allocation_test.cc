// A rule's whole life, in which one allocation fails: each of ours in turn, and each of Lua's by
// limits that differ by little. What comes of it is an error, and the next rule knows nothing of
// it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/trial/run_follower.h"
#include "rules/rule_fixture.h"
#include "scripting/lua_rule_of.h"
#include "scripting_faults/failing_new.h"

namespace cupel::testing {
namespace {

constexpr const char* kRule = R"lua(
local helper = require("helper")
return cupel.rule {
  name = "Busy",
  summary = "Does a little of everything.",
  params = {limit = {default = 3.0, help = "a number"}, names = {"a", "b"}},
  needs = function(params) return {patterns = params.names, raw = true} end,
  required = function(self, step, req) req:add("loss", {step}) end,
  invoke_at_step = function(self, trial, step)
    self.seen = (self.seen or 0) + helper.one
    for name, worker, mean in trial:each{step = step, collection = "gradients",
                                         reductions = "abs_mean"} do
      if mean < self.params.limit then
        self:issue{tensor = name, worker = worker, value = mean, threshold = self.params.limit,
                   message = string.format("%d: %s", self.seen, name:gsub("fc(\\d)", "layer $1"))}
      end
    end
    local value = trial:tensor("large"):value(step)
    local ratio = (value * 2 - 1):abs():mean() / value:norm()
    local ok, missing = pcall(trial.tensor, trial, "none")
    print(missing.kind, ratio, pcall(error, missing))
    local walk = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
    self.sum = walk() + walk()
    self:skip{tensor = "words", reason = "no numbers"}
  end,
  on_tick = function(self, now) self.now = now end,
  on_end = function(self) self:issue{tensor = "loss", value = self.seen} end,
}
)lua";

constexpr const char* kMistakes = R"lua(
local helper = require("helper")
local rule = cupel.rule {
  name = "two words",
  params = {limit = {default = 3, at_least = 4}, ["a b"] = 1, c = {kind = "it", type = 5}},
  needs = {patterns = "(", reductons = {"mean"}},
  invoke_at_step = function() prnt(helper) end,
}
return {rule, rule, cupel.rule(5), {}}
)lua";

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("cupel_allocation_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
    std::ofstream(path_ / "rule.lua") << kRule;
    std::ofstream(path_ / "mistakes.lua") << kMistakes;
    std::ofstream(path_ / "helper.lua") << "return {one = 1}";
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string rule() const { return (path_ / "rule.lua").string(); }
  std::string mistakes() const { return (path_ / "mistakes.lua").string(); }

 private:
  std::filesystem::path path_;
};

struct SmallRun : MemoryRun {
  SmallRun() {
    WorkerWriter writer = worker();
    writer.collection("gradients", {"^gradient/"});
    for (std::int64_t step = 0; step < 2; ++step)
      writer.save(step, {scalar("loss", 1), reduced("gradient/fc1.weight", "abs_mean", 2),
                         reduced("gradient/fc2.weight", "abs_mean", 5), filled("large", 100, 3),
                         texts("words", {"a"})});
  }
};

class Allocations : public ::testing::Test {
 protected:
  Allocations() {
    set_log_sink([](LogLevel, std::string_view) {});
  }
  ~Allocations() override { set_log_sink({}); }

  // Calls everything of a rule, and returns its findings.
  Lines live(const ScriptLimits& limits = {}) {
    const auto definition = lua_rule(folder_.rule(), limits);
    definition->needs();
    const auto rule = definition->make(trial_);
    RuleEvaluation(*rule).set_explaining(true);
    Lines lines;
    const auto take = [&](const Verdict& verdict) {
      for (std::string& line : describe(verdict)) lines.push_back(std::move(line));
    };
    for (std::int64_t step = 0; step < 2; ++step)
      take(RuleEvaluation(*rule).at_step(step, RunFollower(trial_).snapshot()));
    take(RuleEvaluation(*rule).at_tick(std::chrono::steady_clock::time_point(),
                                       RunFollower(trial_).snapshot()));
    take(RuleEvaluation(*rule).at_end(RunFollower(trial_).snapshot()));
    return lines;
  }

  const Folder folder_;
  const SmallRun run_;
  Trial trial_ = run_.open();
};

TEST_F(Allocations, any_of_ours_may_fail) {
  const Lines expected = live();
  ASSERT_EQ(expected.size(), 5U);
  std::int64_t failures = 0;
  for (std::int64_t nth = 1;; ++nth) {
    bool has_failed = false;
    try {
      const FailingNew failing(nth);
      const Lines lines = live();
      has_failed = failing.has_failed();
      // Where it does not matter, it does not show.
      EXPECT_EQ(lines, expected) << nth;
    } catch (const Error&) {
      has_failed = true;
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
    if (!has_failed) break;
    ++failures;
    if (nth % 100 == 0) {
      ASSERT_EQ(live(), expected) << nth;
    }
  }
  EXPECT_GT(failures, 300);
  EXPECT_EQ(live(), expected);
}

TEST_F(Allocations, any_of_ours_may_fail_while_mistakes_are_collected) {
  const std::string expected = errors_text(read_lua_rules(folder_.mistakes()));
  ASSERT_EQ(std::ranges::count(expected, '\n'), 9) << expected;
  std::int64_t failures = 0;
  for (std::int64_t nth = 1;; ++nth) {
    bool has_failed = false;
    try {
      const FailingNew failing(nth);
      const RuleFile file = read_lua_rules(folder_.mistakes());
      has_failed = failing.has_failed();
      // The limit of memory is what a failure inside of the script is called.
      if (errors_text(file).find("of memory is reached") == std::string::npos) {
        EXPECT_EQ(errors_text(file), expected) << nth;
      }
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
    if (!has_failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 200);
  EXPECT_EQ(errors_text(read_lua_rules(folder_.mistakes())), expected);
}

TEST_F(Allocations, any_of_Luas_may_fail) {
  const Lines expected = live();
  int failures = 0;
  bool has_room = false;
  for (std::size_t memory = 4000; !has_room; memory += 40) {
    try {
      EXPECT_EQ(live({.memory = memory}), expected) << memory;
      has_room = true;
    } catch (const ScriptError& error) {
      EXPECT_EQ(error.limit, ScriptLimit::Memory) << error.what();
      ++failures;
    } catch (const UsageError& error) {  // the errors of the file
      EXPECT_NE(std::string_view(error.what()).find("of memory is reached"), std::string::npos)
          << error.what();
      ++failures;
    } catch (const std::bad_alloc&) {
      ++failures;  // not even a state has room
    }
  }
  EXPECT_GT(failures, 1000);
  EXPECT_EQ(live(), expected);
}

}  // namespace
}  // namespace cupel::testing
