// Each file of attacks/ is one attempt to get out, or to use more than is allowed; its first line
// says what stops it: "-- stopped by: allow-list | instructions | memory | clock | error".

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <map>
#include <string>

#include "scripting/script_attacks.h"
#include "scripting/script_fixture.h"

namespace cupel {
namespace {

using ::testing::AnyOf;
using testing::Attack;
using testing::AttackedScript;
using testing::attacks;
using ::testing::HasSubstr;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t kMemory = std::size_t{8} << 20U;
constexpr auto kNever = std::chrono::minutes(5);

// Only the limit that is to stop it is near.
ScriptLimits limits_for(const std::string& reason) {
  ScriptLimits limits{.instructions = 1'000'000'000'000, .memory = kMemory, .time = kNever};
  if (reason == "instructions") limits.instructions = 500'000;
  if (reason == "clock") limits.time = std::chrono::milliseconds(50);
  return limits;
}

Milliseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

std::size_t peak_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

class Attacks : public ::testing::TestWithParam<Attack> {};

TEST_P(Attacks, is_stopped) {
  const std::string& reason = GetParam().reason;
  const ScriptLimits limits = limits_for(reason);
  AttackedScript script(limits);
  const std::string before = script.run("return 1 + 1");
  const std::size_t peak_before = peak_of_process();

  const Milliseconds begin = cpu_time();
  const ScriptError error = script.error(GetParam().text);
  const Milliseconds taken = cpu_time() - begin;

  if (reason == "allow-list") {
    EXPECT_EQ(error.limit, ScriptLimit::None) << error.what();
    EXPECT_THAT(error.problem, AnyOf(HasSubstr("there is no global"), HasSubstr("a nil value")));
  } else {
    EXPECT_EQ(to_string(error.limit), reason == "error" ? "none" : reason) << error.what();
  }
  EXPECT_NE(error.problem, "there was no error");
  if (reason == "clock") {
    EXPECT_LT(taken, Milliseconds(limits.time) + Milliseconds(50));
  }
  EXPECT_LE(script.state.memory_in_use(), kMemory);
  // Twice the limit: what the C library keeps to itself is not the script's.
  EXPECT_LT(peak_of_process() - peak_before, 2 * kMemory);
  lua_gc(script.state.get(), LUA_GCCOLLECT);
  EXPECT_EQ(script.run("return 1 + 1"), before);
}

INSTANTIATE_TEST_SUITE_P(Script, Attacks, ::testing::ValuesIn(attacks()),
                         [](const auto& row) { return row.param.name; });

TEST(Attacks, there_are_many_and_each_says_what_stops_it) {
  std::map<std::string, int> counts;
  for (const Attack& attack : attacks()) ++counts[attack.reason];
  EXPECT_EQ(counts.size(), 5U);
  for (const auto& [reason, count] : counts) EXPECT_GE(count, 15) << reason;
}

}  // namespace
}  // namespace cupel
