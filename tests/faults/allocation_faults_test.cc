// Every allocation on the way of a training's values to the store fails once, and each time
// training goes on and what is left of the run is true.

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cupel/store/memory_store.h"
#include "faults/failing_allocations.h"
#include "writer/small_training.h"

namespace cupel::testing {
namespace {

// Ends the program, naming the case, when that takes too long: a deadlock is a failure.
class Deadline {
 public:
  explicit Deadline(std::int64_t number) : number_(number), watch_([this] { watch(); }) {}
  ~Deadline() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::seconds(60), [this] { return over_; })) return;
    std::fprintf(stderr, "deadlock where allocation %lld fails\n", static_cast<long long>(number_));
    std::abort();
  }

  const std::int64_t number_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::jthread watch_;
};

struct Sweep {
  const char* name;
  bool lasting = false;
  Commit commit = Commit::Step;
  std::int64_t stride = 1;
};

class AllocationFaults : public ::testing::TestWithParam<Sweep> {
 protected:
  AllocationFaults() { options.commit = GetParam().commit; }

  std::string outcome_of(std::int64_t which) const {
    const auto store = std::make_shared<MemoryStore>();
    const Deadline deadline(which);
    Outcome outcome;
    FailingAllocations allocations(which, GetParam().lasting);
    train(training, options, store, outcome, [&] { allocations.stop(); });
    if (which < 0 && outcome.report.disabled) return "disabled without a fault";
    // Without memory nothing can be told, and before the first step there is no run to tell it in.
    const bool tells = !GetParam().lasting && outcome.acknowledged >= 0;
    return judge(training, outcome, store, tells, !GetParam().lasting);
  }

  const SmallTraining training{3};
  HookOptions options = SmallTraining::options();
};

TEST_P(AllocationFaults, training_goes_on_whichever_fails_and_what_was_acknowledged_is_there) {
  ASSERT_EQ(outcome_of(-1), "");  // what is made once in a process is there afterwards
  ASSERT_EQ(outcome_of(-1), "");
  const std::int64_t in_a_good_run = FailingAllocations::count();
  const char* const stride_text = std::getenv("CUPEL_FAULT_STRIDE");
  const std::int64_t stride = stride_text != nullptr ? std::atoll(stride_text) : GetParam().stride;
  const std::int64_t spared_before = FailingAllocations::spared_for_arrow();
  std::int64_t cases = 0;
  for (std::int64_t which = 0; which < in_a_good_run; which += stride, ++cases) {
    ASSERT_EQ(outcome_of(which), "") << "allocation " << which << " of " << in_a_good_run;
  }
  cases -= FailingAllocations::spared_for_arrow() - spared_before;
  std::printf("%lld of %lld allocations have failed; others are Arrow's own or were passed over\n",
              static_cast<long long>(cases), static_cast<long long>(in_a_good_run));
  RecordProperty("cases", static_cast<int>(cases));
}

INSTANTIATE_TEST_SUITE_P(
    All, AllocationFaults,
    ::testing::Values(Sweep{"once"}, Sweep{"lasting", true, Commit::Step, 3},
                      Sweep{"once_in_the_background", false, Commit::Background, 3},
                      Sweep{"lasting_in_the_background", true, Commit::Background, 3}),
    [](const auto& sweep) { return std::string(sweep.param.name); });

}  // namespace
}  // namespace cupel::testing
