// Steps that the caller numbers and ends: adapters count iterations that are not the hook's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "environment_guard.h"
#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::int64_t kLastStep = 999'999'999'999;

class NumberedSteps : public AnyHookTest {
 protected:
  double loss(std::int64_t step) const {
    return open_trial()->tensor("loss").value(step).as<double>()[0];
  }
};

TEST_P(NumberedSteps, are_those_of_the_run_and_of_the_mode) {
  auto hook = make_hook();
  hook->set_mode(Mode::Train);
  for (const std::int64_t step : {3, 10, 11}) {
    hook->next_step(step);
    EXPECT_EQ(hook->step(), step);
    EXPECT_EQ(hook->mode_step(Mode::Train), step);
    hook->save_scalar("loss", static_cast<double>(step));
  }
  hook->set_mode(Mode::Eval);
  hook->next_step(12);
  hook->save_scalar("loss", 12);
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.steps_begun, 4);
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(3, 10, 11, 12));
  EXPECT_THAT(trial->steps(Mode::Train), ElementsAre(3, 10, 11));
  EXPECT_THAT(trial->steps(Mode::Eval), ElementsAre(12));
  EXPECT_EQ(loss(10), 10);
}

TEST_P(NumberedSteps, are_counted_on_by_steps_without_a_number) {
  auto hook = make_hook();
  hook->next_step(7);
  hook->next_step();
  EXPECT_EQ(hook->step(), 8);
}

TEST_P(NumberedSteps, are_due_by_their_number) {
  options.save_config = {.save_interval = 5};
  auto hook = make_hook();
  std::vector<std::int64_t> due;
  for (const std::int64_t step : {1, 4, 5, 9, 10, 20, 21}) {
    hook->next_step(step);
    if (hook->wants("fc.weight")) due.push_back(step);
  }
  EXPECT_THAT(due, ElementsAre(5, 10, 20));
}

TEST_P(NumberedSteps, that_are_not_behind_the_last_begin_no_step_and_are_reported_once) {
  auto hook = make_hook();
  hook->next_step(5);
  hook->save_tensor("a.weight", view({1}));
  for (const std::int64_t step : {5, 4, -1}) {
    hook->next_step(step);
    hook->save_tensor("a.weight", view({2}));  // belongs to no step
  }
  hook->next_step(6);
  hook->save_tensor("a.weight", view({3}));
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems,
              ElementsAre(AllOf(HasSubstr("next_step(5)"), HasSubstr("the last step, 5")),
                          HasSubstr("left out (reported once): a.weight")));
  EXPECT_EQ(report.steps_begun, 2);
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(5, 6));
  EXPECT_EQ(floats(trial->tensor("a.weight").value(5)), ramp(1, 1));
}

TEST_P(NumberedSteps, that_are_not_behind_the_last_are_usage_errors_where_these_are_thrown) {
  options.on_error = OnError::Throw;
  auto hook = make_hook();
  hook->next_step(5);
  hook->save_scalar("loss", 5);
  EXPECT_THROW(hook->next_step(5), UsageError);
  EXPECT_EQ(hook->committed_step(), 5) << "the step before has ended";
  EXPECT_THROW(hook->next_step(4), UsageError);
  EXPECT_EQ(hook->step(), 5);
  EXPECT_NO_THROW(hook->next_step(6));
  hook->save_scalar("loss", 6);
  EXPECT_FALSE(hook->close().disabled);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(5, 6));
}

