#include "cupel/trial/verify_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/stats/statistics.h"
#include "cupel/store/local_store.h"
#include "cupel/writer/hook.h"
#include "store/scratch_directory.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

/// Findings as lines: "damage FILE at OFFSET: PROBLEM".
std::vector<std::string> lines_of(const VerifyReport& report) {
  std::vector<std::string> lines;
  for (const VerifyFinding& finding : report.findings)
    lines.push_back((finding.severity == VerifyFinding::Severity::Damage ? "damage " : "remark ") +
                    finding.file + " at " + std::to_string(finding.offset) + ": " +
                    finding.problem);
  return lines;
}

/// A value with counts and every reduction, as a hook measures it.
SavedTensor measured(std::string name, const std::vector<float>& values) {
  SavedTensor tensor = raw_of(std::move(name), values);
  const TensorView view(values.data(), {values.size()});
  ReductionSet all;
  for (std::size_t i = 0; i < Reduction::kCount; ++i) all.add(Reduction::at(i));
  tensor.reductions = compute_reductions(view, all);
  tensor.counts = compute_statistics(view).counts;
  return tensor;
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.37F * static_cast<float>(i) - 3;
  return values;
}

struct VerifiedRun : MemoryRun {
  WorkerWriter writer = worker();

  /// Two segments of two steps, each step with a value in the events file and one in the index.
  VerifiedRun& two_segments() {
    writer.put_after(2);
    for (const std::int64_t step : {0, 1, 2, 3}) {
      writer.save(step, {measured("w", ramp(50)), measured("b", ramp(5)), scalar("loss", 1)});
      if (step == 1) first_index = writer.index_key(), first_events = writer.events_key();
      if (step == 1) writer.seal();
    }
    return *this;
  }
  VerifyReport verify() const { return verify_run(*store); }
  std::vector<std::string> lines() const { return lines_of(verify()); }
  void cut(const std::string& key, std::size_t missing) const {
    auto bytes = *store->get(key);
    bytes.resize(bytes.size() - missing);
    store->put(key, bytes);
  }
  std::size_t size_of(const std::string& key) const { return store->get(key)->size(); }

  std::string first_index, first_events;
};

TEST(VerifyRun, finds_nothing_in_a_run_that_ended_well_and_counts_what_it_read) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  const VerifyReport report = run.verify();
  EXPECT_THAT(lines_of(report), IsEmpty());
  EXPECT_TRUE(report.ok());
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.index_files, 2);
  EXPECT_EQ(report.events_files, 2);
  EXPECT_EQ(report.collections_files, 1);
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.rows, 12);
  EXPECT_EQ(report.values, 12);
  EXPECT_EQ(report.value_bytes, 4 * (200 + 20 + 8));
}

TEST(VerifyRun, is_an_error_where_no_run_is) {
  const MemoryRun run;
  EXPECT_THROW(verify_run(*run.store), MissingCollectionFiles);
}

TEST(VerifyRun, a_flipped_bit_of_a_value_is_named_with_tensor_and_step) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  const std::uint64_t offset = run.writer.last_location().offset;
  flip_bit(*run.store, run.writer.events_key(), offset + 100);
  EXPECT_THAT(run.lines(),
              ElementsAre("damage " + run.writer.events_key() + " at " + std::to_string(offset) +
                          ": the value of w at step 3 does not have its checksum"));
}

TEST(VerifyRun, a_flipped_bit_of_padding_is_damage) {
  VerifiedRun run;
  run.writer.save(0, {filled("w", 17, 1)}).seal().finish();
  const ValueLocation& value = run.writer.last_location();
  const std::uint64_t behind = value.offset + value.length;
  flip_bit(*run.store, run.writer.events_key(), behind);
  EXPECT_THAT(run.lines(), ElementsAre("damage " + run.writer.events_key() + " at " +
                                       std::to_string(behind) + ": padding that is not zero"));
}

TEST(VerifyRun, a_flipped_bit_of_an_index_file_does_not_hide_the_rest) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  flip_bit(*run.store, run.first_index, run.size_of(run.first_index) / 2);
  const std::uint64_t offset = run.writer.last_location().offset;
  flip_bit(*run.store, run.writer.events_key(), offset);
  EXPECT_THAT(run.lines(), ElementsAre(StartsWith("damage " + run.writer.events_key() + " at "),
                                       StartsWith("damage " + run.first_index + " at ")));
}

