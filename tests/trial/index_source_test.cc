// A trial over an index that is in no file of cupel's: what a further format has to give.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/memory_index.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

MemoryIndexRun one_worker() {
  MemoryIndexRun run;
  run.then([](MemoryIndex& index) { index.define({"worker_0"}); });
  return run;
}

TEST(IndexSource, in_memory_answers_queries) {
  MemoryIndexRun run;
  run.then([](MemoryIndex& index) {
    Collection losses("losses");
    losses.include("loss");
    index.define({"worker_0"}, {{"losses", losses}});
    index.commit("worker_0", {{.step = 0, .tensor = "loss", .mean = 0.5},
                              {.step = 0, .tensor = "w", .value = {{1, 2}}},
                              {.step = 5, .tensor = "loss", .mean = 0.25},
                              {.step = 5, .tensor = "w", .value = {{3, 4}}}});
  });
  const auto trial = run.open();
  EXPECT_EQ(trial->format(), "memory");
  EXPECT_EQ(trial->name(), "in memory");
  EXPECT_THAT(trial->steps(), ElementsAre(0, 5));
  EXPECT_THAT(trial->modes(), ElementsAre(Mode::Train));
  EXPECT_THAT(trial->workers(), ElementsAre("worker_0"));
  EXPECT_THAT(trial->tensor_names(), ElementsAre("loss", "w"));
  EXPECT_THAT(trial->tensor_names({.collection = "losses"}), ElementsAre("loss"));
  EXPECT_EQ(trial->tensor("loss").reduction_value(5, "mean"), 0.25);
  EXPECT_EQ(trial->tensor("w").value(5).at(1), 4);
  EXPECT_EQ(trial->tensor("w").reduction_value(0, "max"), 2) << "computed from the value";
  EXPECT_EQ(trial->reductions().rows(), 4U);
  EXPECT_EQ(trial->totals().rows, 4);
  EXPECT_FALSE(trial->ended());
}

TEST(IndexSource, names_a_value_by_object_range_and_checksum) {
  MemoryIndexRun run = one_worker();
  const float values[] = {0, 7, 8, 9};
  const auto bytes = std::as_bytes(std::span(values));
  run.store->put("values.bin", bytes);
  run.then([crc = crc32c(bytes.subspan(4, 8))](MemoryIndex& index) {
    index.commit("worker_0", {{.step = 0, .tensor = "good", .range = {{4, 8}}, .crc32c = crc},
                              {.step = 0, .tensor = "wrong", .range = {{8, 8}}, .crc32c = crc}});
  });
  const auto trial = run.open();
  EXPECT_EQ(trial->tensor("good").value(0).at(1), 8);
  EXPECT_THROW(trial->tensor("wrong").value(0), DamagedValue);
}

TEST(IndexSource, that_grows_is_followed_until_it_ends) {
  MemoryIndexRun run = one_worker();
  run.commit(0, 1);
  const auto trial = run.open();
  RunFollower follower(*trial);
  EXPECT_FALSE(trial->refresh());
  EXPECT_THAT(follower.steps_from(1), IsEmpty());
  EXPECT_EQ(trial->has_passed_step(2), StepState::NotYetAvailable);

  run.commit(2, 3);
  EXPECT_TRUE(trial->refresh());
  EXPECT_THAT(follower.steps_from(1), ElementsAre(2));
  EXPECT_EQ(trial->has_passed_step(1), StepState::Unavailable);
  EXPECT_EQ(trial->tensor("loss").reduction_value(2, "mean"), 3);
  EXPECT_EQ(follower.status(), RunStatus::Silent) << "no locks, and the newest step is old";

  run.then([](MemoryIndex& index) { index.end(); });
  trial->refresh();  // reads the end
  EXPECT_TRUE(trial->refresh()) << "begins after the end";
  EXPECT_TRUE(trial->ended());
  EXPECT_EQ(follower.status(), RunStatus::Ended);
  EXPECT_THROW(trial->wait_for_steps({3}), NoMoreData);
}

TEST(IndexSource, of_several_workers_lists_a_step_when_all_have_committed_it) {
  MemoryIndexRun run;
  run.then([](MemoryIndex& index) { index.define({"worker_2", "worker_10"}); });
  run.commit(0, 1, "worker_2");
  run.commit(0, 2, "worker_10");
  run.commit(1, 3, "worker_10");
  const auto trial = run.open();
  EXPECT_THAT(trial->workers(), ElementsAre("worker_2", "worker_10"));
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_THAT(trial->steps(Mode::Global, true), ElementsAre(0, 1));
  EXPECT_THAT(trial->missing_workers(1), ElementsAre("worker_2"));
  run.then([](MemoryIndex& index) { index.end_worker("worker_2"); });
  trial->refresh();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1)) << "nothing waits for a worker that has ended";
}