TEST_P(NumberedSteps, have_at_most_twelve_digits) {
  auto hook = make_hook();
  hook->next_step(kLastStep + 1);
  hook->next_step(INT64_MAX);
  EXPECT_EQ(hook->step(), -1);
  hook->next_step(kLastStep);
  hook->save_scalar("loss", 1);
  EXPECT_THAT(hook->close().problems, ElementsAre(HasSubstr("is larger than 999999999999")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(kLastStep));
}

TEST_P(NumberedSteps, have_at_most_twelve_digits_also_where_the_hook_counts) {
  auto hook = make_hook();
  hook->next_step(kLastStep);
  hook->save_scalar("loss", 1);
  hook->next_step();
  EXPECT_EQ(hook->step(), kLastStep);
  hook->save_scalar("loss", 2);  // waits for a step
  EXPECT_THAT(
      hook->close().problems,
      ElementsAre(HasSubstr("next_step(): the number is larger than 999999999999"),
                  HasSubstr("no step may follow step 999999999999: the values that waited")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(kLastStep));
  EXPECT_EQ(loss(kLastStep), 1);
  EXPECT_TRUE(open_trial()->ended());
}

TEST_P(NumberedSteps, are_counted_where_nothing_is_saved) {
  testing::EnvironmentGuard environment;
  environment.set("USE_SMDEBUG", "0");
  auto hook = make_hook();
  hook->next_step(5);
  hook->next_step(3);
  hook->next_step(9);
  hook->end_step();
  EXPECT_EQ(hook->step(), 9);
  EXPECT_FALSE(hook->due());
  EXPECT_EQ(hook->close().steps_begun, 2);
}

class EndedSteps : public NumberedSteps {};

TEST_P(EndedSteps, are_committed_when_the_call_returns) {
  auto hook = make_hook();
  for (int step = 0; step < 3; ++step) {
    hook->next_step(step);
    hook->save_tensor("fc.weight", view(ramp(1000)));
    EXPECT_EQ(hook->committed_step(), step - 1);
    hook->end_step();
    EXPECT_EQ(hook->committed_step(), step);
    hook->end_step();
    EXPECT_EQ(hook->step(), step);
  }
  EXPECT_EQ(hook->close().steps_committed, 3);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2));
}

TEST_P(EndedSteps, want_nothing) {
  auto hook = make_hook();
  hook->end_step();  // there is none
  const TensorHandle weight = hook->handle("fc.weight");
  hook->next_step();
  EXPECT_TRUE(hook->wants(weight) && hook->due());
  hook->end_step();
  EXPECT_FALSE(hook->wants(weight));
  EXPECT_FALSE(hook->wants("fc.weight"));
  EXPECT_FALSE(hook->due());
  hook->set_mode(Mode::Global);
  EXPECT_FALSE(hook->wants(weight)) << "a mode begins no step";
  hook->next_step();
  EXPECT_TRUE(hook->wants(weight) && hook->due());
}

TEST_P(EndedSteps, leave_values_of_every_call_to_the_step_that_begins_next) {
  auto hook = make_hook();
  hook->next_step(0);
  hook->save_scalar("loss", 1);
  hook->end_step();
  hook->save_scalar("loss", 2);
  std::vector<float> values = ramp(100);
  hook->save_tensor_always("seen", view(values));
  values.assign(100, 0);
  hook->next_step(4);
  hook->end_step();
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 4));
  EXPECT_EQ(loss(0), 1);
  EXPECT_EQ(loss(4), 2);
  EXPECT_EQ(floats(trial->tensor("seen").value(4)), ramp(100)) << "as it was at the call";
}

TEST_P(EndedSteps, leave_them_at_the_end_to_a_step_of_their_own) {
  auto hook = make_hook();
  hook->set_mode(Mode::Train);
  hook->next_step(4);
  hook->save_tensor("fc.weight", view({1}));
  hook->end_step();
  hook->set_mode(Mode::Eval);
  hook->save_scalar("loss", 0.5);
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_begun, 1) << "the caller began one";
  EXPECT_EQ(report.steps_committed, 2);
  EXPECT_EQ(report.last_committed_step, 5);
  EXPECT_EQ(hook->mode(), Mode::Eval);
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(Mode::Train), ElementsAre(4, 5));
  EXPECT_THAT(trial->steps(Mode::Eval), IsEmpty());
  EXPECT_THAT(trial->tensor_names({.step = 5}), ElementsAre("loss"));
  EXPECT_EQ(loss(5), 0.5);
  EXPECT_TRUE(trial->ended());
}

// No step of the user's is due by chance, and no budget has to admit it.
TEST_P(EndedSteps, leave_them_to_a_step_that_no_budget_leaves_out) {
  options.overhead_budget = 1e-9;
  auto hook = make_hook();
  for (int step = 0; step < 50; ++step) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(ramp(1000)));
    hook->end_step();
  }
  hook->save_scalar("last", 1);
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_begun, 50);
  const auto trial = open_trial();
  EXPECT_EQ(trial->tensor("last").value(50).at(0), 1);
  for (const std::string& note : report.notes) EXPECT_THAT(note, Not(HasSubstr("\"last\":50")));
}

