#include "cupel/writer/run_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/trial.h"
#include "cupel/trial/verify_run.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

class RunWriterTest : public ::testing::Test {
 protected:
  std::string run() const { return scratch.path() + "/run"; }
  std::unique_ptr<RunWriter> make(Collections collections = {},
                                  RunWriterOptions options = {}) const {
    return std::make_unique<RunWriter>(run(), "worker_0", 1, std::move(collections), options);
  }
  std::unique_ptr<Trial> open() const { return create_trial(run()); }
  void expect_undamaged() const {
    const VerifyReport report = verify_run(LocalStore(run()));
    EXPECT_TRUE(report.ok());
    EXPECT_THAT(report.findings, IsEmpty());
  }
  std::size_t segments() const { return LocalStore(run()).list(kIndexPrefix).size(); }

  const ScratchDirectory scratch;
};

void save_scalar(RunWriter& writer, std::string_view name, double value) {
  writer.save(name, TensorView(&value, {1}));
}

std::vector<float> ramp(std::size_t size, float begin = 0) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), begin);
  return values;
}

Collection with_reductions(std::string name, std::string pattern, ReductionConfig config) {
  Collection collection(std::move(name));
  collection.include({std::move(pattern)}).set_reduction_config(std::move(config));
  return collection;
}

Collections collections_of(std::initializer_list<Collection> all) {
  Collections result;
  for (const Collection& each : all) result.emplace(each.name(), each);
  return result;
}

// ---- What is written is read

TEST_F(RunWriterTest, steps_have_the_numbers_and_modes_of_the_caller) {
  const auto writer = make();
  writer->step(3, Mode::Train, 1);
  save_scalar(*writer, "loss", 0.5);
  writer->step(10, Mode::Eval, 0);
  save_scalar(*writer, "loss", 0.25);
  writer->step(11, Mode::Train, 7);
  save_scalar(*writer, "loss", 0.125);
  writer->end_run();
  const auto trial = open();
  EXPECT_TRUE(trial->ended());
  EXPECT_THAT(trial->steps(), ElementsAre(3, 10, 11));
  EXPECT_THAT(trial->steps(Mode::Train), ElementsAre(1, 7));
  EXPECT_THAT(trial->steps(Mode::Eval), ElementsAre(0));
  EXPECT_EQ(trial->global_step(Mode::Train, 7), 11);
  EXPECT_EQ(trial->tensor("loss").value(7, Mode::Train).at(0), 0.125);
  expect_undamaged();
}

TEST_F(RunWriterTest, steps_may_have_no_mode) {
  const auto writer = make();
  writer->step(2, Mode::Global, 2);
  save_scalar(*writer, "loss", 1);
  writer->end_run();
  EXPECT_EQ(open()->mode(2), Mode::Global);
}

TEST_F(RunWriterTest, values_of_every_size_are_read_as_they_were) {
  const std::vector<float> small = ramp(3), middle = ramp(1000, 5), large = ramp(5'000'000, 9);
  const std::vector<std::string> words = {"a", "", "three"};
  const auto writer = make();
  for (int step = 0; step < 2; ++step) {
    writer->step(step, Mode::Train, step);
    writer->save("small", TensorView(small.data(), {3}));
    writer->save("middle", TensorView(middle.data(), {10, 100}));
    writer->save("large", TensorView(large.data(), {large.size()}));
    writer->save("transposed", TensorView(middle.data(), DType::F32, {100, 10}, {1, 100}));
    writer->save("words", TensorView(words.data(), {3}));
    writer->save("empty", TensorView(small.data(), {0, 4}));
    writer->save("again", TensorView(middle.data(), {1000}));
  }
  writer->end_run();
  const auto trial = open();
  EXPECT_THAT(trial->tensor_names(), SizeIs(7));
  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(std::ranges::equal(trial->tensor("small").value(step).as<float>(), small));
    EXPECT_TRUE(std::ranges::equal(trial->tensor("middle").value(step).as<float>(), middle));
    EXPECT_TRUE(std::ranges::equal(trial->tensor("large").value(step).as<float>(), large));
    EXPECT_TRUE(std::ranges::equal(trial->tensor("again").value(step).as<float>(), middle));
    EXPECT_EQ(trial->tensor("transposed").value(step).at(1), middle[100]);
    EXPECT_EQ(trial->tensor("words").value(step).strings(), words);
    EXPECT_EQ(trial->tensor("empty").shape(step), Shape({0, 4}));
  }
  expect_undamaged();
}

