// Each file of rule_attacks/ is a file of rules that means harm. A runner judges a run by it,
// beside a rule in Lua and a built-in one that behave, which must give the same lines as alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/rule_runner.h"
#include "cupel/scripting/lua_rules.h"
#include "rules/rule_fixture.h"
#include "scripting/lua_rule_of.h"
#include "scripting/rule_attack_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t kMemory = std::size_t{64} << 20U;
constexpr std::size_t kLongestMessage = 10'000;
constexpr std::size_t kMostErrors = 101;  // of a file
constexpr auto kNever = std::chrono::minutes(5);
constexpr const char* kAttack = "Attack";

// Only the limit that is to stop it is near.
ScriptLimits limits_for(const std::string& reason) {
  if (reason == "nothing" || reason == "error" || reason == "allow-list") return {};
  ScriptLimits limits{.instructions = 1'000'000'000'000, .memory = kMemory, .time = kNever};
  if (reason == "instructions") limits.instructions = 300'000;
  if (reason == "clock") limits.time = std::chrono::milliseconds(50);
  return limits;
}

// What stopped a script, from the words that people see.
std::string reason_in(const std::string& message) {
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (message.empty()) return "nothing";
  if (says(" instructions is reached")) return "instructions";
  if (says(" of memory is reached") || says("a text of more than 1 MiB")) return "memory";
  if (says(" ms is reached")) return "clock";
  if (says("there is no global") || says("a nil value")) return "allow-list";
  return "error";
}

struct Outcome {
  std::string message;  // of the attack; empty: nothing stopped it
  Lines others;         // of the rules beside it, as JSON without the time
  Lines all;
};

// Takes what is logged as long as it lives.
class Log {
 public:
  Log() {
    set_log_sink([this](LogLevel, std::string_view line) {
      text_.append(line.substr(0, std::min<std::size_t>(line.size(), kMost - text_.size())));
    });
  }
  ~Log() { set_log_sink({}); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  const std::string& text() const noexcept { return text_; }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20U;
  std::string text_;
};

// Judges a run; without `attack` the neighbours judge it alone.
Outcome judge(const std::string& neighbour, const RuleDefinition* attack, bool waits, Usage& usage,
              bool is_huge = false) {
  const AttackedRun run(is_huge);
  Trial trial = run.open();
  RuleRunner runner(trial, {.wait = waits,
                            .idle_timeout = std::chrono::milliseconds(300),
                            .tick_interval = std::chrono::milliseconds(1)});
  runner.add(lua_rule(neighbour)->make(trial));
  if (attack != nullptr) {
    auto rule = usage.of([&] { return attack->make(trial); });
    runner.add(std::make_unique<MeasuredRule>(trial, std::move(rule), usage));
  }
  runner.add("VanishingGradient");
  Outcome outcome;
  runner.run([&](VerdictLine line) {
    line.time = "";
    outcome.all.push_back(to_json(line) + "\n" + to_text(line));
    if (line.name != kAttack)
      outcome.others.push_back(to_json(line));
    else if (line.status == RuleStatus::Error)
      outcome.message = line.message;
  });
  return outcome;
}

class RuleAttacks : public ::testing::TestWithParam<RuleAttack> {
 protected:
  // What the process reads of its program the first time that something fails is no script's.
  static void SetUpTestSuite() {
    RuleAttack small{"small", "memory", "invoke_at_step", {}};
    small.text =
        "return cupel.rule{name = 'Attack', invoke_at_step = function()\n"
        "local t = {} while true do t[#t + 1] = {} end end}";
    const Log log;
    const AttackFolder folder(small);
    const auto rule = lua_rule(folder.attack(), {.memory = std::size_t{1} << 20U});
    Usage usage;
    ASSERT_EQ(reason_in(judge(folder.neighbour(), rule.get(), false, usage).message), "memory");
  }

  // Returns what stops the attack, which has to be in the call that its file names.
  std::string attempt(const AttackFolder& folder, Usage& usage) {
    const RuleAttack& attack = GetParam();
    const ScriptLimits limits = limits_for(attack.reason);
    Usage alone;
    const bool waits = attack.place == "on_tick";
    const Lines expected = judge(folder.neighbour(), nullptr, waits, alone, attack.is_huge).others;
    EXPECT_FALSE(expected.empty());
    Outcome outcome;
    try {
      const RuleFile file = usage.of([&] { return read_lua_rules(folder.attack(), limits); });
      const auto rule = rule_of(file, kAttack);
      if (attack.place == "load" && attack.reason != "nothing") return "nothing, while loading";
      usage.of([&] { return rule->needs(); });
      outcome = judge(folder.neighbour(), rule.get(), waits, usage, attack.is_huge);
    } catch (const Error& error) {
      EXPECT_TRUE(attack.place == "load" || attack.place == "needs") << error.what();
      outcome = judge(folder.neighbour(), nullptr, waits, alone, attack.is_huge);
      outcome.message = error.what();
    }
    EXPECT_EQ(outcome.others, expected);
    for (const std::string& line : outcome.all) EXPECT_THAT(line, Not(HasSubstr(kSecret)));
    EXPECT_THAT(outcome.message, Not(HasSubstr(kSecret)));
    std::istringstream lines(outcome.message);
    std::size_t errors = 0;
    for (std::string line; std::getline(lines, line); ++errors)
      EXPECT_LT(line.size(), kLongestMessage);
    EXPECT_LE(errors, kMostErrors);
    const std::string reason = reason_in(outcome.message);
    return reason == attack.reason ? reason : reason + ": " + outcome.message;
  }
};

TEST_P(RuleAttacks, is_stopped) {
  const RuleAttack& attack = GetParam();
  const Log log;
  const AttackFolder folder(attack);
  const auto before = folder.contents();
  Usage usage;

  EXPECT_EQ(attempt(folder, usage), attack.reason);

  EXPECT_EQ(folder.contents(), before);
  EXPECT_THAT(log.text(), Not(HasSubstr(kSecret)));
  // Sanitizers take time and memory of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (attack.reason == "clock") {
    EXPECT_LT(usage.time, Milliseconds(limits_for(attack.reason).time) + Milliseconds(50));
  }
  // Five in a hundred more than the limit, and what the neighbours and the run take.
  EXPECT_LT(usage.memory, kMemory + kMemory / 20);
#endif
}

std::vector<RuleAttack> attacks_on(bool huge_run) {
  std::vector<RuleAttack> attacks = rule_attacks();
  std::erase_if(attacks, [&](const RuleAttack& attack) { return attack.is_huge != huge_run; });
  return attacks;
}

INSTANTIATE_TEST_SUITE_P(Files, RuleAttacks, ::testing::ValuesIn(attacks_on(false)),
                         [](const auto& row) { return row.param.name; });
// Behind the others: what a huge run leaves of the process's memory changes what is measured.
INSTANTIATE_TEST_SUITE_P(HugeRun, RuleAttacks, ::testing::ValuesIn(attacks_on(true)),
                         [](const auto& row) { return row.param.name; });

TEST(RuleAttacks, there_are_many_at_every_place_and_each_is_stopped_by_something) {
  std::map<std::string, int> reasons;
  std::map<std::string, int> places;
  for (const RuleAttack& attack : rule_attacks()) {
    ++reasons[attack.reason];
    ++places[attack.place];
  }
  EXPECT_EQ(reasons.size(), 6U);
  for (const auto& [reason, count] : reasons) EXPECT_GE(count, 5) << reason;
  EXPECT_EQ(places.size(), 6U);
  for (const auto& [place, count] : places) EXPECT_GE(count, 4) << place;
}

}  // namespace
}  // namespace cupel::testing