TEST_P(EndedSteps, of_the_attempt_before_are_named_where_a_number_is_refused) {
  {
    auto hook = make_hook();
    hook->next_step(4);
    hook->end_step();
    hook->save_scalar("loss", 4);
    static_cast<void>(hook->close());
  }
  options.existing = Existing::Continue;
  auto hook = make_hook();
  hook->next_step(5);
  hook->next_step(6);
  EXPECT_THAT(
      hook->close().problems,
      ElementsAre(AllOf(HasSubstr("next_step(5): the number is not behind the last step, 5"),
                        HasSubstr("values that waited in a step of their own"))));
}

TEST_P(EndedSteps, have_the_overhead_in_the_first_of_them) {
  auto hook = make_hook();
  for (int step = 0; step < 2; ++step) {
    hook->next_step();
    hook->save_scalar("loss", 1);
    hook->end_step();
  }
  static_cast<void>(hook->close());
  EXPECT_TRUE(open_trial()->totals().overhead.has_value());
}

TEST_P(EndedSteps, have_no_step_behind_them_where_nothing_waits) {
  auto hook = make_hook();
  hook->next_step();
  hook->save_scalar("loss", 1);
  hook->end_step();
  EXPECT_EQ(hook->close().steps_begun, 1);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0));
}

TEST_P(EndedSteps, leave_other_saves_out_and_report_that_once) {
  auto hook = make_hook();
  const TensorHandle weight = hook->handle("fc.weight");
  const TensorHandle unsaved = hook->handle("activation");
  hook->next_step();
  hook->save_tensor(weight, view({1}));
  hook->end_step();
  hook->save_tensor(unsaved, view({2}));  // nobody wants it in any step
  hook->save_tensor(weight, view({2}));
  hook->save_tensor("other.weight", view({2}), {"weights"});
  hook->save_outputs("fc.weight", std::array{view({2})});
  hook->next_step();
  hook->save_tensor(weight, view({3}));
  const HookReport report = hook->close();
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("after end_step() and before the next step, "
                                                     "and this save was left out (reported once): "
                                                     "fc.weight")));
  const auto trial = open_trial();
  EXPECT_THAT(trial->tensor_names(), ElementsAre("fc.weight"));
  EXPECT_EQ(floats(trial->tensor("fc.weight").value(0)), ramp(1, 1));
}

TEST_P(EndedSteps, leave_saves_out_and_report_that_whatever_the_mode_becomes) {
  auto hook = make_hook();
  const TensorHandle weight = hook->handle("fc.weight");
  hook->set_mode(Mode::Train);
  hook->next_step();
  hook->save_tensor(weight, view({1}));
  hook->end_step();
  hook->set_mode(Mode::Eval);
  hook->save_tensor(weight, view({2}));
  hook->save_tensor(weight, view({3}));
  hook->next_step();
  hook->save_tensor(weight, view({4}));
  EXPECT_THAT(hook->close().problems, ElementsAre(HasSubstr("(reported once): fc.weight")));
  const auto trial = open_trial();
  EXPECT_EQ(floats(trial->tensor("fc.weight").value(0)), ramp(1, 1));
  EXPECT_EQ(floats(trial->tensor("fc.weight").value(1)), ramp(1, 4));
}

TEST_P(EndedSteps, throw_the_first_save_that_is_left_out_where_errors_are_thrown) {
  options.on_error = OnError::Throw;
  auto hook = make_hook();
  hook->next_step();
  EXPECT_TRUE(hook->wants("fc.weight"));
  hook->end_step();
  EXPECT_THROW(hook->save_tensor("fc.weight", view({1})), UsageError);
  EXPECT_NO_THROW(hook->save_tensor("fc.weight", view({1})));
  EXPECT_FALSE(hook->close().disabled);
}