TEST_F(RunWriterTest, many_steps_are_one_segment) {
  const std::vector<float> values = ramp(100);
  const auto writer = make();
  for (int step = 0; step < 1000; ++step) {
    writer->step(step, Mode::Train, step);
    writer->save("w", TensorView(values.data(), {100}));
    save_scalar(*writer, "loss", step);
  }
  writer->end_run();
  EXPECT_EQ(segments(), 1U);
  EXPECT_THAT(open()->steps(), SizeIs(1000));
  EXPECT_EQ(open()->tensor("loss").value(999).at(0), 999);
  expect_undamaged();
}

TEST_F(RunWriterTest, a_segment_is_cut_when_it_is_large_enough) {
  const std::vector<float> values = ramp(1000);
  const auto writer = make({}, {.segment_bytes = 50'000});
  for (int step = 0; step < 100; ++step) {
    writer->step(step, Mode::Train, step);
    writer->save("w", TensorView(values.data(), {1000}));
  }
  writer->end_run();
  EXPECT_GT(segments(), 5U);
  EXPECT_THAT(open()->steps(), SizeIs(100));
  expect_undamaged();
}

TEST_F(RunWriterTest, collections_decide_what_is_saved_of_a_tensor) {
  const auto writer = make(collections_of({
      with_reductions("weights", "^w", {.reductions = {"mean"}, .save_shape = true}),
      with_reductions("extremes", "^w1", {.reductions = {"max"}, .abs_reductions = {"min"}}),
      with_reductions("inputs", "^x", {.reductions = {"mean"}, .save_raw_tensor = true}),
  }));
  const std::vector<float> values = ramp(100, 1);
  writer->step(0, Mode::Eval, 0);
  for (const char* name : {"w0", "w1", "x", "other"})
    writer->save(name, TensorView(values.data(), {100}));
  writer->end_run();
  const auto trial = open();
  const auto record = [&](const char* name) { return trial->tensor(name).record(0); };
  EXPECT_FALSE(record("w0").has_value);
  EXPECT_EQ(record("w0").shape, Shape({100}));
  EXPECT_EQ(trial->tensor("w0").find_reduction(0, require_reduction("mean"))->value, 50.5);
  EXPECT_FALSE(trial->tensor("w0").find_reduction(0, require_reduction("max")));
  EXPECT_EQ(trial->tensor("w1").find_reduction(0, require_reduction("max"))->value, 100);
  EXPECT_EQ(trial->tensor("w1").find_reduction(0, require_reduction("abs_min"))->value, 1);
  EXPECT_EQ(trial->tensor("w1").find_reduction(0, require_reduction("mean"))->value, 50.5);
  EXPECT_TRUE(record("x").has_value);
  EXPECT_EQ(trial->tensor("x").find_reduction(0, require_reduction("mean"))->value, 50.5);
  EXPECT_TRUE(record("other").has_value);
  EXPECT_TRUE(record("other").reductions.set.empty());
  EXPECT_THAT(trial->tensor_names({.collection = "weights"}), ElementsAre("w0", "w1"));
  expect_undamaged();
}

TEST_F(RunWriterTest, readers_see_when_collections_save_which_does_not_matter_here) {
  Collection rare("rare");
  rare.include({"r"}).set_save_config({.save_interval = 100});
  const auto writer = make(collections_of({rare}));
  writer->step(7, Mode::Eval, 7);
  save_scalar(*writer, "r", 1);
  writer->end_run();
  EXPECT_THAT(open()->steps(), ElementsAre(7));
  EXPECT_EQ(open()->collection("rare").save_config()->mode(Mode::Train).save_interval, 100);
}

TEST_F(RunWriterTest, workers_write_one_run_that_ends_with_the_last) {
  RunWriter first(run(), "worker_0", 2, {});
  RunWriter second(run(), "worker_1", 2, {});
  for (RunWriter* writer : {&first, &second}) {
    writer->step(0, Mode::Train, 0);
    save_scalar(*writer, "loss", writer == &first ? 1 : 2);
  }
  first.step(1, Mode::Train, 1);
  save_scalar(first, "loss", 3);
  first.end_run();
  EXPECT_FALSE(open()->ended());
  EXPECT_EQ(open()->num_workers(), 2);
  second.end_run();
  const auto trial = open();
  EXPECT_TRUE(trial->ended());
  EXPECT_EQ(trial->tensor("loss").value(0, Mode::Global, "worker_1").at(0), 2);
  EXPECT_THAT(trial->missing_workers(1), ElementsAre("worker_1"));
  expect_undamaged();
}

TEST_F(RunWriterTest, workers_are_written_one_after_another_in_any_order) {
  for (const char* const worker : {"worker_1", "worker_2", "worker_0"}) {
    EXPECT_FALSE(fs::exists(run()) && open()->ended());
    RunWriter writer(run(), worker, 3, {});
    writer.step(0, Mode::Train, 0);
    save_scalar(writer, "loss", 1);
    writer.end_run();
  }
  EXPECT_TRUE(open()->ended());
  {
    RunWriter writer(run(), "worker_2", 3, {}, {.existing = Existing::Continue});
    EXPECT_FALSE(open()->ended()) << "until the worker ends again";
    writer.end_run();
  }
  EXPECT_TRUE(open()->ended());
  expect_undamaged();
}

TEST_F(RunWriterTest, a_step_without_values_does_not_exist) {
  const auto writer = make();
  writer->step(0, Mode::Train, 0);
  writer->step(1, Mode::Train, 1);
  save_scalar(*writer, "loss", 1);
  writer->step(2, Mode::Train, 2);
  writer->end_run();
  EXPECT_THAT(open()->steps(), ElementsAre(1));
}

TEST_F(RunWriterTest, a_run_may_have_no_step) {
  make()->end_run();
  EXPECT_THAT(open()->steps(), IsEmpty());
  EXPECT_TRUE(open()->ended());
}

TEST_F(RunWriterTest, the_last_of_two_values_of_a_name_counts) {
  const LogCapture log;
  const std::vector<float> one = ramp(1000, 1), two = ramp(1000, 2);
  const auto writer = make();
  writer->step(0, Mode::Train, 0);
  writer->save("w", TensorView(one.data(), {1000}));
  save_scalar(*writer, "loss", 1);
  writer->save("w", TensorView(two.data(), {1000}));
  writer->end_run();
  EXPECT_EQ(open()->tensor("w").value(0).at(0), 2);
  ASSERT_THAT(log.lines(), SizeIs(1));
  EXPECT_THAT(log.lines()[0].second, HasSubstr("saved twice at step 0"));
  expect_undamaged();
}

// ---- Commits, ends and restarts

TEST_F(RunWriterTest, a_step_exists_when_the_next_one_begins) {
  const auto writer = make();
  writer->step(0, Mode::Train, 0);
  save_scalar(*writer, "loss", 1);
  EXPECT_THAT(open()->steps(), IsEmpty());
  writer->step(1, Mode::Train, 1);
  EXPECT_THAT(open()->steps(), ElementsAre(0));
}

TEST_F(RunWriterTest, without_an_end_committed_steps_are_sealed_and_the_open_one_is_dropped) {
  const std::vector<float> large = ramp(5'000'000);
  {
    const auto writer = make();
    writer->step(0, Mode::Train, 0);
    writer->save("w", TensorView(large.data(), {1000}));
    writer->step(1, Mode::Train, 1);
    writer->save("w", TensorView(large.data(), {large.size()}));
    save_scalar(*writer, "loss", 1);
    writer->save("v", TensorView(large.data(), {large.size()}));
  }
  EXPECT_THAT(open()->steps(), ElementsAre(0));
  EXPECT_FALSE(open()->ended());
  EXPECT_EQ(verify_run(LocalStore(run())).damages(), 0U);
}

TEST_F(RunWriterTest, a_kill_leaves_every_committed_step) {
  const std::vector<float> values = ramp(10'000);
  for (int last = 0; last < 4; ++last) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto writer = make({}, {.segment_bytes = 100'000});
      for (int step = 0; step <= last; ++step) {
        writer->step(10 * last + step, Mode::Train, 10 * last + step);
        writer->save("w", TensorView(values.data(), {values.size()}));
      }
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  // Each process was another attempt, with the steps that it committed.
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(10, 20, 21, 30, 31, 32));
  EXPECT_TRUE(std::ranges::equal(trial->tensor("w").value(32).as<float>(), values));
  EXPECT_FALSE(trial->ended());
  EXPECT_EQ(verify_run(LocalStore(run())).damages(), 0U);
}

TEST_F(RunWriterTest, a_later_writer_hides_the_steps_that_it_writes_again) {
  for (const double value : {1.0, 2.0}) {
    const auto writer = make();
    for (int step = value == 1 ? 0 : 1; step < 3; ++step) {
      writer->step(step, Mode::Train, step);
      save_scalar(*writer, "loss", value);
    }
    if (value == 2) writer->end_run();
  }
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial->tensor("loss").value(0).at(0), 1);
  EXPECT_EQ(trial->tensor("loss").value(1).at(0), 2);
}

TEST_F(RunWriterTest, a_finished_run_is_refused_replaced_or_continued) {
  const auto write = [&](int step, Existing existing) {
    const auto writer = make({}, {.existing = existing});
    writer->step(step, Mode::Train, step);
    save_scalar(*writer, "loss", step);
    writer->end_run();
  };
  write(0, Existing::Refuse);
  EXPECT_THAT([&] { write(1, Existing::Refuse); },
              ThrowsMessage<UsageError>(HasSubstr("already holds a finished run")));
  write(1, Existing::Continue);
  EXPECT_THAT(open()->steps(), ElementsAre(0, 1));
  write(2, Existing::Replace);
  EXPECT_THAT(open()->steps(), ElementsAre(2));
}

// ---- Mistakes

TEST_F(RunWriterTest, steps_do_not_go_back) {
  const auto writer = make();
  writer->step(5, Mode::Train, 3);
  save_scalar(*writer, "loss", 1);
  const auto is_refused = ThrowsMessage<UsageError>(HasSubstr("must be greater than the steps"));
  EXPECT_THAT([&] { writer->step(5, Mode::Train, 4); }, is_refused);
  EXPECT_THAT([&] { writer->step(4, Mode::Eval, 0); }, is_refused);
  EXPECT_THAT([&] { writer->step(6, Mode::Train, 3); }, is_refused);
  EXPECT_THAT([&] { writer->step(-1, Mode::Eval, 0); }, is_refused);
  EXPECT_THAT([&] { writer->step(6, Mode::Eval, -1); }, is_refused);
  EXPECT_THROW(writer->step(6, Mode::Global, 7), UsageError);
  EXPECT_THROW(writer->step(6, static_cast<Mode>(77), 6), UsageError);
  save_scalar(*writer, "more", 2);  // the step is still open
  writer->end_run();
  EXPECT_THAT(open()->tensor_names({.step = 5}), ElementsAre("loss", "more"));
}

TEST_F(RunWriterTest, nothing_is_saved_outside_of_a_step) {
  const auto writer = make();
  EXPECT_THAT([&] { save_scalar(*writer, "loss", 1); },
              ThrowsMessage<UsageError>(HasSubstr("before the first step")));
  writer->end_run();
  const auto has_ended = ThrowsMessage<UsageError>(HasSubstr("end_run() was called"));
  EXPECT_THAT([&] { save_scalar(*writer, "loss", 1); }, has_ended);
  EXPECT_THAT([&] { writer->step(0, Mode::Train, 0); }, has_ended);
  EXPECT_THAT([&] { writer->end_run(); }, has_ended);
}

TEST_F(RunWriterTest, a_value_that_cannot_be_saved_costs_nothing_else) {
  const auto writer = make();
  writer->step(0, Mode::Train, 0);
  save_scalar(*writer, "loss", 1);
  const float value = 1;
  const float* const nothing = nullptr;
  EXPECT_THROW(writer->save("w", TensorView(nothing, {1})), UsageError);
  EXPECT_THROW(writer->save("w", TensorView(&value, DType::F32, {-1})), UsageError);
  EXPECT_THROW(writer->save("w", TensorView(&value, static_cast<DType>(99), {1})), UsageError);
  for (const std::string& name :
       {std::string(), std::string("cupel/note"), std::string("\xff"), std::string(5000, 'x')})
    EXPECT_THROW(writer->save(name, TensorView(&value, {1})), UsageError) << name;
  writer->end_run();
  EXPECT_THAT(open()->tensor_names(), ElementsAre("loss"));
  expect_undamaged();
}

TEST_F(RunWriterTest, a_writer_that_makes_no_sense_is_refused_before_it_writes) {
  EXPECT_THROW(RunWriter("", "worker_0", 1, {}), UsageError);
  EXPECT_THROW(RunWriter(run(), "", 1, {}), UsageError);
  EXPECT_THROW(RunWriter(run(), "a/b", 1, {}), UsageError);
  EXPECT_THROW(RunWriter(run(), "worker_0", 0, {}), UsageError);
  EXPECT_THROW(RunWriter(run(), "worker_0", 1, collections_of({Collection("\xff")})), UsageError);
  EXPECT_THROW(RunWriter(run(), "worker_0", 1,
                         collections_of({with_reductions("a", "b", {.reductions = {"c"}})})),
               UsageError);
  EXPECT_THAT([] { RunWriter("s3://bucket/run", "worker_0", 1, {}); },
              ThrowsMessage<UsageError>(HasSubstr("writes into a directory")));
  EXPECT_FALSE(fs::exists(run()));
}

TEST_F(RunWriterTest, collections_that_are_too_large_leave_the_run_as_it_is) {
  const format_detail::FormatLimitsForTest limits({.written_collections_file = 4096});
  const Collections large =
      collections_of({with_reductions("a", std::string(5000, 'x'), {.reductions = {"mean"}})});
  const auto is_refused = ThrowsMessage<UsageError>(HasSubstr("at most 4096"));
  EXPECT_THAT([&] { make(large); }, is_refused);
  EXPECT_FALSE(fs::exists(run()));
  const auto writer = make();
  writer->step(0, Mode::Train, 0);
  save_scalar(*writer, "loss", 1);
  writer->end_run();
  for (const Existing existing : {Existing::Replace, Existing::Continue}) {
    EXPECT_THAT([&] { make(large, {.existing = existing}); }, is_refused);
    EXPECT_TRUE(open()->ended());
    EXPECT_THAT(open()->steps(), ElementsAre(0));
  }
}

// The file gets the numbers of the last steps when the run ends.
TEST_F(RunWriterTest, collections_that_are_written_have_room_for_their_numbers_at_the_end) {
  constexpr std::int64_t kGreat = std::int64_t{1} << 62;
  int written = 0;
  for (std::size_t length = 200; length < 2048; length += 7) {
    const format_detail::FormatLimitsForTest limits({.written_collections_file = 2048});
    std::unique_ptr<RunWriter> writer;
    try {
      writer = make(collections_of({with_reductions("a", std::string(length, 'x'), {})}),
                    {.existing = Existing::Replace});
    } catch (const UsageError&) {
      continue;
    }
    writer->step(kGreat, Mode::Train, kGreat);
    writer->step(kGreat + 1, Mode::Eval, kGreat);
    writer->end_run();
    ++written;
  }
  EXPECT_GT(written, 0);
}

TEST_F(RunWriterTest, a_worker_has_one_writer_at_a_time) {
  const auto writer = make();
  EXPECT_THAT([&] { make(); }, ThrowsMessage<UsageError>(HasSubstr("another process is writing")));
}

TEST_F(RunWriterTest, nothing_is_written_after_the_store_has_failed) {
  const auto writer = make();
  writer->step(0, Mode::Train, 0);
  save_scalar(*writer, "loss", 1);
  fs::rename(run(), run() + "-moved");
  EXPECT_THROW(writer->step(1, Mode::Train, 1), StoreError);
  const auto is_broken = ThrowsMessage<UsageError>(HasSubstr("has failed"));
  EXPECT_THAT([&] { save_scalar(*writer, "loss", 1); }, is_broken);
  EXPECT_THAT([&] { writer->step(2, Mode::Train, 2); }, is_broken);
  EXPECT_THAT([&] { writer->end_run(); }, is_broken);
  EXPECT_FALSE(fs::exists(run()));
}

}  // namespace
}  // namespace cupel::testing
