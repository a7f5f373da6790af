// Every call that the writer makes of its store fails once, and each time training goes on and what
// is left of the run is true.

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cupel/store/memory_store.h"
#include "faulty_store.h"
#include "small_training.h"

namespace cupel::testing {
namespace {

struct Sweep {
  const char* name;
  Sync sync = Sync::Seal;
  Commit commit = Commit::Step;
  StoreFault fault = {};
  Existing existing = Existing::Continue;
};

class StoreFaults : public ::testing::TestWithParam<Sweep> {
 protected:
  StoreFaults() {
    options.sync = GetParam().sync;
    options.commit = GetParam().commit;
    options.existing = GetParam().existing;
  }

  // Trains with the call of that number failing; what is to be replaced is there.
  std::string outcome_of(std::int64_t call, std::int64_t& calls) const {
    const auto inner = std::make_shared<MemoryStore>();
    if (options.existing == Existing::Replace) {
      Outcome before;
      train(training, options, inner, before, [] {});
    }
    StoreFault fault = GetParam().fault;
    fault.call = call;
    const auto store = std::make_shared<FaultyStore>(inner, fault);
    Outcome outcome;
    train(training, options, store, outcome, [] {});
    calls = store->calls();
    const std::string failed = store->failed();
    if (call < 0 && outcome.report.disabled) return "disabled without a fault";
    if (!outcome.constructed && !outcome.refusal_is_ours && !fault.foreign)
      return failed + ": the constructor threw " + outcome.refusal;
    // Nothing can be said where nothing can be written: before the first step, for good, or behind
    // what an append to the index has left.
    const bool can_tell = !fault.lasting && !failed.starts_with("put collections/") &&
                          !(failed.starts_with("append index/") && fault.done != Done::Nothing);
    const std::string defect = judge(training, outcome, inner, can_tell, true);
    return defect.empty() ? "" : failed + ": " + defect;
  }

  const SmallTraining training{5};
  HookOptions options = SmallTraining::options();
};

TEST_P(StoreFaults, training_goes_on_whichever_call_fails_and_what_was_acknowledged_is_there) {
  std::int64_t in_a_good_run = 0;
  ASSERT_EQ(outcome_of(-1, in_a_good_run), "");
  for (std::int64_t call = 0; call < in_a_good_run; ++call) {
    std::int64_t calls = 0;
    EXPECT_EQ(outcome_of(call, calls), "") << "call " << call << " of " << in_a_good_run;
  }
  std::printf("%d calls, each of which has failed\n", static_cast<int>(in_a_good_run));
  RecordProperty("calls", static_cast<int>(in_a_good_run));
}

INSTANTIATE_TEST_SUITE_P(
    All, StoreFaults,
    ::testing::Values(
        Sweep{"once"}, Sweep{"once_and_done", {}, {}, {.done = Done::All}},
        Sweep{"once_and_torn", {}, {}, {.done = Done::Part}},
        Sweep{"lasting", {}, {}, {.lasting = true}},
        Sweep{"lasting_and_done", {}, {}, {.lasting = true, .done = Done::All}},
        Sweep{"lasting_and_torn", {}, {}, {.lasting = true, .done = Done::Part}},
        Sweep{"once_with_syncs", Sync::Step},
        Sweep{"lasting_with_syncs", Sync::Step, {}, {.lasting = true}},
        Sweep{"once_in_the_background", Sync::Seal, Commit::Background},
        Sweep{"lasting_in_the_background", Sync::Step, Commit::Background, {.lasting = true}},
        Sweep{"once_without_syncs", Sync::Off, Commit::Background, {.done = Done::Part}},
        Sweep{"once_by_something_foreign", Sync::Step, Commit::Step, {.foreign = true}},
        Sweep{"once_where_a_run_is_replaced", Sync::Seal, Commit::Step, {}, Existing::Replace}),
    [](const auto& sweep) { return std::string(sweep.param.name); });

}  // namespace
}  // namespace cupel::testing
