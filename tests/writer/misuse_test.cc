// Calls beside each other that may not be: training goes on, the run is readable, and the report
// names the first save that was dropped.

#include "../../writer/src/call_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class Misuse : public HookTest {
 protected:
  Misuse() {
    options.buffer_bytes = 1U << 20U;
    options.segment_bytes = 1U << 20U;
    options.include_collections = {"weights", "mine"};
    options.reduction_config = {.reductions = {"mean"}, .save_raw_tensor = true};
  }

  // Saves values of every kind from two threads until `work` of this thread is done.
  template <class Work>
  void beside_saves(Hook& hook, Work&& work) {
    std::atomic<bool> done{false};
    std::atomic<int> saving{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        const std::string prefix = std::to_string(t);
        const TensorHandle handle = hook.handle(prefix + ".handle.weight");
        const std::vector<float> few = ramp(9), some = ramp(5000), many = ramp(40000);
        for (int i = 0; !done; ++i) {
          hook.save_tensor(handle, view(some));
          hook.save_tensor(prefix + ".inline.weight", view(few));
          hook.save_tensor(prefix + ".stream.weight", view(many));
          hook.save_tensor(prefix + ".tagged", view(some), {"mine"});
          hook.save_scalar(prefix + ".loss", i);
          hook.save_outputs("module" + prefix, std::vector{view(few)});
          if (i % 4 == 0) static_cast<void>(hook.handle(prefix + std::to_string(i), {"mine"}));
          if (i == 0) ++saving;
        }
      });
    }
    while (saving < 2) std::this_thread::yield();
    work();
    done = true;
  }
};

TEST_F(Misuse, saves_beside_next_step_cost_themselves_at_most) {
  constexpr int kSteps = 60;
  auto hook = make_hook();
  hook->next_step();
  beside_saves(*hook, [&] {
    for (int step = 1; step < kSteps; ++step) hook->next_step();
  });
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_EQ(report.steps_begun, kSteps);
  EXPECT_LE(report.problems.size(), 1U);
  EXPECT_THAT(report.problems, Each(HasSubstr("beside next_step()")));
  const auto trial = open_trial();
  EXPECT_EQ(static_cast<std::int64_t>(trial->steps().size()), report.steps_committed);
  for (const std::int64_t step : trial->steps()) {
    for (const std::string& name : trial->tensor_names({.step = step}))
      EXPECT_NO_THROW(static_cast<void>(trial->tensor(name).value(step))) << name << ' ' << step;
  }
}

// The handler's close() would wait for what its thread holds.
TEST_F(Misuse, a_handler_of_a_signal_may_close_while_its_thread_waits_for_saves) {
  auto hook = make_hook();
  hook->next_step();
  static Hook* closed_by_handler;
  static std::atomic<bool> handled;
  closed_by_handler = hook.get();
  handled = false;
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    closed_by_handler->set_mode(Mode::Eval);
    static_cast<void>(closed_by_handler->close());
    handled = true;
  };
  sigaction(SIGUSR1, &action, &before);
  const pthread_t stepping = pthread_self();
  std::atomic<bool> saving{false};
  std::atomic<bool> sent{false};
  set_log_sink([&](LogLevel, std::string_view) {
    if (sent.exchange(true)) return;
    saving = true;
    // The other thread waits for this save by now.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    pthread_kill(stepping, SIGUSR1);
    while (!handled) std::this_thread::yield();
  });
  {
    const std::jthread saves([&] { hook->save_scalar("", 1); });  // reported
    while (!saving) std::this_thread::yield();
    hook->next_step();
  }
  sigaction(SIGUSR1, &before, nullptr);
  set_log_sink({});
  EXPECT_EQ(hook->mode(), Mode::Global);
  EXPECT_EQ(hook->close().steps_begun, 2);
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(Misuse, a_store_of_another_hook_may_close_the_hook_that_waits_for_it) {
  auto outer_store = std::make_shared<TamperedStore>(store);
  auto inner_store = std::make_shared<TamperedStore>(std::make_shared<MemoryStore>());
  Hook outer(options, outer_store);
  Hook inner(options, inner_store);
  outer_store->before_put = [&](std::string_view) { inner.next_step(); };
  inner_store->before_put = [&](std::string_view) { static_cast<void>(outer.close()); };
  outer.next_step();
  outer_store->before_put = inner_store->before_put = [](std::string_view) {};
  outer.save_tensor("a.weight", view({1}));
  EXPECT_EQ(outer.close().steps_committed, 1);
  EXPECT_FALSE(inner.close().disabled);
}

