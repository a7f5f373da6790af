// What a person reads while `cupel watch` runs: incidents and the line that changes.

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli_fixture.h"
#include "incident_text.h"
#include "status_line.h"
#include "watch_status.h"

namespace cupel::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A run whose gradients vanish at some steps.
class WatchIncidents : public CliTest {
 protected:
  void save(std::int64_t step, std::vector<double> abs_means) {
    std::vector<SavedTensor> tensors;
    for (std::size_t i = 0; i < abs_means.size(); ++i)
      tensors.push_back(reduced("g" + std::to_string(i + 1), "abs_mean", abs_means[i]));
    writer_.save(step, std::move(tensors));
  }
  Ran watch(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"watch", path(), "--rule", "VanishingGradient"});
    return run(more);
  }
  static std::string without_table(const std::string& out) {
    return out.substr(0, out.find("\nRULE"));
  }

  void SetUp() override { writer_.collection("gradients", {"g"}); }

  WorkerWriter writer_{store_};
};

TEST_F(WatchIncidents, are_one_line_where_they_begin_and_one_where_they_are_over) {
  save(0, {1, 1});
  save(10, {1e-8, 2e-9});
  for (const std::int64_t step : {20, 30}) save(step, {1e-9, 1});
  writer_.save(35, {scalar("loss", 1)});  // where the rule has nothing to judge
  save(40, {1, 1});
  save(50, {1e-9, 1});
  writer_.finish();
  const Ran ran = watch();
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_EQ(without_table(ran.out),
            "step 10 TRAIN  VanishingGradient  begins in 2 tensors, worst g2  abs_mean 2e-09 < "
            "1e-07\n"
            "step 40 TRAIN  VanishingGradient  is over after 3 steps, 10 to 30, with 4 findings\n"
            "step 50 TRAIN  VanishingGradient  begins in 1 tensor, g1  abs_mean 1e-09 < 1e-07\n");
  EXPECT_THAT(ran.out, HasSubstr("\nVanishingGradient  IssuesFound          10            4"));
}

TEST_F(WatchIncidents, are_every_finding_with_all) {
  save(0, {1e-8, 2e-9});
  save(10, {1e-9, 1});
  save(20, {1, 1});
  writer_.finish();
  EXPECT_EQ(without_table(watch({"--all"}).out),
            "step 0 TRAIN  VanishingGradient  g1  abs_mean 1e-08 < 1e-07\n"
            "step 0 TRAIN  VanishingGradient  g2  abs_mean 2e-09 < 1e-07\n"
            "step 10 TRAIN  VanishingGradient  g1  abs_mean 1e-09 < 1e-07\n");
}

TEST_F(WatchIncidents, are_numbers_of_all_findings_in_json) {
  save(0, {1e-8});
  save(10, {1e-9});
  save(20, {1});
  save(30, {1e-9});
  writer_.finish();
  const Ran ran = watch({"--json"});
  EXPECT_EQ(ran.err, "");
  const std::vector<Json> lines = ran.json_lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["incident"], 1);
  EXPECT_EQ(lines[1]["incident"], 1);
  EXPECT_EQ(lines[2]["incident"], 2);
  EXPECT_FALSE(lines[3].contains("incident"));
}

TEST_F(WatchIncidents, that_go_on_from_an_earlier_watch_are_not_begun_again) {
  const std::vector<std::string> out = {"--no-wait", "--out", file("lines")};
  save(0, {1e-8});
  EXPECT_THAT(watch(out).out, StartsWith("step 0 TRAIN  VanishingGradient  begins in 1 tensor"));
  save(10, {1e-9});
  EXPECT_THAT(watch(out).out, StartsWith("RULE "));
  save(20, {1});
  writer_.finish();
  EXPECT_EQ(without_table(watch(out).out),
            "step 20 TRAIN  VanishingGradient  is over after 2 steps, 0 to 10, with 2 findings\n");
}

TEST_F(WatchIncidents, come_behind_the_explanations_of_their_step) {
  save(0, {1e-8});
  save(10, {1});
  writer_.finish();
  EXPECT_EQ(without_table(watch({"--explain"}).out),
            "step 0 TRAIN  VanishingGradient  g1  read abs_mean (saved): 1e-08 < 1e-07, fired\n"
            "step 0 TRAIN  VanishingGradient  begins in 1 tensor, g1  abs_mean 1e-08 < 1e-07\n"
            "step 10 TRAIN  VanishingGradient  g1  read abs_mean (saved): 1 < 1e-07, fine\n"
            "step 10 TRAIN  VanishingGradient  is over after 1 step, 0, with 1 finding\n");
}

VerdictLine finding_line(std::vector<Finding> findings) {
  VerdictLine line;
  line.name = "R";
  line.step = 3;
  line.mode = Mode::Eval;
  for (Finding& finding : findings)
    if (finding.message.empty()) finding.message = "m";
  line.tensors = std::move(findings);
  return line;
}

