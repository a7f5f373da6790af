// What a hook does when it cannot keep up: commits that take too long, buffers that are full, a
// budget that is overdrawn. Each leaves a note in the run that says why data is missing.

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class HookLimits : public HookTest {
 protected:
  HookLimits() {
    slow_->before_append = [this](std::string_view) {
      std::unique_lock lock(mutex_);
      ++appends_;
      opened_.wait(lock, [&] { return open_; });
    };
  }
  ~HookLimits() override { open_store(); }

  std::unique_ptr<Hook> make_slow_hook() { return std::make_unique<Hook>(options, slow_); }
  void close_store() { set_open(false); }
  void open_store() { set_open(true); }
  int appends() {
    const std::lock_guard lock(mutex_);
    return appends_;
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> texts;
    for (const Note& note : open_trial()->notes()) texts.push_back(note.text);
    return texts;
  }
  // Steps with so many floats each.
  void train(Hook& hook, int steps, std::size_t floats) {
    const std::vector<float> values = ramp(floats);
    for (int i = 0; i < steps; ++i) {
      hook.next_step();
      hook.save_tensor("fc.weight", view(values));
      hook.save_scalar("loss", 1);
    }
  }

 private:
  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    opened_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = true;
  int appends_ = 0;
  std::shared_ptr<TamperedStore> slow_ = std::make_shared<TamperedStore>(store);
};

TEST_F(HookLimits, after_a_commit_that_took_too_long_steps_wait_again_once_the_writer_caught_up) {
  options.commit_timeout = 500ms;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 5, 4);  // one wait, not four
  open_store();
  while (hook->committed_step() < 3) std::this_thread::yield();
  hook->next_step();
  hook->save_scalar("loss", 1);
  hook->next_step();
  EXPECT_EQ(hook->committed_step(), 5);
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("step 0 was not committed within 500 ms")));
  EXPECT_EQ(report.steps_committed, 6);
  EXPECT_THAT(notes(), Contains(HasSubstr(R"("kind":"commit_timeout","step":0)")));
  EXPECT_THAT(notes(), Contains(HasSubstr(R"("kind":"commit_timeout","step":3)")));
}

TEST_F(HookLimits, an_interruption_ends_the_wait_for_a_commit_and_nothing_else) {
  options.commit_timeout = 1h;
  int questions = 0;
  options.interrupted = [&] { return ++questions % 2 == 0; };
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 2, 4);
  EXPECT_EQ(questions, 2) << "step 0 was waited for";
  EXPECT_EQ(hook->step(), 1);
  EXPECT_EQ(hook->committed_step(), -1);
  open_store();
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.steps_committed, 2);
  EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(HookLimits, a_step_that_finds_the_buffers_full_is_left_out_whole_and_noted) {
  options.buffer_bytes = 1U << 20U;
  options.when_full = WhenFull::DropStep;
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 20, 30'000);
  open_store();
  while (hook->committed_step() < 1) std::this_thread::yield();
  train(*hook, 1, 4);
  const HookReport report = hook->close();
  EXPECT_GT(report.steps_dropped, 0);
  EXPECT_EQ(report.steps_committed + report.steps_dropped, 21);
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("the buffers are full")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("\"kind\":\"dropped_steps\"")));
  EXPECT_EQ(notes(), report.notes);

  const auto trial = open_trial();
  const Tensor weight = trial->tensor("fc.weight");
  EXPECT_THAT(trial->steps(), SizeIs(report.steps_committed));
  EXPECT_EQ(weight.steps(), trial->steps()) << "no step is there in part";
  for (const std::int64_t step : trial->steps())
    EXPECT_EQ(floats(weight.value(step)), ramp(step == 20 ? 4 : 30'000)) << step;
}

TEST_F(HookLimits, a_value_larger_than_all_buffers_is_dropped_without_a_trace_in_other_steps) {
  options.buffer_bytes = 1U << 20U;
  options.when_full = WhenFull::DropStep;
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 1, 1'000'000);  // 4 MB in pieces of 64 KiB
  open_store();
  while (hook->committed_step() < 0) train(*hook, 1, 100);
  const HookReport report = hook->close();
  EXPECT_GE(report.steps_dropped, 1);
  const auto trial = open_trial();
  ASSERT_GT(trial->steps().front(), 0);
  EXPECT_EQ(floats(trial->tensor("fc.weight").value(trial->steps().front())), ramp(100));
}