TEST_P(EndedSteps, may_be_ended_beside_saves) {
  auto hook = make_hook();
  {
    std::atomic<bool> done{false};
    const std::jthread saves([&] {
      for (int i = 0; !done; ++i) {
        hook->save_tensor("fc.weight", view({1}));
        hook->save_scalar("loss", i);
      }
    });
    for (int step = 0; step < 50 || hook->committed_step() < 0; ++step) {
      hook->next_step(step);
      std::this_thread::yield();
      hook->end_step();
    }
    done = true;
  }
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_GT(report.steps_committed, 0);
  EXPECT_EQ(static_cast<std::int64_t>(open_trial()->steps().size()), report.steps_committed);
}

INSTANTIATE_TEST_SUITE_P(Stores, NumberedSteps, any_store(), name_of_store);
INSTANTIATE_TEST_SUITE_P(Stores, EndedSteps, any_store(), name_of_store);

class EndOfStep : public HookTest {};

TEST_F(EndOfStep, meets_the_error_that_ends_saving) {
  const auto tampered = std::make_shared<TamperedStore>(store);
  tampered->before_append = [](std::string_view key) {
    throw StoreError(std::string(key), false, "the disk is gone");
  };
  Hook hook(options, tampered);
  hook.next_step();
  hook.save_scalar("loss", 1);
  hook.end_step();
  EXPECT_THAT(logged_, HasSubstr("the disk is gone"));
  EXPECT_FALSE(hook.due());
  EXPECT_TRUE(hook.close().disabled);
}

TEST_F(EndOfStep, does_not_wait_where_commits_are_in_the_background) {
  options.commit = Commit::Background;
  const auto tampered = std::make_shared<TamperedStore>(store);
  std::atomic<bool> may_write{false};
  tampered->before_append = [&](std::string_view) {
    while (!may_write) std::this_thread::yield();
  };
  options.commit_timeout = std::chrono::milliseconds(1);  // a call that waits reports that
  Hook hook(options, tampered);
  hook.next_step();
  hook.save_scalar("loss", 1);
  hook.end_step();
  EXPECT_EQ(hook.committed_step(), -1);
  may_write = true;
  const HookReport report = hook.close();
  EXPECT_EQ(report.steps_committed, 1);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.notes, IsEmpty());
}

TEST_F(EndOfStep, of_its_own_at_close_is_due_for_nobody) {
  const auto tampered = std::make_shared<TamperedStore>(store);
  auto hook = std::make_unique<Hook>(options, tampered);
  const TensorHandle weight = hook->handle("fc.weight");
  hook->next_step();
  hook->end_step();
  hook->save_scalar("loss", 1);
  bool is_due = false;
  int appends = 0;
  tampered->before_append = [&](std::string_view) {
    is_due = is_due || hook->due() || hook->wants(weight);
    ++appends;
  };
  EXPECT_EQ(hook->close().steps_committed, 1);
  EXPECT_GT(appends, 0);
  EXPECT_FALSE(is_due);
}

// The commit of the last step takes too long, and there is no step for the note of that.
TEST_F(EndOfStep, leaves_its_note_behind_the_largest_step_to_the_report) {
  options.commit_timeout = std::chrono::milliseconds(1);
  const auto tampered = std::make_shared<TamperedStore>(store);
  std::atomic<bool> may_write{false};
  tampered->before_append = [&](std::string_view) {
    while (!may_write) std::this_thread::yield();
  };
  Hook hook(options, tampered);
  hook.next_step(kLastStep);
  hook.save_scalar("loss", 1);
  hook.end_step();
  may_write = true;
  const HookReport report = hook.close();
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("was not committed"), HasSubstr("are in its report only")));
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("commit_timeout")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(kLastStep));
}

// The commit of step 5 takes too long, which the call that ends the step cannot throw any more: it
// throws the mistake of its number.
TEST_F(EndOfStep, leaves_a_mistake_that_no_call_has_thrown_to_the_report) {
  options.on_error = OnError::Throw;
  options.commit_timeout = std::chrono::milliseconds(1);
  const auto tampered = std::make_shared<TamperedStore>(store);
  std::atomic<bool> may_write{false};
  tampered->before_append = [&](std::string_view) {
    while (!may_write) std::this_thread::yield();
  };
  Hook hook(options, tampered);
  hook.next_step(5);
  hook.save_scalar("loss", 5);
  EXPECT_THROW(hook.next_step(5), UsageError);
  may_write = true;
  hook.save_scalar("loss", 6);  // waits for a step
  const HookReport report = hook.close();
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("step 5 was not committed within 1 ms")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(5, 6));
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(EndOfStep, looks_for_a_request_to_stop) {
  auto hook = make_hook();
  hook->next_step();
  store->put(kStopFile, {}, Durability::Cached);
  std::this_thread::sleep_for(std::chrono::milliseconds(120));  // it looks every 100 ms
  EXPECT_FALSE(hook->stop_requested());
  hook->end_step();
  EXPECT_TRUE(hook->stop_requested());
}

