// Kills watchers at random instants, while the run grows and after it has ended, and starts each
// again with the same command line: what they leave in their files is what one left alone says, and
// each action is carried out once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "program.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using Clock = std::chrono::steady_clock;
using Lines = std::vector<std::string>;
using std::chrono::microseconds;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) throw std::runtime_error("a torn line: " + text.substr(begin));
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::size_t count_of(std::string_view part, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

int wanted_kills() {
  const char* const text = std::getenv("CUPEL_KILL_ROUNDS");
  return text != nullptr ? std::atoi(text) : 200;
}

// Where a kill falls, as the files tell.
enum Stage { kStarting, kSaying, kActing, kWaiting, kStages };
constexpr std::array<const char*, kStages> kStageNames = {
    "while starting", "between lines and state", "while actions were under way", "while waiting"};

constexpr std::size_t kRules = 5;

class KilledWatch : public ::testing::Test {
 protected:
  KilledWatch() {
    fs::create_directories(directory_);
    // Shells that a killed watcher left become our children, so that they can be waited for.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~KilledWatch() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    fs::remove_all(directory_);
  }

  static Lines with_rules(Lines command) {
    for (const char* const rule :
         {"ExplodingTensor", "VanishingGradient", "LossNotDecreasing,num_steps=1",
          "UnchangedTensor,tensor_regex=frozen", "WeightUpdateRatio"})
      command.insert(command.end(), {"--rule", rule});
    return command;
  }
  Lines command() const {
    return with_rules(
        {CUPEL_COMMAND, "watch", run_, "--json", "--jobs", "2", "--out", out_, "--action", "stop",
         "--action",
         "exec:sleep 0.005; printf '%s\\n' \"$CUPEL_INCIDENT\" >> " + done_ + "; sleep 0.005"});
  }
  std::unique_ptr<Program> train() const {
    return std::make_unique<Program>(Lines{CUPEL_WATCHED_TRAINER, run_});
  }
  static void go_on(Program& trainer, std::uint64_t steps) {
    if (steps > 0) trainer.write(std::string(steps, '.'));
  }
  std::uint64_t random(std::uint64_t below) { return random_() % below; }

  // Whenever one looks, the status is whole.
  void look_at_status() const {
    const std::string text = text_of(out_ + ".status.json");
    if (text.empty()) return;  // it is not there yet
    ASSERT_EQ(ordered_json::parse(text).size(), kRules);
  }
  void let_pass(microseconds time) const {
    for (const auto until = Clock::now() + time; Clock::now() < until;) look_at_status();
  }
  fs::file_time_type state_time() const {
    std::error_code absent;
    return fs::last_write_time(out_ + ".state", absent);
  }

  // Starts a watcher, lets the run grow by so many steps, and kills the watcher: any time after its
  // start, or soon after it has begun to judge. Returns whether it was still there.
  bool watch_and_kill(Program* trainer, std::uint64_t steps) {
    const auto time_before = state_time();
    Program watcher(command());
    if (random(3) > 0) {
      const auto patience = Clock::now() + std::chrono::milliseconds(kPatienceMs);
      while (state_time() == time_before && Clock::now() < patience) look_at_status();
    }
    if (trainer != nullptr) go_on(*trainer, steps);
    let_pass(microseconds(random(random(4) > 0 ? 25'000 : 200'000)));
    if (!watcher.kill()) return false;
    ++fell_[stage(time_before)];
    return true;
  }
  Stage stage(fs::file_time_type time_before) const {
    if (state_time() == time_before) return kStarting;
    const ordered_json state = ordered_json::parse(text_of(out_ + ".state"));
    if (fs::file_size(out_) != state["bytes"].get<std::uint64_t>()) return kSaying;
    return state["pending"].empty() ? kWaiting : kActing;
  }
  void report(const std::string& what) {
    std::string text = what;
    for (std::size_t i = 0; i < kStages; ++i)
      text += std::string(i == 0 ? ": " : ", ") + std::to_string(fell_[i]) + " " + kStageNames[i];
    std::printf("%s\n", text.c_str());
    RecordProperty("kills", text);
  }

  // A watcher that is left alone until the run has ended; the exit code. Nobody is left after it.
  int watch_to_the_end() {
    Program watcher(command());
    watcher.rest();
    const int code = watcher.end();
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    return code;
  }
  // What one says of the finished run that nobody disturbs, but for the times.
  Lines undisturbed() const {
    Program watcher(with_rules({CUPEL_COMMAND, "watch", run_, "--json", "--no-wait"}));
    return without_times(watcher.rest());
  }
  Lines said(std::string_view status, bool wanted) const {
    Lines lines;
    for (const std::string& line : lines_of(text_of(out_)))
      if ((ordered_json::parse(line)["status"] == status) == wanted) lines.push_back(line);
    return lines;
  }

  fs::path directory_ = fs::temp_directory_path() / ("cupel-killed-" + std::to_string(::getpid()));
  std::string run_ = (directory_ / "run").string();
  std::string out_ = (directory_ / "lines.jsonl").string();
  std::string done_ = (directory_ / "incidents").string();
  std::array<int, kStages> fell_{};
  std::mt19937_64 random_{static_cast<std::uint64_t>(
      std::getenv("CUPEL_KILL_SEED") != nullptr ? std::atoll(std::getenv("CUPEL_KILL_SEED"))
                                                : Clock::now().time_since_epoch().count())};
};

// The incidents that lines tell of: "Rule/step".
std::set<std::string> incidents_of(const Lines& lines) {
  std::map<std::string, std::int64_t> fired_at;
  std::set<std::string> incidents;
  for (const std::string& text : lines) {
    const ordered_json line = ordered_json::parse(text);
    if (line.contains("final") || line["status"] != "IssuesFound") continue;
    const std::string name = line["name"];
    const std::int64_t step = line["step"];
    const auto before = fired_at.find(name);
    if (before == fired_at.end() || before->second != step - 1)
      incidents.insert(name + "/" + std::to_string(step));
    fired_at[name] = step;
  }
  return incidents;
}

// What the second lacks of the first.
Lines beyond(const std::multiset<std::string>& texts, const std::multiset<std::string>& of) {
  Lines result;
  std::ranges::set_difference(texts, of, std::back_inserter(result));
  return result;
}

TEST_F(KilledWatch, leaves_the_lines_of_an_undisturbed_one_and_does_each_action_once) {
  const int wanted = wanted_kills();
  int kills = 0, rounds = 0;
  std::unique_ptr<Program> trainer = train();
  go_on(*trainer, 2);
  for (; kills < wanted * 9 / 10; ++rounds) {
    ASSERT_LT(rounds, 2 * wanted) << "watchers end by themselves";
    go_on(*trainer, random(2));
    if (watch_and_kill(trainer.get(), random(2))) ++kills;
  }
  EXPECT_EQ(trainer->end(), 0);
  trainer.reset();
  for (int left = wanted - kills; left > 0; --left, ++rounds)
    if (watch_and_kill(nullptr, 0)) ++kills;
  report(std::to_string(kills) + " kills of " + std::to_string(rounds) + " watchers");
  EXPECT_GT(kills, rounds * 3 / 4);
  for (const Stage stage : {kStarting, kActing})
    EXPECT_GT(fell_[stage], kills / 20) << kStageNames[stage];

  EXPECT_EQ(watch_to_the_end(), 1);
  const Lines lines = undisturbed();
  EXPECT_THAT(without_times(said("Action", false)), ElementsAreArray(lines));

  const std::set<std::string> incidents = incidents_of(lines);
  EXPECT_GT(incidents.size(), static_cast<std::size_t>(wanted) / 5);
  const ordered_json state = ordered_json::parse(text_of(out_ + ".state"));
  std::multiset<std::string> should_be_done, should_be_told, told;
  for (const std::string& incident : incidents) {
    should_be_done.insert(state["runs"][0].get<std::string>() + "/" + incident + "/1");
    should_be_told.insert(incident + " stop done");
    should_be_told.insert(incident + " exec done");
  }
  for (const std::string& text : said("Action", true)) {
    const ordered_json line = ordered_json::parse(text);
    const auto action = line["action"].get<std::string>().substr(0, 4);
    told.insert(line["name"].get<std::string>() + "/" + line["step"].dump() + " " + action + " " +
                (line["outcome"] == "done" ? "done" : line["message"].get<std::string>()));
  }
  const Lines done = lines_of(text_of(done_));
  EXPECT_THAT(beyond(std::multiset<std::string>(done.begin(), done.end()), should_be_done),
              IsEmpty());
  EXPECT_THAT(beyond(should_be_done, std::multiset<std::string>(done.begin(), done.end())),
              IsEmpty());
  EXPECT_THAT(beyond(told, should_be_told), IsEmpty());
  EXPECT_THAT(beyond(should_be_told, told), IsEmpty());
  EXPECT_TRUE(fs::exists(run_ + "/stop_training"));
}

TEST_F(KilledWatch, tells_each_restart_of_the_training_once) {
  constexpr int kAttempts = 6;
  const int kills = wanted_kills() / (2 * kAttempts);
  std::unique_ptr<Program> trainer;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (trainer) trainer->kill();
    trainer = train();
    // Further than the attempt before.
    go_on(*trainer, static_cast<std::uint64_t>(20 * (attempt + 1)));
    for (int i = 0; i < kills; ++i) watch_and_kill(trainer.get(), i == kills / 2 ? 10 : 0);
    Program watcher(command());
    const auto patience = Clock::now() + std::chrono::milliseconds(kPatienceMs);
    const auto is_told = [&] {
      return count_of("\"status\":\"Rewound\"", text_of(out_)) >=
             static_cast<std::size_t>(attempt) * kRules;
    };
    while (!is_told() && Clock::now() < patience) let_pass(microseconds(1000));
    watcher.kill();
  }
  EXPECT_EQ(trainer->end(), 0);
  trainer.reset();
  report("of the watchers were killed");
  EXPECT_EQ(watch_to_the_end(), 1);
  std::map<std::string, int> rewound;
  for (const std::string& line : said("Rewound", true))
    ++rewound[ordered_json::parse(line)["name"]];
  EXPECT_EQ(rewound.size(), kRules);
  for (const auto& [name, times] : rewound) EXPECT_EQ(times, kAttempts - 1) << name;
}

}  // namespace
}  // namespace cupel
