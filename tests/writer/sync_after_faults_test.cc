// Every call that the writer makes of its store fails, as on a disk that was full once. Sealing
// what is left of the run then finishes, and finishes again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cupel/store/local_store.h"
#include "cupel/trial/verify_run.h"
#include "cupel/writer/seal_run.h"
#include "faulty_store.h"
#include "small_training.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

struct FaultToSync {
  const char* name;
  StoreFault fault = {};
  Sync sync = Sync::Off;
};

class SyncAfterFaults : public ::testing::TestWithParam<FaultToSync> {
 protected:
  // What is wrong with the run after the call of that number has failed and the run was sealed.
  std::string outcome_of(std::int64_t call, std::int64_t& calls) const {
    const ScratchDirectory directory;
    const auto run = std::make_shared<LocalStore>(directory.path());
    StoreFault fault = GetParam().fault;
    fault.call = call;
    const auto store = std::make_shared<FaultyStore>(run, fault);
    HookOptions options = SmallTraining::options();
    options.sync = GetParam().sync;
    Outcome outcome;
    train(training, options, store, outcome, [] {});
    calls = store->calls();
    const std::string failed = store->failed() + ": ";
    try {
      for (const bool is_first : {true, false}) {
        const SealReport report = seal_run(directory.path());
        if (!report.damaged.empty()) return failed + report.damaged.front();
        if (!is_first && report.sealed + report.removed > 0) return failed + "sealed twice";
      }
      const VerifyReport report = verify_run(*run);
      if (!report.findings.empty())
        return failed + report.findings.front().file + ": " + report.findings.front().problem;
      const Trial trial(run);
      if (std::string defect = training.examine(trial); !defect.empty()) return failed + defect;
      if (static_cast<std::int64_t>(trial.steps().size()) <= outcome.acknowledged)
        return failed + "acknowledged steps are not there";
    } catch (const MissingCollectionFiles&) {
      if (outcome.acknowledged >= 0) return failed + "there is no run";
    }
    return "";
  }

  const SmallTraining training{5};
};

TEST_P(SyncAfterFaults, whichever_call_has_failed_the_run_can_be_sealed) {
  std::int64_t in_a_good_run = 0;
  ASSERT_EQ(outcome_of(-1, in_a_good_run), "");
  for (std::int64_t call = 0; call < in_a_good_run; ++call) {
    std::int64_t calls = 0;
    EXPECT_EQ(outcome_of(call, calls), "") << "call " << call << " of " << in_a_good_run;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SyncAfterFaults,
    ::testing::Values(FaultToSync{"once"}, FaultToSync{"once_and_done", {.done = Done::All}},
                      FaultToSync{"once_and_torn", {.done = Done::Part}},
                      FaultToSync{"once_with_syncs", {}, Sync::Step},
                      FaultToSync{"lasting", {.lasting = true}},
                      FaultToSync{"lasting_and_torn", {.lasting = true, .done = Done::Part}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace cupel::testing
