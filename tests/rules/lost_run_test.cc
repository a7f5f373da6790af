// Runs that are removed, or replaced by others, while a runner judges them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "cupel/writer/hook.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A runner over a run of two steps that goes on; something happens to the run at step 1.
class LostRun : public ::testing::TestWithParam<WatchMethod> {
 protected:
  void judge(const std::function<void()>& happening, RunnerOptions options = {}) {
    writer.save_steps({0, 1});
    Trial trial(store);
    RuleRunner runner(trial, options);
    runner.add(always(trial));
    runner.add(never(trial));
    EXPECT_THROW(runner.run([&](const VerdictLine& line) {
      lines.push_back(brief(line));
      message = line.message;
      if (line.step == 1 && !line.final_line) happening();
    }),
                 FormatError);
  }

  const ScratchDirectory directory;
  const std::string path = (directory / "run").string();
  const std::shared_ptr<LocalStore> store = std::make_shared<LocalStore>(path, GetParam());
  WorkerWriter writer{*store};
  Lines lines;
  std::string message;  // of the last line
};

INSTANTIATE_TEST_SUITE_P(Watched, LostRun,
                         ::testing::Values(WatchMethod::Notify, WatchMethod::Poll),
                         [](const auto& row) {
                           return row.param == WatchMethod::Notify ? "by_notifications"
                                                                   : "by_looking";
                         });

TEST_P(LostRun, that_is_removed_ends_all_rules_with_an_error) {
  judge([&] { fs::remove_all(path); });
  EXPECT_THAT(lines, ElementsAre("0 Always IssuesFound", "1 Always IssuesFound", "end Always Error",
                                 "end Never Error"));
  EXPECT_THAT(message, HasSubstr("gone"));
}

TEST_P(LostRun, that_is_removed_ends_all_rules_before_they_are_idle) {
  judge([&] { fs::remove_all(path); }, {.idle_timeout = std::chrono::hours(1)});
  EXPECT_THAT(lines.back(), "end Never Error");
}

TEST_P(LostRun, that_is_replaced_is_judged_no_further) {
  judge([&] {
    HookOptions options;
    options.out_dir = path;
    options.existing = Existing::Replace;
    options.worker = "worker_0";
    options.sync = Sync::Off;
    Hook hook(options);
    for (int step = 0; step < 20; ++step) {
      hook.next_step();
      hook.save_scalar("loss", step);
    }
  });
  EXPECT_THAT(lines, ElementsAre("0 Always IssuesFound", "1 Always IssuesFound", "end Always Error",
                                 "end Never Error"));
}

}  // namespace
}  // namespace cupel::testing