TEST_F(EndOfStep, looks_for_a_request_to_stop_in_the_store_that_is_given_where_nothing_is_written) {
  for (const char* const worker : {"worker_0", "worker_1"}) {
    options.dry_run = true;
    options.worker = worker;
    store = std::make_shared<MemoryStore>();
    auto hook = make_hook();
    store->put(kStopFile, {}, Durability::Cached);
    hook->next_step();
    EXPECT_TRUE(hook->stop_requested()) << worker;
  }
}

class Due : public HookTest {
 protected:
  static bool beyond(const Hook& hook, const std::vector<std::string_view>& collections) {
    return hook.due_beyond(collections);
  }
};

TEST_F(Due, is_any_collection_at_its_steps_and_in_its_mode) {
  options.save_config = {.save_interval = 3,
                         .mode_save_configs = {{Mode::Eval, {.save_interval = 2}}}};
  auto hook = make_hook();
  EXPECT_FALSE(hook->due());
  std::vector<bool> due;
  hook->set_mode(Mode::Train);
  for (int i = 0; i < 4; ++i) {
    hook->next_step();
    due.push_back(hook->due());
  }
  EXPECT_THAT(due, ElementsAre(true, false, false, true));
  hook->set_mode(Mode::Eval);
  EXPECT_FALSE(hook->due()) << "no step of this mode has begun";
  hook->next_step();
  EXPECT_TRUE(hook->due());
  static_cast<void>(hook->close());
  EXPECT_FALSE(hook->due());
}

TEST_F(Due, is_nothing_of_a_worker_that_does_not_save) {
  options.worker = "worker_1";
  auto hook = make_hook();
  hook->next_step();
  EXPECT_FALSE(hook->due());
  EXPECT_FALSE(beyond(*hook, {}));
}

TEST_F(Due, beyond_collections_are_the_others) {
  Collection gradients("gradients");
  gradients.include("gradient").set_save_config({.save_interval = 2});
  auto hook = make_hook();
  hook->add_collection(gradients);
  EXPECT_FALSE(beyond(*hook, {}));
  hook->next_step();  // all are due
  EXPECT_TRUE(beyond(*hook, {}));
  EXPECT_TRUE(beyond(*hook, {"weights", "losses"}));
  EXPECT_FALSE(beyond(*hook, {"weights", "losses", "gradients"}));
  hook->next_step();  // gradients are not
  EXPECT_TRUE(beyond(*hook, {"gradients"}));
  EXPECT_FALSE(beyond(*hook, {"weights", "losses"}));
  EXPECT_FALSE(beyond(*hook, {"losses", "weights", "unknown"}));
  hook->end_step();
  EXPECT_FALSE(beyond(*hook, {}));
}

class SavedAlways : public HookTest {};

TEST_F(SavedAlways, at_every_call_and_raw) {
  options.save_config = {.save_interval = 100};
  options.reduction_config = {.reductions = {"mean"}};
  auto hook = make_hook();
  for (int step = 0; step < 3; ++step) {
    hook->next_step();
    hook->save_tensor_always("fc.weight", view(ramp(1000, static_cast<float>(step))));
  }
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(floats(trial->tensor("fc.weight").value(2)), ramp(1000, 2));
}

