// Rules in Lua: any text; and, from inputs that begin with a byte 1, scripts that are made of the
// bytes behind it. Each is loaded, asked what it needs, and judges a small run within small limits.

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/trial/run_follower.h"
#include "lua_script_maker.h"
#include "trial/trial_fixture.h"

namespace {

using namespace cupel;

constexpr std::size_t kLarge = 3000;
constexpr std::int64_t kSteps = 3;
constexpr ScriptLimits kLimits{.instructions = 200'000,
                               .memory = std::size_t{4} << 20U,
                               .time = std::chrono::milliseconds(100)};

cupel::testing::MemoryRun make_run() {
  using namespace cupel::testing;
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.collection("gradients", {"^gradient/"}).collection("losses", {"^loss$"});
  std::vector<float> large(kLarge);
  for (std::size_t i = 0; i < kLarge; ++i) large[i] = static_cast<float>(i) / 7 - 100;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t step = 0; step < kSteps; ++step)
    writer.save(step, {scalar("loss", 1.0 / static_cast<double>(step + 1)),
                       filled("gradient/fc1.weight", 64, 1e-9F).with("abs_mean", 1e-9),
                       reduced("gradient/fc2.weight", "abs_mean", 5),
                       raw_of("large", large).shaped({30, 100}), raw("strange", {nan, 1, -1}),
                       raw("empty", {}), texts("words", {"a", "bc", ""})});
  return run;
}

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("cupel_fuzz_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
    std::ofstream(path_ / "helper.lua") << "return {answer = 42}";
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string put(std::string_view text) const {
    const std::filesystem::path file = path_ / "rule.lua";
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

template <class Call>
void attempt(Call&& call) {
  try {
    call();
  } catch (const Error&) {
  }
}

void judge(const std::string& path, Trial& trial, bool explaining) {
  const RuleFile file = read_lua_rules(path, kLimits);
  for (const auto& definition : file.definitions) {
    attempt([&] { static_cast<void>(definition->needs()); });
    const auto rule = definition->make(trial);
    RuleEvaluation(*rule).set_explaining(explaining);
    for (std::int64_t step = 0; step < kSteps; ++step)
      attempt([&] {
        static_cast<void>(RuleEvaluation(*rule).at_step(step, RunFollower(trial).snapshot()));
      });
    attempt([&] {
      static_cast<void>(RuleEvaluation(*rule).at_tick(std::chrono::steady_clock::time_point(),
                                                      RunFollower(trial).snapshot()));
    });
    attempt(
        [&] { static_cast<void>(RuleEvaluation(*rule).at_end(RunFollower(trial).snapshot())); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const cupel::testing::MemoryRun run = make_run();
  static Trial trial = run.open();
  static const Folder folder;
  set_log_sink([](LogLevel, std::string_view) {});
  const bool made = size > 0 && data[0] == 1;
  const std::string text = made ? make_lua_script(std::span(data, size).subspan(1))
                                : std::string(reinterpret_cast<const char*>(data), size);
  attempt([&] { judge(folder.put(text), trial, size % 2 == 1); });
  return 0;
}
