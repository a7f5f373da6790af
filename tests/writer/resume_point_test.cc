#include "../../writer/src/resume_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <utility>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/store/memory_store.h"
#include "trial/run_builder.h"

namespace cupel {
namespace {

using namespace writer_detail;

using testing::At;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::WorkerWriter;

class ResumePoint : public ::testing::Test {
 protected:
  static StepCounters counters(std::map<Mode, std::int64_t> steps) {
    StepCounters result;
    for (const auto& [mode, step] : steps) result[mode] = step;
    return result;
  }
  StepCounters last(std::string_view worker = "worker_0") const {
    return last_steps(store_, worker);
  }
  static void save(WorkerWriter& writer, const At& at) {
    writer.save(at, {testing::scalar("loss", 1)});
  }
  // One sealed segment for each step.
  static void save_apart(WorkerWriter& writer, std::initializer_list<At> steps) {
    for (const At& at : steps) {
      save(writer, at);
      writer.seal();
    }
  }
  // What a close leaves in the collections file.
  void close(std::int32_t attempt, std::map<Mode, std::int64_t> steps) {
    CollectionsFile file{1, "cafe", "worker_0", attempt, {}};
    file.steps = std::move(steps);
    store_.put(collections_key("worker_0"), encode_collections_file(file));
  }
  WorkerWriter attempt(std::int32_t number) {
    return WorkerWriter(store_, {.worker = "worker_0", .num_workers = 1, .attempt = number});
  }