// Headers and footers have bytes that mean nothing; no flip may pass for one in a value.
TEST(VerifyRun, flips_of_an_events_file_are_told_in_it_wherever_they_are) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  const std::string key = run.writer.events_key();
  const auto whole = *run.store->get(key);
  const ValueLocation value = run.writer.last_location();
  std::size_t told = 0, tried = 0;
  for (std::size_t at = 0; at < whole.size(); at += stride(*run.store, 1)) {
    flip_bit(*run.store, key, at);
    const VerifyReport report = run.verify();
    for (const VerifyFinding& finding : report.findings) EXPECT_EQ(finding.file, key) << at;
    const bool in_value = at >= value.offset && at < value.offset + value.length;
    EXPECT_TRUE(!in_value || !report.ok()) << at;
    ++tried;
    told += report.ok() ? 0U : 1U;
    run.store->put(key, whole);
  }
  EXPECT_GT(told, tried / 2);
}

TEST(VerifyRun, a_flip_anywhere_in_an_index_file_is_damage_of_that_file) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  const std::string key = run.writer.index_key();
  const auto whole = *run.store->get(key);
  for (std::size_t at = 0; at < whole.size(); at += stride(*run.store, 7)) {
    flip_bit(*run.store, key, at);
    const VerifyReport report = run.verify();
    EXPECT_THAT(lines_of(report), ElementsAre(StartsWith("damage " + key))) << at;
    run.store->put(key, whole);
  }
}

TEST(VerifyRun, a_footer_that_was_cut_off_is_damage) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  run.cut(run.first_events, 1);
  EXPECT_THAT(run.lines(), ElementsAre(AllOf(StartsWith("damage " + run.first_events),
                                             HasSubstr("the closing magic is missing"))));
}

TEST(VerifyRun, an_events_file_without_its_values_is_damage_at_each_of_them) {
  VerifiedRun run;
  run.writer.save(0, {filled("a", 100, 1), filled("b", 100, 2)}).finish();
  run.cut(run.writer.events_key(), run.size_of(run.writer.events_key()) - 300);
  EXPECT_THAT(run.lines(),
              ::testing::Contains(HasSubstr("the value of b at step 0 lies behind the end")));
}

TEST(VerifyRun, an_events_file_that_is_missing_is_told_once) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  run.store->remove(run.first_events);
  EXPECT_THAT(run.lines(),
              ElementsAre("damage " + run.first_events +
                          " at 0: the file is missing, and the index has 2 values in it"));
}

TEST(VerifyRun, a_missing_segment_is_a_gap_in_the_numbers) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  run.store->remove(run.first_index);
  run.store->remove(run.first_events);
  EXPECT_THAT(run.lines(), ElementsAre("damage " + run.writer.index_key() +
                                       " at 0: the segment has number 1, and 0 was to come: "
                                       "segments are missing before it"));
}

TEST(VerifyRun, values_behind_the_last_index_file_of_an_ended_run_are_damage) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  run.store->remove(run.writer.index_key());
  EXPECT_THAT(run.lines(), ElementsAre("damage " + run.writer.events_key() +
                                       " at 0: the index file of these values is missing"));
}

TEST(VerifyRun, events_files_that_changed_places_are_told_by_their_numbers) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  const auto first = *run.store->get(run.first_events);
  run.store->put(run.first_events, *run.store->get(run.writer.events_key()));
  run.store->put(run.writer.events_key(), first);
  const auto lines = run.lines();
  EXPECT_THAT(lines, ::testing::Contains(
                         "damage " + run.first_events +
                         " at 0: the file is of run cafe, segment 1, its index of run cafe, "
                         "segment 0"));
  EXPECT_THAT(lines, ::testing::Contains(AllOf(
                         StartsWith("damage " + run.first_events),
                         HasSubstr("the index has the value of w at step 0 here, the file does "
                                   "not"))));
}

TEST(VerifyRun, a_saved_number_that_the_value_does_not_have_is_damage) {
  VerifiedRun run;
  run.writer
      .save(0, {measured("inline", ramp(4)).with("mean", 7),
                measured("stored", ramp(40)).with("median", 7),
                measured("counted", ramp(40)).with(ValueCounts{1, 0, 0, 0})})
      .finish();
  EXPECT_THAT(
      run.lines(),
      ElementsAre(HasSubstr("the value of counted at step 0 disagrees with the saved counts"),
                  HasSubstr("the value of stored at step 0 disagrees with the saved median"),
                  AllOf(StartsWith("damage index/"),
                        HasSubstr("the value of inline at step 0 disagrees with the saved mean"))));
}