TEST(IndexSource, loads_only_the_steps_of_the_range) {
  MemoryIndexRun run = one_worker();
  run.options.range_steps = {1, 3};
  for (std::int64_t step = 0; step < 5; ++step) run.commit(step, 0);
  const auto trial = run.open();
  EXPECT_THAT(trial->steps(), ElementsAre(1, 2));
  EXPECT_EQ(trial->has_passed_step(4), StepState::Unavailable);
}

TEST(IndexSource, with_a_later_attempt_takes_steps_back) {
  MemoryIndexRun run = one_worker();
  for (std::int64_t step = 0; step < 4; ++step) run.commit(step, 1);
  const auto trial = run.open();
  const RunFollower follower(*trial);
  const auto before = follower.snapshot();
  run.commit(2, 7, "worker_0", 1);
  EXPECT_TRUE(trial->refresh());
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial->tensor("loss").reduction_value(2, "mean"), 7);
  EXPECT_EQ(follower.rewound_to(*before), 2);
  EXPECT_EQ(follower.rewinds(), 1U);
}

TEST(IndexSource, gives_notes_as_rows_of_a_reserved_tensor) {
  MemoryIndexRun run = one_worker();
  run.then([](MemoryIndex& index) {
    index.commit("worker_0", {{.step = 3, .tensor = "cupel/note", .text = R"({"kind":"test"})"},
                              {.step = 3, .tensor = "loss", .mean = 1}});
  });
  const auto trial = run.open();
  ASSERT_EQ(trial->notes().size(), 1U);
  EXPECT_EQ(trial->notes()[0].step, 3);
  EXPECT_EQ(trial->notes()[0].worker, "worker_0");
  EXPECT_EQ(trial->notes()[0].text, R"({"kind":"test"})");
  EXPECT_THAT(trial->tensor_names(), ElementsAre("loss"));
}

TEST(IndexSource, reports_damage_once_and_keeps_what_was_read) {
  MemoryIndexRun run = one_worker();
  run.commit(0, 1);
  const auto trial = run.open();
  run.then(
      [](MemoryIndex& index) { index.state().damage.emplace_back("some.file", 12, "broken"); });
  try {
    trial->refresh();
    FAIL() << "the damage was not reported";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, "some.file");
    EXPECT_THAT(error.what(), HasSubstr("broken"));
  }
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_THROW(trial->refresh(), FormatError);
  EXPECT_THROW(trial->wait_for_steps({1}, Mode::Global, {.timeout = std::chrono::milliseconds(1)}),
               FormatError);
}

TEST(IndexSource, whose_steps_go_back_within_an_attempt_is_damaged) {
  MemoryIndexRun run = one_worker();
  run.commit(4, 1);
  const auto trial = run.open();
  run.commit(4, 2);
  EXPECT_THROW(trial->refresh(), FormatError);
  EXPECT_EQ(trial->tensor("loss").reduction_value(4, "mean"), 1);
}

TEST(IndexSource, that_loses_its_run_is_not_polled_again) {
  MemoryIndexRun run = one_worker();
  run.commit(0, 1);
  const auto trial = run.open();
  run.then([](MemoryIndex& index) {
    index.state().loss = FormatError("run", 0, "the run was removed");
    index.state().damage.push_back(*index.state().loss);
  });
  EXPECT_THROW(trial->refresh(), FormatError);
  run.then([](MemoryIndex&) { FAIL() << "polled again"; });
  EXPECT_THROW(trial->refresh(), FormatError);
  EXPECT_THAT(trial->steps(), ElementsAre(0));
}

TEST(IndexSource, whose_store_fails_shows_what_it_read_before_if_that_is_complete) {
  for (const bool complete : {true, false}) {
    MemoryIndexRun run = one_worker();
    run.commit(0, 1);
    const auto trial = run.open();
    run.commit(1, 2);
    run.then([complete](MemoryIndex& index) {
      index.is_complete = complete;
      throw StoreError("some.file", true, "503 Slow Down");
    });
    EXPECT_THROW(trial->refresh(), StoreError);
    const NoRefresh pinned(*trial);
    EXPECT_EQ(trial->steps().size(), complete ? 2U : 1U);
  }
}

TEST(IndexSource, without_a_run_is_missing) {
  MemoryIndexRun run;
  EXPECT_THROW(run.open(), MissingCollectionFiles);
}

}  // namespace
}  // namespace cupel::testing