  testing::LogCapture log_;
  MemoryStore store_;
};

TEST_F(ResumePoint, a_worker_that_left_nothing_begins_at_the_beginning) {
  EXPECT_EQ(last(), StepCounters{});
  WorkerWriter other(store_, {.worker = "worker_1"});
  save(other, 7);
  EXPECT_EQ(last(), StepCounters{});
  EXPECT_EQ(last("worker_1"), counters({{Mode::Global, 7}, {Mode::Train, 7}}));
}

TEST_F(ResumePoint, the_last_row_of_each_mode_counts) {
  WorkerWriter run(store_);
  save_apart(run, {{0, Mode::Eval, 0}, {1, Mode::Train, 0}});
  for (std::int64_t i = 2; i < 5; ++i) save(run, {i, Mode::Train, i - 1});
  save(run, {7, Mode::Predict, 1});
  EXPECT_EQ(last(),
            counters({{Mode::Global, 7}, {Mode::Train, 3}, {Mode::Eval, 0}, {Mode::Predict, 1}}));
}

TEST_F(ResumePoint, steps_without_a_mode_count_globally_only) {
  WorkerWriter run(store_);
  save_apart(run, {{0, Mode::Train, 0}, {1, Mode::Global, 1}});
  EXPECT_EQ(last(), counters({{Mode::Global, 1}, {Mode::Train, 0}}));
}

TEST_F(ResumePoint, steps_that_the_caller_numbered_count_by_their_numbers) {
  WorkerWriter run(store_);
  save_apart(run, {{3, Mode::Eval, 3}, {5, Mode::Train, 5}});
  EXPECT_EQ(last(), counters({{Mode::Global, 5}, {Mode::Train, 5}, {Mode::Eval, 3}}));
}

TEST_F(ResumePoint, steps_with_and_without_numbers_may_be_mixed) {
  WorkerWriter run(store_);
  save_apart(run, {{7, Mode::Predict, 7}, {10, Mode::Train, 10}, {11, Mode::Eval, 0}});
  EXPECT_EQ(last(),
            counters({{Mode::Global, 11}, {Mode::Train, 10}, {Mode::Eval, 0}, {Mode::Predict, 7}}));
}

TEST_F(ResumePoint, steps_after_the_last_saved_one_are_known_from_the_close) {
  WorkerWriter run(store_);
  save(run, 0);
  run.seal();
  close(0, {{Mode::Global, 90}, {Mode::Train, 80}, {Mode::Eval, 9}});
  EXPECT_EQ(last(), counters({{Mode::Global, 90}, {Mode::Train, 80}, {Mode::Eval, 9}}));
}

TEST_F(ResumePoint, a_close_without_any_saved_step_counts) {
  close(3, {{Mode::Global, 4}});
  EXPECT_EQ(last(), counters({{Mode::Global, 4}}));
}

TEST_F(ResumePoint, the_close_of_an_older_attempt_than_the_newest_rows_does_not_count) {
  WorkerWriter second = attempt(1);
  save(second, 5);
  close(0, {{Mode::Global, 90}, {Mode::Eval, 9}});
  EXPECT_EQ(last(), counters({{Mode::Global, 5}, {Mode::Train, 5}}));
}

TEST_F(ResumePoint, a_later_attempt_hides_rows_from_its_first_step_on) {
  WorkerWriter first = attempt(0);
  save_apart(first, {{0, Mode::Predict, 0},
                     {1, Mode::Eval, 0},
                     {2, Mode::Train, 0},
                     {9, Mode::Eval, 5},
                     {20, Mode::Train, 9}});
  WorkerWriter second = attempt(1);
  save_apart(second, {{5, Mode::Train, 2}, {6, Mode::Train, 3}});
  EXPECT_EQ(last(),
            counters({{Mode::Global, 6}, {Mode::Train, 3}, {Mode::Eval, 0}, {Mode::Predict, 0}}));
}

TEST_F(ResumePoint, rows_of_one_file_may_be_hidden_in_part) {
  WorkerWriter first = attempt(0);
  for (std::int64_t i = 0; i < 10; ++i) save(first, {i, i < 8 ? Mode::Eval : Mode::Train, i});
  WorkerWriter second = attempt(1);
  save(second, {3, Mode::Global, 3});
  EXPECT_EQ(last(), counters({{Mode::Global, 3}, {Mode::Eval, 2}}));
}

TEST_F(ResumePoint, the_last_saved_step_is_the_last_one_that_has_visible_rows) {
  EXPECT_EQ(last_saved_step(store_, "worker_0"), -1);
  WorkerWriter first = attempt(0);
  save_apart(first, {{3, Mode::Eval, 0}, {20, Mode::Train, 9}});
  close(0, {{Mode::Global, 90}});
  EXPECT_EQ(last_saved_step(store_, "worker_0"), 20);
  WorkerWriter second = attempt(1);
  save_apart(second, {{5, Mode::Train, 2}, {6, Mode::Train, 3}});
  EXPECT_EQ(last_saved_step(store_, "worker_0"), 6);
  EXPECT_EQ(last_saved_step(store_, "worker_1"), -1);
}

TEST_F(ResumePoint, an_attempt_without_a_whole_step_hides_nothing) {
  WorkerWriter first = attempt(0);
  save(first, 8);
  WorkerWriter second = attempt(1);
  const auto step = second.encode(5, {testing::scalar("loss", 1)});
  second.append_index(std::span(step).first(step.size() - 1));
  EXPECT_EQ(last(), counters({{Mode::Global, 8}, {Mode::Train, 8}}));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(ResumePoint, a_torn_last_message_is_passed_over_in_silence) {
  WorkerWriter run(store_);
  run.save_steps({0, 1});
  const auto step = run.encode(2, {testing::scalar("loss", 1)});
  run.append_index(std::span(step).first(step.size() / 2));
  EXPECT_EQ(last(), counters({{Mode::Global, 1}, {Mode::Train, 1}}));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(ResumePoint, what_comes_before_damage_counts_and_the_damage_is_a_warning) {
  WorkerWriter run(store_);
  run.save_steps({0, 1});
  const std::uint64_t good = store_.stat(run.index_key())->size;
  run.save_steps({2, 3});
  testing::flip_bit(store_, run.index_key(), good + 200);
  EXPECT_EQ(last(), counters({{Mode::Global, 1}, {Mode::Train, 1}}));
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_EQ(log_.lines()[0].first, LogLevel::Warning);
  EXPECT_THAT(log_.lines()[0].second, HasSubstr(run.index_key()));
}

TEST_F(ResumePoint, a_damaged_collections_file_is_a_warning_and_rows_count) {
  WorkerWriter run(store_);
  save(run, 4);
  store_.put(collections_key("worker_0"), std::as_bytes(std::span("{")));
  EXPECT_EQ(last(), counters({{Mode::Global, 4}, {Mode::Train, 4}}));
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(ResumePoint, foreign_files_are_passed_over) {
  WorkerWriter run(store_);
  save(run, 4);
  for (const char* key : {"index/readme", "index/0000-000000000/000000000009_worker_0.arrow"})
    store_.put(key, std::as_bytes(std::span("foreign")));
  EXPECT_EQ(last(), counters({{Mode::Global, 4}, {Mode::Train, 4}}));
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(ResumePoint, a_foreign_file_of_a_later_attempt_hides_nothing) {
  WorkerWriter run(store_);
  save(run, 4);
  close(0, {{Mode::Global, 6}, {Mode::Eval, 1}});
  store_.put(SegmentName{9, 0, "worker_0"}.index_key(), std::as_bytes(std::span("foreign")));
  EXPECT_EQ(last(), counters({{Mode::Global, 6}, {Mode::Train, 4}, {Mode::Eval, 1}}));
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(ResumePoint, a_collections_file_that_is_too_long_is_told_and_the_index_says_where) {
  FormatLimits limits;
  limits.collections_file = 100;
  const format_detail::FormatLimitsForTest low(limits);
  WorkerWriter writer = attempt(0);
  save_apart(writer, {{3, Mode::Train, 3}});
  close(0, {{Mode::Train, 8}, {Mode::Global, 8}});
  EXPECT_EQ(last(), counters({{Mode::Train, 3}, {Mode::Global, 3}}));
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(ResumePoint, steps_behind_a_damaged_file_count_so_that_no_number_is_used_twice) {
  WorkerWriter run(store_);
  save_apart(run, {{0, Mode::Global, 0}, {5, Mode::Global, 5}, {9, Mode::Global, 9}});
  testing::flip_bit(store_, SegmentName{0, 5, "worker_0"}.index_key(), 100);
  EXPECT_EQ(last(), counters({{Mode::Global, 9}}));
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

// Older files are damaged, which nobody notices who does not read them.
class ResumePointReads : public ResumePoint {
 protected:
  void damage(std::int64_t first_step) {
    const std::string key = SegmentName{0, first_step, "worker_0"}.index_key();
    store_.put(key, std::as_bytes(std::span("damaged")));
  }
};

TEST_F(ResumePointReads, only_the_newest_files_in_which_every_mode_is_seen) {
  WorkerWriter run(store_);
  save_apart(run, {{0, Mode::Train, 0},
                   {1, Mode::Train, 1},
                   {2, Mode::Predict, 0},
                   {3, Mode::Train, 2},
                   {4, Mode::Eval, 0}});
  damage(0);
  damage(1);
  EXPECT_EQ(last(),
            counters({{Mode::Global, 4}, {Mode::Train, 2}, {Mode::Eval, 0}, {Mode::Predict, 0}}));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(ResumePointReads, only_files_behind_the_step_at_which_the_attempt_was_closed) {
  WorkerWriter run(store_);
  save_apart(run, {{0, Mode::Eval, 0}, {2, Mode::Global, 2}, {4, Mode::Global, 4}});
  damage(0);
  damage(2);
  close(0, {{Mode::Global, 4}, {Mode::Eval, 1}});
  EXPECT_EQ(last(), counters({{Mode::Global, 4}, {Mode::Eval, 1}}));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(ResumePointReads, all_files_where_a_mode_may_still_be_found) {
  WorkerWriter run(store_);
  save_apart(run, {{0, Mode::Eval, 0}, {2, Mode::Global, 2}});
  EXPECT_EQ(last(), counters({{Mode::Global, 2}, {Mode::Eval, 0}}));
}

TEST_F(ResumePoint, a_step_number_at_the_end_of_all_numbers_leaves_room_for_a_next_one) {
  WorkerWriter run(store_);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  save(run, {most, Mode::Train, most});
  EXPECT_LT(last().global, most);
  EXPECT_LT(last()[Mode::Train], most);
}

}  // namespace
}  // namespace cupel