TEST_F(HookLimits, steps_that_wait_for_a_slow_store_go_there_together) {
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 100, 1000);
  open_store();
  EXPECT_EQ(hook->close().steps_committed, 100);
  EXPECT_LT(appends(), 20) << "one by one it were 200, values and index entries";
  const auto trial = open_trial();
  for (const std::int64_t step : trial->steps())
    EXPECT_EQ(floats(trial->tensor("fc.weight").value(step)), ramp(1000)) << step;
}

TEST_F(HookLimits, a_collection_named_in_a_dropped_step_is_known_with_the_next_one) {
  options.buffer_bytes = 1U << 20U;
  options.when_full = WhenFull::DropStep;
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  hook->next_step();
  hook->save_scalar("learning_rate", 0.1, "mine");
  hook->save_tensor("fc.weight", view(ramp(1'000'000)));  // does not fit
  hook->next_step();
  open_store();
  hook->save_scalar("learning_rate", 0.1, "mine");
  while (hook->committed_step() < 1) train(*hook, 1, 4);
  EXPECT_THAT(open_trial()->tensor_names({.collection = "mine"}), ElementsAre("learning_rate"));
}

TEST_F(HookLimits, segments_are_cut_also_while_the_writer_is_behind) {
  options.buffer_bytes = 16U << 20U;
  options.segment_bytes = 1U << 20U;
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 10, 200'000);  // 0.8 MB a step
  open_store();
  train(*hook, 10, 200'000);
  hook->close();
  EXPECT_GT(count(kIndexPrefix), 5);
}

TEST_F(HookLimits, a_complaint_that_is_thrown_does_not_keep_the_next_step_from_beginning) {
  options.commit_timeout = 500ms;
  options.on_error = OnError::Throw;
  auto hook = make_slow_hook();
  train(*hook, 1, 4);
  close_store();
  EXPECT_THROW(hook->next_step(), UsageError);
  EXPECT_EQ(hook->step(), 1);
  hook->save_scalar("loss", 2);
  open_store();
  hook->next_step();
  EXPECT_EQ(hook->close().steps_committed, 2);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1));
}

TEST_F(HookLimits, that_the_last_step_was_dropped_is_noted_too) {
  options.buffer_bytes = 1U << 20U;
  options.when_full = WhenFull::DropStep;
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 1, 1'000'000);
  open_store();
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_dropped, 1);
  EXPECT_EQ(report.steps_committed, 0);
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("dropped_steps")));
  EXPECT_THAT(open_trial()->steps(), IsEmpty());
}

TEST_F(HookLimits, buffers_that_are_full_make_a_save_wait_unless_asked_otherwise) {
  options.buffer_bytes = 1U << 20U;
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  std::atomic<bool> done = false;
  std::jthread training([&] {
    train(*hook, 60, 30'000);
    done = true;
  });
  // More than the buffers hold cannot have been taken while nothing is written.
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(done);
  open_store();
  training.join();
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_committed, 60);
  EXPECT_GT(report.waiting, 0);
  EXPECT_LE(report.waiting, report.overhead);
}