TEST(IncidentText, names_the_finding_that_is_furthest_beyond_its_threshold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto worst = [](std::vector<double> values, double threshold) {
    std::vector<Finding> findings;
    for (const double value : values)
      findings.push_back({.tensor = "t" + std::to_string(findings.size()),
                          .value = value,
                          .threshold = threshold});
    const std::string text = begin_text(finding_line(findings));
    return text.substr(text.find("worst ") + 6, 2);
  };
  EXPECT_EQ(worst({5e-8, 1e-9, 2e-8}, 1e-7), "t1");  // below
  EXPECT_EQ(worst({1e-9, 0}, 1e-7), "t1");           // gone
  EXPECT_EQ(worst({11, 400, 12}, 10), "t1");         // above
  EXPECT_EQ(worst({1, 3, 2}, 0), "t1");              // counts
  EXPECT_EQ(worst({1e300, kInfinity, 1}, 10), "t1");
  EXPECT_EQ(worst({1e300, kNaN, 1}, 10), "t1");
  EXPECT_EQ(worst({1, 1}, 10), "t0");
  EXPECT_EQ(worst({1, 2}, kNaN), "t0");
}

TEST(IncidentText, counts_tensors_and_not_workers) {
  VerdictLine line = finding_line({{.tensor = "w", .worker = "a", .value = 2, .threshold = 1},
                                   {.tensor = "w", .worker = "b", .value = 9, .threshold = 1}});
  line.num_workers = 2;
  line.missing_workers = {"c"};
  EXPECT_EQ(begin_text(line), "step 3 EVAL  R  begins in 1 tensor, w (b)  m, judged without c");
  line.findings_beyond = 7;
  EXPECT_THAT(begin_text(line), HasSubstr("begins in at least 1 tensor, w (b)"));
}

TEST(IncidentText, of_findings_without_a_tensor_is_their_message) {
  EXPECT_EQ(begin_text(finding_line({{.message = "no new data"}})),
            "step 3 EVAL  R  begins: no new data");
  VerdictLine thrown = finding_line({});
  thrown.message = "condition met";
  EXPECT_EQ(begin_text(thrown), "step 3 EVAL  R  begins: condition met");
}

TEST(IncidentText, keeps_control_characters_from_the_terminal) {
  VerdictLine line = finding_line({{.tensor = "a\x1b[2J", .message = "b\x1b"}});
  line.name = "c\x1b";
  EXPECT_EQ(begin_text(line), R"(step 3 EVAL  c\x1b  begins in 1 tensor, a\x1b[2J  b\x1b)");
  EXPECT_THAT(over_text({.name = "c\x1b"}), Not(HasSubstr("\x1b")));
}

TEST(StatusLine, is_cut_to_the_terminal_between_characters) {
  std::ostringstream screen;
  StatusLine line({.out = &screen, .columns = 4});
  line.show("aäöü");
  EXPECT_EQ(screen.str(), "\raäö\x1b[K\r");
}

TEST(WatchStatus, names_steps_lag_findings_and_age) {
  const CommitTime now{1000h};
  RunnerProgress progress;
  EXPECT_EQ(watch_status_text(progress, 0, {}, now), "no step yet");
  progress.newest_step = 1200;
  progress.steps_judged = 1180;
  progress.steps_behind = 20;
  EXPECT_EQ(watch_status_text(progress, 3, now - 2s, now),
            "newest step 1200, 1180 judged, 20 behind, 3 findings, last step 2 s ago");
  progress.steps_behind = 0;
  EXPECT_EQ(watch_status_text(progress, 1, now - 5min, now),
            "newest step 1200, 1180 judged, 1 finding, last step 5 min ago");
  EXPECT_THAT(watch_status_text(progress, 1, now - 5h, now), EndsWith("last step 5 h ago"));
  EXPECT_THAT(watch_status_text(progress, 1, now + 1s, now), EndsWith("last step 0 s ago"));
}

TEST(WatchStatus, steps_aside_for_what_is_printed) {
  std::stringstream screen;  // of the terminal and of the output
  std::mutex mutex;
  std::condition_variable drawn;
  int times = 0;
  {
    WatchStatus status(
        [&] {
          const std::lock_guard lock(mutex);
          ++times;
          drawn.notify_all();
          return std::string("status");
        },
        {.out = &screen});
    {
      std::unique_lock lock(mutex);
      ASSERT_TRUE(drawn.wait_for(lock, 30s, [&] { return times > 0; }));
    }
    status.step_aside([&] { screen << "a line\n"; });
  }
  EXPECT_THAT(screen.str(), StartsWith("\rstatus\x1b[K\r\r\x1b[Ka line\n"));
}

TEST(WatchStatus, is_not_there_without_a_terminal) {
  WatchStatus status([]() -> std::string { throw std::logic_error("asked"); }, {});
  bool written = false;
  status.step_aside([&] { written = true; });
  EXPECT_TRUE(written);
}

}  // namespace
}  // namespace cupel::testing