TEST(VerifyRun, values_that_do_not_fit_their_type_are_damage) {
  VerifiedRun run;
  SavedTensor bools = raw_of<std::uint8_t>("bools", std::vector<std::uint8_t>(100, 2));
  bools.dtype = DType::Bool;
  SavedTensor longs = filled("longs", 100, 1);
  longs.dtype = DType::I64;
  SavedTensor words = filled("words", 100, 1);
  words.dtype = DType::Utf8;
  words.elements = 3, words.shape = Shape{3};
  run.writer.save(0, {bools, longs, words, texts("text", {std::string(100, 'x'), "y"})}).finish();
  EXPECT_THAT(run.lines(), ElementsAre(HasSubstr("bools at step 0: a bool is neither 0 nor 1"),
                                       HasSubstr("longs at step 0: a value's length"),
                                       HasSubstr("words at step 0: the offsets of a text value")));
}

TEST(VerifyRun, an_open_segment_of_a_run_that_goes_on_is_a_remark) {
  VerifiedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.two_segments();
  const VerifyReport report = run.verify();
  EXPECT_TRUE(report.ok());
  EXPECT_FALSE(report.ended);
  EXPECT_THAT(lines_of(report), ElementsAre("remark " + run.writer.index_key() + " at " +
                                            std::to_string(run.size_of(run.writer.index_key())) +
                                            ": not sealed: the run has not ended"));
}

TEST(VerifyRun, a_step_that_is_not_there_yet_is_a_remark) {
  VerifiedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.two_segments();
  run.cut(run.writer.index_key(), 10);
  const VerifyReport report = run.verify();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.steps, 3);
  EXPECT_THAT(lines_of(report),
              ElementsAre(AllOf(StartsWith("remark " + run.writer.events_key()),
                                HasSubstr("1 value that no step has, or not yet")),
                          AllOf(StartsWith("remark " + run.writer.index_key()),
                                HasSubstr("not there yet, the run has not ended"))));
}

TEST(VerifyRun, values_whose_writing_was_interrupted_are_a_remark) {
  VerifiedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.two_segments();
  run.cut(run.writer.index_key(), 10);
  run.cut(run.writer.events_key(), 50);
  EXPECT_THAT(run.lines(), ElementsAre(AllOf(StartsWith("remark " + run.writer.events_key()),
                                             HasSubstr("not there yet")),
                                       StartsWith("remark " + run.writer.index_key())));
}

TEST(VerifyRun, an_open_segment_is_damage_once_the_run_has_ended) {
  VerifiedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.two_segments();
  run.end();
  EXPECT_THAT(run.lines(),
              ElementsAre(AllOf(StartsWith("damage " + run.writer.index_key()),
                                HasSubstr("not sealed, though nothing more can come"))));
}

TEST(VerifyRun, an_open_segment_with_a_successor_is_damage) {
  VerifiedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0}).abandon().save_steps({1}).finish();
  EXPECT_THAT(run.lines(), ElementsAre(HasSubstr("not sealed, though nothing more can come")));
}

TEST(VerifyRun, an_attempt_that_was_interrupted_is_a_remark) {
  VerifiedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0, 1}).abandon();
  run.worker({.attempt = 1}).save_steps({1, 2}).finish();
  EXPECT_THAT(run.lines(), ElementsAre(AllOf(StartsWith("remark index/0000"),
                                             HasSubstr("began another attempt"))));
}

TEST(VerifyRun, steps_must_rise_from_segment_to_segment) {
  VerifiedRun run;
  run.writer.put_after(2).save_steps({0, 5}).seal().save_steps({3}).finish();
  EXPECT_THAT(run.lines(), ElementsAre(HasSubstr("begins before the end of the one before it")));
}

TEST(VerifyRun, finds_nothing_in_what_a_hook_writes) {
  const ScratchDirectory scratch;
  const LogCapture log;  // the hook warns of the second save
  {
    HookOptions options;
    options.out_dir = scratch.path();
    options.save_all = true;
    options.save_config = {.save_interval = 1};
    options.reduction_config = {.reductions = {"mean", "median", "prod"},
                                .abs_reductions = {"std"},
                                .norms = {"l2"},
                                .save_raw_tensor = true};
    options.segment_bytes = 1 << 16;
    Hook hook(options);
    const std::vector<float> values = ramp(3000);
    const std::vector<std::string> words(20, "gold");
    for (int step = 0; step < 20; ++step) {
      hook.next_step();
      hook.save_tensor("weight", TensorView(values.data(), {30, 100}));
      hook.save_tensor("replaced", TensorView(values.data(), {60, 2}));
      hook.save_tensor("replaced", TensorView(values.data(), {70, 2}));
      hook.save_tensor("words", TensorView(words.data(), {20}));
      hook.save_scalar("loss", 0.5);
    }
    hook.close();
  }
  const VerifyReport report = verify_run(LocalStore(scratch.path()));
  EXPECT_THAT(lines_of(report), IsEmpty());
  EXPECT_GT(report.index_files, 1);
  EXPECT_EQ(report.rows, 80);
}

