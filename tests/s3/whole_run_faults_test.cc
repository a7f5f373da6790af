// A whole run through random faults: a hook saves it to S3 by its spool, and a trial reads it while
// it grows, each by a proxy of its own. Every step must come, with the values that were saved, and
// nothing else; in the end curl fetches the bucket, and what it found is the run.

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "crash/saved_values.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/store/memory_store.h"
#include "cupel/trial/trial.h"
#include "cupel/trial/verify_run.h"
#include "cupel/writer/hook.h"
#include "s3/fault_proxy.h"
#include "s3/fault_schedules.h"
#include "s3/s3_server.h"
#include "store/store_contract.h"

namespace cupel::testing {
namespace {

using crash::SavedTensor;
using namespace std::chrono_literals;

constexpr std::int64_t kLeastSteps = 8;

/// In the index, in a batch with others, and larger than most answers.
const std::vector<SavedTensor>& tensors() {
  static const std::vector<SavedTensor> saved = {
      {"a.weight", 8}, {"b.weight", 300}, {"c.weight", 9000}};
  return saved;
}

/// Every third request meets a fault. Two of them are no faults of a network but lies, by which a
/// hook that believes them waits for a minute: a condition that it did not make, and a second
/// region.
FaultProxy::Schedule run_schedule(unsigned seed) {
  return [schedule = random_schedule(seed), moved = false](const std::string& kind,
                                                           std::size_t number) mutable {
    const Plan plan = schedule(kind, number);
    if (plan.fault == Fault::Precondition && kind == "PUT") return Plan();
    if (plan.fault == Fault::MovedRegion && std::exchange(moved, true)) return Plan();
    return plan;
  };
}

/// Saves steps until enough faults have hit.
class Training {
 public:
  Training(std::shared_ptr<Store> store, const FaultProxy& proxy, std::string spool_dir)
      : store_(std::move(store)), proxy_(proxy), spool_dir_(std::move(spool_dir)) {}

  void run() {
    const std::unique_ptr<Hook> hook = begin();
    hook->set_mode(Mode::Train);
    for (std::int64_t step = 0; step < kLeastSteps || proxy_.hits().size() < kLeastFaults; ++step) {
      hook->next_step();
      steps_ = step + 1;
      for (const SavedTensor& tensor : tensors()) {
        const std::vector<float> values = crash::value_of(tensor, step);
        hook->save_tensor(tensor.name, TensorView(values.data(), {values.size()}));
      }
    }
    const HookReport report = hook->close();
    EXPECT_THAT(report.problems, ::testing::IsEmpty());
    EXPECT_EQ(report.steps_committed, steps_);
    EXPECT_EQ(report.steps_not_uploaded, 0);
  }

  /// Steps that have begun.
  std::int64_t steps() const { return steps_; }

 private:
  /// A hook tells in its constructor of a store that cannot be asked.
  std::unique_ptr<Hook> begin() const {
    HookOptions options;
    options.spool_dir = spool_dir_;
    options.include_collections = {"weights"};
    options.save_config = {.save_interval = 1};
    options.segment_bytes = 50'000;  // two steps
    options.sync = Sync::Off;
    options.close_timeout = 2min;
    for (;;) try {
        return std::make_unique<Hook>(options, store_);
      } catch (const StoreError&) {
      }
  }

  const std::shared_ptr<Store> store_;
  const FaultProxy& proxy_;
  const std::string spool_dir_;
  std::atomic<std::int64_t> steps_ = 0;
};

void expect_values(Trial& trial, std::int64_t step) {
  for (const SavedTensor& tensor : tensors()) {
    const TensorValue value = trial.tensor(tensor.name).value(step);
    const auto read = value.as<float>();
    EXPECT_TRUE(std::ranges::equal(read, crash::value_of(tensor, step)))
        << tensor.name << " at step " << step;
  }
}

/// Reads a run while it grows, and every value once; nothing of it may be there before it is saved.
class Reading {
 public:
  Reading(std::shared_ptr<Store> store, const Training& training)
      : store_(std::move(store)), training_(training) {}