TEST_F(Misuse, saves_beside_set_mode_cost_themselves_at_most) {
  auto hook = make_hook();
  hook->next_step();
  beside_saves(*hook, [&] {
    for (int step = 1; step < 60; ++step) {
      hook->set_mode(step % 2 == 0 ? Mode::Train : Mode::Eval);
      hook->next_step();
    }
  });
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_LE(report.problems.size(), 1U);
  EXPECT_EQ(static_cast<std::int64_t>(open_trial()->steps().size()), report.steps_committed);
}

TEST_F(Misuse, saves_beside_close_leave_a_run_that_has_ended) {
  for (int round = 0; round < 10; ++round) {
    options.existing = Existing::Replace;
    auto hook = make_hook();
    hook->next_step();
    HookReport report;
    beside_saves(*hook, [&] { report = hook->close(); });
    EXPECT_FALSE(report.disabled);
    EXPECT_EQ(report.steps_committed, 1);
    EXPECT_TRUE(open_trial()->ended());
  }
}

TEST_F(Misuse, saves_of_every_call_may_race_close_and_come_after_it) {
  options.existing = Existing::Replace;
  for (int round = 0; round < 10; ++round) {
    auto hook = make_hook();
    hook->next_step();
    std::atomic<bool> done{false};
    std::atomic<int> saved{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (; !done; ++saved) hook->save_scalar("loss", 1);
      });
    while (saved == 0) std::this_thread::yield();
    const HookReport report = hook->close();
    EXPECT_FALSE(report.disabled);
    for (const int before = saved; saved == before;) std::this_thread::yield();
    done = true;
  }
}

// The thread looked at the gate before another one shut it.
TEST(CallGate, runs_no_save_that_begins_when_it_is_shut) {
  writer_detail::CallGate gate;
  int runs = 0;
  const auto save = [&] { gate.run_save([&] { ++runs; }, [] {}); };
  save();
  gate.shut();
  save();
  EXPECT_EQ(runs, 1);
}

TEST_F(Misuse, two_threads_may_not_begin_steps_and_both_are_counted) {
  auto hook = make_hook();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 30; ++i) {
          hook->next_step();
          hook->save_scalar("loss", i);
        }
      });
  }
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_EQ(report.steps_begun, 60);
}

// A store holds next_step() while the other thread saves.
TEST_F(Misuse, the_first_save_that_was_dropped_is_a_problem_of_the_report) {
  const auto tampered = std::make_shared<TamperedStore>(store);
  std::atomic<bool> is_held{false}, may_go_on{false};
  tampered->before_append = [&](std::string_view key) {
    if (!key.starts_with(kIndexPrefix)) return;
    is_held = true;
    while (!may_go_on) std::this_thread::yield();
  };
  auto hook = std::make_unique<Hook>(options, tampered);
  hook->next_step();
  hook->save_scalar("loss", 1);
  std::jthread training([&] { hook->next_step(); });
  while (!is_held) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) hook->save_scalar("accuracy", i);
  may_go_on = true;
  training.join();
  hook->save_scalar("loss", 2);
  const HookReport report = hook->close();
  ASSERT_FALSE(report.problems.empty());
  EXPECT_THAT(report.problems.front(), HasSubstr("was dropped (reported once): accuracy"));
  EXPECT_FALSE(report.disabled);
  EXPECT_FALSE(open_trial()->find_tensor("accuracy"));
  EXPECT_EQ(open_trial()->tensor("loss").value(1).at(0), 2);
}

}  // namespace
}  // namespace cupel