TEST(VerifyRun, collections_files_are_read_and_compared) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  const std::string key = collections_key("worker_0");
  run.store->put(key, encode_collections_file({1, "beef", "worker_0", 0, {}}));
  EXPECT_THAT(run.lines(),
              ElementsAre(HasSubstr("of run cafe, the worker's collections file of run beef"),
                          HasSubstr("of run cafe, the worker's collections file of run beef")));
  run.store->put(key, std::as_bytes(std::span("nonsense")));
  EXPECT_THAT(run.lines(), ElementsAre(StartsWith("damage " + key)));
  run.store->remove(key);
  EXPECT_THAT(run.lines(),
              ::testing::Contains("damage " + key +
                                  " at 0: the file is missing, though the worker has segments"));
}

TEST(VerifyRun, an_attempt_that_the_collections_file_does_not_know_is_damage) {
  VerifiedRun run;
  run.worker({.attempt = 3}).save_steps({1}).finish();
  run.worker({.attempt = 2});
  EXPECT_THAT(run.lines(), ElementsAre(HasSubstr("collections file knows attempts up to 2")));
}

TEST(VerifyRun, an_end_without_all_workers_is_damage) {
  MemoryRun run;
  run.worker({.num_workers = 3}).save_steps({0}).close();
  run.worker({.worker = "worker_1", .num_workers = 3}).save_steps({0}).seal();
  run.end();
  EXPECT_THAT(lines_of(verify_run(*run.store)),
              ElementsAre("damage training_job_end.ts at 0: the run has ended, and of its 3 "
                          "workers only 2 left collections files",
                          "damage training_job_end.ts at 0: the run has ended, and of its 3 "
                          "workers only 1 left markers of their end"));
}

TEST(VerifyRun, files_that_belong_to_nothing_are_remarks) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  for (const char* key : {"index/notes.txt", "events/0000-000000000/a.arrow",
                          "collections/old/worker_0_collections.json", "ended/worker_9", "README"})
    run.store->put(key, {});
  const VerifyReport report = run.verify();
  EXPECT_TRUE(report.ok());
  EXPECT_THAT(
      lines_of(report),
      ElementsAre("remark collections/old/worker_0_collections.json at 0: not a file of a run",
                  "remark ended/worker_9 at 0: there is no such worker",
                  "remark events/0000-000000000/a.arrow at 0: not a file of a run",
                  "remark index/notes.txt at 0: not a file of a run"));
}

TEST(VerifyRun, of_one_file_a_hundred_findings_are_told_and_the_rest_counted) {
  VerifiedRun run;
  std::vector<SavedTensor> many;
  for (int i = 0; i < 130; ++i)
    many.push_back(measured("t" + std::to_string(i), ramp(20)).with("mean", 7));
  run.writer.save(0, many).finish();
  const auto lines = run.lines();
  ASSERT_EQ(lines.size(), 101);
  EXPECT_THAT(lines.back(), HasSubstr("and 30 more"));
}

TEST(VerifyRun, a_segment_that_is_sealed_while_it_is_read_is_read_again) {
  VerifiedRun run;
  run.two_segments();
  const auto store = std::make_shared<StoreWrapper>(run.store);
  bool sealed = false;
  store->before_get_range = [&](std::string_view key) {
    if (key != run.writer.events_key() || std::exchange(sealed, true)) return;
    run.writer.seal();
  };
  const VerifyReport report = verify_run(*store);
  EXPECT_TRUE(sealed);
  EXPECT_THAT(lines_of(report), IsEmpty());
  EXPECT_EQ(report.rows, 12);
}

TEST(VerifyRun, tells_its_progress_up_to_the_end) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  std::uint64_t last = 0, total = 0;
  static_cast<void>(verify_run(*run.store, {.progress = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GE(of, done);
    last = done, total = of;
  }}));
  EXPECT_EQ(last, total);
  EXPECT_GE(total, 4 * 200);
}

TEST(VerifyRun, ends_early_when_it_is_told_to) {
  VerifiedRun run;
  run.two_segments().writer.finish();
  std::stop_source source;
  const auto stop_at_first = [&](std::uint64_t, std::uint64_t) { source.request_stop(); };
  const VerifyReport report =
      verify_run(*run.store, {.progress = stop_at_first, .stop = source.get_token()});
  EXPECT_TRUE(report.stopped);
  EXPECT_LE(report.index_files, 1);  // of two
}

}  // namespace
}  // namespace cupel::testing