TEST_F(HookLimits, steps_of_small_values_are_bounded_too) {
  options.buffer_bytes = 1U << 20U;
  options.commit = Commit::Background;
  auto hook = make_slow_hook();
  close_store();
  std::atomic<int> begun = 0;
  std::jthread training([&] {
    for (int i = 0; i < 4000; ++i) {
      train(*hook, 1, 4);
      ++begun;
    }
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_LT(begun, 4000);
  open_store();
  training.join();
  EXPECT_EQ(hook->close().steps_committed, 4000);
}

TEST_F(HookLimits, steps_of_small_values_are_dropped_too_when_too_many_wait) {
  options.buffer_bytes = 1U << 20U;
  options.commit = Commit::Background;
  options.when_full = WhenFull::DropStep;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 4000, 4);
  open_store();
  const HookReport report = hook->close();
  EXPECT_GT(report.steps_dropped, 0);
  EXPECT_EQ(report.steps_committed + report.steps_dropped, 4000);
}

TEST_F(HookLimits, over_its_budget_a_hook_does_without_what_costs_most_and_says_so) {
  options.overhead_budget = 1e-9;  // overdrawn by anything
  options.include_collections = {"weights"};
  auto hook = make_hook();
  train(*hook, 40, 1000);
  const HookReport report = hook->close();
  EXPECT_GT(report.steps_left_out, 0);
  EXPECT_THAT(report.notes, Contains(HasSubstr(R"("level":"background","before":"full")")));
  EXPECT_THAT(report.notes, Contains(HasSubstr(R"("level":"reductions only")")));
  EXPECT_THAT(report.notes, Contains(HasSubstr(R"("level":"1 of 2 due steps")")));
  EXPECT_EQ(notes(), report.notes);

  const auto trial = open_trial();
  const Tensor weight = trial->tensor("fc.weight");
  EXPECT_EQ(floats(weight.value(0)), ramp(1000));
  EXPECT_TRUE(weight.record(weight.steps().back()).reductions.set.contains({ReductionOp::Mean}));
  EXPECT_FALSE(weight.record(weight.steps().back()).has_value);
  EXPECT_EQ(weight.reduction_value(weight.steps().back(), "max"), 999);
  EXPECT_THAT(trial->tensor("loss").steps(), SizeIs(40)) << "scalars are always saved";
}

TEST_F(HookLimits, values_that_must_be_raw_stay_raw_over_the_budget) {
  options.overhead_budget = 1e-9;
  auto hook = make_hook();
  hook->get_collection("losses").include("per_example_loss");
  const std::vector<float> losses = ramp(100);
  for (int i = 0; i < 4; ++i) {
    hook->next_step();
    hook->save_tensor("per_example_loss", view(losses));
  }
  hook->close();
  const auto trial = open_trial();
  const Tensor saved = trial->tensor("per_example_loss");
  for (const std::int64_t step : saved.steps()) EXPECT_EQ(floats(saved.value(step)), losses);
}

TEST_F(HookLimits, what_the_hook_has_to_say_is_in_the_run_even_if_the_last_steps_saved_nothing) {
  options.commit_timeout = 20ms;
  options.save_config = {.save_interval = 500};
  auto hook = make_slow_hook();
  hook->next_step();
  hook->save_scalar("loss", 1);
  close_store();
  hook->next_step();
  hook->next_step();
  open_store();
  hook->close();
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("commit_timeout")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0));
}

TEST_F(HookLimits, notes_of_one_kind_do_not_keep_others_from_being_written) {
  options.buffer_bytes = 1U << 20U;
  options.when_full = WhenFull::DropStep;
  options.commit_timeout = 0ms;
  auto hook = make_slow_hook();
  close_store();
  train(*hook, 200, 4);  // each with a note that its commit was not waited for
  train(*hook, 1, 1'000'000);
  open_store();
  const HookReport report = hook->close();
  EXPECT_THAT(report.notes, SizeIs(101));
  EXPECT_THAT(report.notes, Contains(HasSubstr(R"("kind":"dropped_steps")")));
  EXPECT_EQ(notes(), report.notes);
}

TEST_F(HookLimits, the_report_tells_the_share_of_time) {
  auto hook = make_hook();
  train(*hook, 10, 1000);
  const HookReport report = hook->close();
  EXPECT_GT(report.overhead, 0);
  EXPECT_LE(report.overhead, 1);
  EXPECT_GT(report.waiting, 0);
  EXPECT_LE(report.waiting, report.overhead);
  EXPECT_GT(open_trial()->totals().overhead.value(), 0);
}

}  // namespace
}  // namespace cupel
