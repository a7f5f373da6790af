#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "store/scratch_directory.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(OpeningATrial, without_a_run_is_refused_at_once) {
  MemoryRun run;
  EXPECT_THROW(run.open(), MissingCollectionFiles);
}

TEST(OpeningATrial, in_an_absent_directory_is_refused) {
  const ScratchDirectory directory;
  EXPECT_THROW(create_trial((directory / "absent").string()), MissingCollectionFiles);
}

TEST(OpeningATrial, waits_for_the_run_when_asked_to) {
  MemoryRun run;
  std::jthread training([&] { run.worker().save_steps({0}); });
  const Trial trial = run.open({.wait_for_run = milliseconds(60'000)});
  EXPECT_NO_THROW(trial.wait_for_steps({0}));
}

TEST(OpeningATrial, gives_up_waiting_for_the_run) {
  MemoryRun run;
  EXPECT_THROW(run.open({.wait_for_run = milliseconds(20)}), MissingCollectionFiles);
}

TEST(OpeningATrial, does_not_wait_for_a_run_that_has_ended_without_files) {
  MemoryRun run;
  run.end();
  EXPECT_THROW(run.open({.wait_for_run = milliseconds(60'000)}), MissingCollectionFiles);
}

TEST(OpeningATrial, of_an_ended_run_needs_the_files_of_all_workers) {
  MemoryRun run;
  run.worker({"a", 2}).save_steps({0}).finish();
  EXPECT_THROW(run.open(), MissingCollectionFiles);
}

TEST(OpeningATrial, tells_how_much_of_the_index_is_read) {
  MemoryRun run;
  run.worker().put_after(2).save_steps({0, 1}).seal().save_steps({2}).seal();
  const std::uint64_t bytes = run.open().totals().index_bytes;
  std::vector<std::uint64_t> done;
  run.open({.progress = [&](std::uint64_t now, std::uint64_t total) {
    EXPECT_EQ(total, bytes);
    EXPECT_LT(now, total);
    done.push_back(now);
  }});
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_THAT(done, SizeIs(2));  // a batch each
}

TEST(OpeningATrial, names_it_after_its_directory) {
  const ScratchDirectory directory;
  const std::string path = (directory / "mnist").string();
  LocalStore store(path);
  WorkerWriter(store).save_steps({0});
  EXPECT_EQ(create_trial(path)->name(), "mnist");
  EXPECT_EQ(create_trial("  " + path + "// ")->name(), "mnist");
  EXPECT_EQ(create_trial(path, {.name = "other"})->name(), "other");
  EXPECT_EQ(create_trial(path)->location(), path);
}

TEST(OpeningATrial, refuses_ranges_that_are_none) {
  MemoryRun run;
  run.worker();
  EXPECT_THROW(run.open({.range_steps = {5, 5}}), UsageError);
  EXPECT_THROW(run.open({.range_steps = {-1, 5}}), UsageError);
  EXPECT_THROW(run.open({.range_steps = {std::nullopt, -5}}), UsageError);
}

/// Steps 0 … 7 in segments of two.
struct EightSteps : MemoryRun {
  WorkerWriter writer = worker();
  EightSteps() {
    writer.put_after(2);
    for (const std::int64_t step : {0, 2, 4, 6}) writer.save_steps({step, step + 1}).seal();
  }
};

TEST(StepRanges, load_only_what_is_in_them) {
  EightSteps run;
  EXPECT_THAT(run.open({.range_steps = {0, 5}}).steps(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(run.open({.range_steps = {3, 6}}).steps(), ElementsAre(3, 4, 5));
  EXPECT_THAT(run.open({.range_steps = {.begin = 5}}).steps(), ElementsAre(5, 6, 7));
  EXPECT_THAT(run.open({.range_steps = {.end = 2}}).steps(), ElementsAre(0, 1));
  EXPECT_THAT(run.open({.range_steps = {.begin = 100}}).steps(), IsEmpty());
}

TEST(StepRanges, read_only_the_segments_that_may_be_in_them) {
  EightSteps run;
  auto wrapper = std::make_shared<StoreWrapper>(run.store);
  std::vector<std::string> read;
  wrapper->before_get_range = [&](std::string_view key) { read.emplace_back(key); };
  const Trial trial = MemoryRun::open_over(wrapper, {.range_steps = {2, 4}});
  EXPECT_THAT(read, ElementsAre(SegmentName{0, 2, "worker_0"}.index_key()));
  EXPECT_THAT(trial.steps(), ElementsAre(2, 3));
}

TEST(StepRanges, are_passed_when_the_run_has_gone_behind_them) {
  EightSteps run;
  const Trial trial = run.open({.range_steps = {.end = 4}});
  EXPECT_EQ(trial.last_complete_step(), 3);
  EXPECT_EQ(trial.has_passed_step(3), StepState::Available);
}

TEST(StepRanges, follow_a_run_that_grows) {
  EightSteps run;
  const Trial trial = run.open({.range_steps = {7, 10}});
  EXPECT_THAT(trial.steps(), ElementsAre(7));
  run.writer.save_steps({8, 11});
  EXPECT_THAT(trial.steps(), ElementsAre(7, 8));
}

TEST(StepRanges, keep_attempts_apart) {
  EightSteps run;
  run.worker({"worker_0", 1, 1}).save_steps({1, 9}).seal().save_steps({12});
  EXPECT_THAT(run.open({.range_steps = {.begin = 4}}).steps(), ElementsAre(9, 12));
  EXPECT_THAT(run.open({.range_steps = {.begin = 10}}).steps(), ElementsAre(12));
  EXPECT_THAT(run.open({.range_steps = {.end = 5}}).steps(), ElementsAre(0, 1));
}

std::chrono::duration<double> processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// A run with one step and these collections.
void write_run(MemoryRun& run, const Collections& collections) {
  run.worker().save_steps({0}).close();
  run.store->put(collections_key("worker_0"),
                 encode_collections_file({1, "cafe", "worker_0", 0, collections}));
}

// Linear: a quadratic reader takes 8 s for these.
TEST(OpeningATrial, of_a_run_with_100_000_collections_takes_less_than_two_seconds) {
  MemoryRun run;
  Collections collections;
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = "c" + std::to_string(i);
    collections.emplace(name, Collection(name));
  }
  write_run(run, collections);
  const auto begin = processor_time();
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.collection = "c77777"}), IsEmpty());
  EXPECT_LT((processor_time() - begin).count(), 2);
  EXPECT_THAT(trial.collections(), SizeIs(100'000U));
}

// Earlier versions list every saved tensor.
TEST(OpeningATrial, of_a_run_with_80_mb_of_names_in_its_collections_file) {
  MemoryRun run;
  Collection all("all");
  for (int i = 0; i < 20'000; ++i) {
    std::string name = std::to_string(i);
    all.add_tensor_name(name.insert(0, 4000 - name.size(), 'n'));
  }
  write_run(run, {{"all", all}});
  ASSERT_GT(run.store->stat(collections_key("worker_0"))->size, std::uint64_t{64} << 20U);
  EXPECT_THAT(run.open().collection("all").tensor_names(), SizeIs(20'000U));
}

}  // namespace
}  // namespace cupel::testing