TEST_F(SavedAlways, before_the_first_step_it_belongs_to_step_0) {
  auto hook = make_hook();
  {
    std::vector<std::string> words = {"cat", "dog"};
    hook->save_tensor_always("classes", TensorView(words.data(), {2}));
    const std::array<double, 6> matrix = {1, 2, 3, 4, 5, 6};
    hook->save_tensor_always("transposed", TensorView(matrix.data(), DType::F64, {3, 2}, {1, 3}),
                             {"mine"});
    hook->save_tensor_always("empty", TensorView(matrix.data(), {0}));
    words.assign(2, "lost");
  }
  hook->next_step();
  EXPECT_THAT(hook->close().problems, IsEmpty());
  const auto trial = open_trial();
  const TensorValue classes = trial->tensor("classes").value(0);
  EXPECT_EQ(classes.strings()[1], "dog");
  const TensorValue transposed = trial->tensor("transposed").value(0);
  EXPECT_EQ(transposed.shape(), Shape({3, 2}));
  EXPECT_EQ(transposed.as<double>()[1], 4);
  EXPECT_EQ(trial->tensor("empty").value(0).shape(), Shape({0}));
  EXPECT_THAT(trial->tensor_names({.collection = "mine"}), ElementsAre("transposed"));
}

TEST_F(SavedAlways, values_that_wait_for_a_step_have_a_bound) {
  options.buffer_bytes = 1U << 20U;
  auto hook = make_hook();
  const std::vector<float> values = ramp(100'000);
  for (const char* name : {"a", "b", "c", "d"}) hook->save_tensor_always(name, view(values));
  hook->next_step();
  hook->save_tensor_always("d", view(values));
  EXPECT_THAT(hook->close().problems,
              ElementsAre(AllOf(HasSubstr("cannot save c"), HasSubstr("buffer_bytes")),
                          HasSubstr("cannot save d")));
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("a", "b", "d"));
}

TEST_F(SavedAlways, they_are_not_kept_by_a_hook_that_does_not_write) {
  options.buffer_bytes = 1U << 20U;
  const std::vector<float> values = ramp(200'000);
  for (const bool is_dry_run : {true, false}) {
    options.dry_run = is_dry_run;
    options.worker = is_dry_run ? "worker_0" : "worker_1";
    auto hook = make_hook();
    for (const char* name : {"a", "b"}) hook->save_tensor_always(name, view(values));
    hook->next_step();
    hook->end_step();
    hook->save_tensor_always("c", view(values));
    const HookReport report = hook->close();
    EXPECT_THAT(report.problems, IsEmpty());
    EXPECT_EQ(report.steps_begun, 1);
  }
  EXPECT_THAT(logged_, AllOf(HasSubstr("step 0 would save a"), HasSubstr("step 1 would save c")));
  EXPECT_EQ(count(""), 0);
}

TEST_F(SavedAlways, views_that_cannot_be_saved_are_reported) {
  auto hook = make_hook();
  hook->save_tensor_always("early", TensorView(static_cast<const float*>(nullptr), {3}));
  hook->next_step();
  hook->save_tensor_always("", view({1}));
  hook->end_step();
  hook->save_tensor_always("late", TensorView(static_cast<const float*>(nullptr), {3}));
  EXPECT_THAT(hook->close().problems, SizeIs(3));
}

class CollectionsNow : public HookTest {
 protected:
  static std::vector<std::string> names(const Collections& collections, const std::string& name) {
    const auto& listed = collections.at(name).tensor_names();
    return {listed.begin(), listed.end()};
  }
};

TEST_F(CollectionsNow, have_the_names_that_patterns_and_calls_have_put_there) {
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  hook->get_collection("picked").add_tensor_name("by_hand").include("^fc");
  EXPECT_THAT(names(hook->collections_now(), "weights"), IsEmpty());
  for (int step = 0; step < 2; ++step) {
    hook->next_step();
    hook->save_tensor(step == 0 ? "fc.weight" : "late.weight", view({1}));
    hook->save_tensor("mask", view({1}), {"mine", "weights"});
    hook->save_scalar("loss", 1);
  }
  const auto check = [&] {
    const Collections now = hook->collections_now();
    EXPECT_THAT(names(now, "weights"), ElementsAre("fc.weight", "late.weight", "mask"));
    EXPECT_THAT(names(now, "mine"), ElementsAre("mask"));
    EXPECT_THAT(names(now, "losses"), ElementsAre("loss"));
    EXPECT_THAT(names(now, "picked"), ElementsAre("by_hand", "fc.weight"));
  };
  check();
  static_cast<void>(hook->close());
  check();
  EXPECT_THAT(names(hook->get_collections(), "weights"), IsEmpty()) << "these are as configured";
}

}  // namespace
}  // namespace cupel