  std::vector<std::int64_t> run() {
    while (!attempt([&] { open(); })) {
    }
    for (bool ended = false; !ended && !::testing::Test::HasFailure();) {
      attempt([&] {
        trial_->refresh();
        ended = trial_->ended();
        for (const std::int64_t step : trial_->steps()) read_once(step);
      }) ||
          (ended = false);
    }
    std::vector<std::int64_t> steps;
    while (!attempt([&] { steps = trial_->steps(); })) {
    }
    return steps;
  }
  int failures() const { return failures_; }

 private:
  void open() {
    TrialOptions options;
    options.wait_for_run = 1min;
    options.polling.min_interval = 1ms;
    options.polling.max_interval = 20ms;
    trial_ = std::make_unique<Trial>(store_, options);
  }
  void read_once(std::int64_t step) {
    if (read_.contains(step)) return;
    EXPECT_LT(step, training_.steps()) << "phantom";
    expect_values(*trial_, step);
    read_.insert(step);
  }
  /// False when the store could not be asked; any other error is a wrong answer.
  template <class Work>
  bool attempt(Work work) {
    try {
      work();
      return true;
    } catch (const StoreError&) {
      ++failures_;
      return false;
    }
  }

  const std::shared_ptr<Store> store_;
  const Training& training_;
  std::unique_ptr<Trial> trial_;
  std::set<std::int64_t> read_;
  int failures_ = 0;
};

class WholeRun : public FaultSchedules {
 protected:
  void save_and_read(unsigned seed, const std::string& bucket);

 private:
  static std::shared_ptr<Store> store_at(const FaultProxy& proxy, const std::string& bucket) {
    const S3Options options = impatient_options(proxy.endpoint());
    return std::make_shared<S3Store>(S3Location{bucket, "runs/deep"}, options);
  }
  /// The bucket as curl sees it.
  std::shared_ptr<MemoryStore> fetched(const std::string& bucket) {
    const std::string prefix = "runs/deep/";
    auto store = std::make_shared<MemoryStore>();
    for (const auto& [object, content] : server().curl().objects(bucket)) {
      EXPECT_TRUE(object.starts_with(prefix)) << object;
      store->put(object.substr(prefix.size()), bytes_of(content));
    }
    return store;
  }
};

void WholeRun::save_and_read(unsigned seed, const std::string& bucket) {
  const ScratchDirectory spool;
  FaultProxy writing(server().port(), run_schedule(2 * seed));
  FaultProxy reading(server().port(), run_schedule(2 * seed + 1));
  Training training(store_at(writing, bucket), writing, spool.path());
  Reading reader(store_at(reading, bucket), training);
  std::vector<std::int64_t> read;
  {
    const std::jthread trainer([&] { training.run(); });
    read = reader.run();
  }
  tell_faults("a run of " + std::to_string(training.steps()) + " steps, " +
                  std::to_string(reader.failures()) + " failures to read",
              {&writing, &reading});
  std::vector<std::int64_t> saved(static_cast<std::size_t>(training.steps()));
  std::iota(saved.begin(), saved.end(), 0);
  EXPECT_EQ(read, saved);

  const auto truth = fetched(bucket);
  const VerifyReport report = verify_run(*truth);
  for (const VerifyFinding& finding : report.findings)
    ADD_FAILURE() << finding.file << ": " << finding.problem;
  EXPECT_TRUE(report.ended);
  Trial trial(truth);
  EXPECT_EQ(trial.steps(), saved);
  for (const std::int64_t step : trial.steps()) expect_values(trial, step);
}

TEST_P(WholeRun, loses_changes_and_invents_nothing) {
  for_each_schedule([&](unsigned seed, const auto& bucket) { save_and_read(seed, bucket); });
}

INSTANTIATE_TEST_SUITE_P(S3, WholeRun, FaultSchedules::tests("CUPEL_FAULT_RUNS", 20));

}  // namespace
}  // namespace cupel::testing
