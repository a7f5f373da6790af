#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "hook_fixture.h"

namespace cupel {
namespace {

class ManyThreads : public HookTest,
                    public ::testing::WithParamInterface<std::tuple<Commit, Into>> {};

// Values inline, in shared chunks and streamed; by handle, by name, by names that are new at every
// step, with tags, and as scalars; in buffers that are too small for all of them.
TEST_P(ManyThreads, save_everything_there_is_beside_each_other) {
  constexpr int kThreads = 8, kSteps = 12;
  options.commit = std::get<Commit>(GetParam());
  if (std::get<Into>(GetParam()) == Into::Spool) write_through_spool();
  options.buffer_bytes = 1U << 20U;
  options.segment_bytes = 3U << 20U;
  options.include_collections = {"weights", "mine"};
  options.reduction_config = {.reductions = {"mean"}, .save_raw_tensor = true};
  auto hook = make_hook();
  const auto value = [](std::size_t size, int step, int thread) {
    return ramp(size, static_cast<float>(step * 100 + thread));
  };
  const std::vector<float> any = ramp(30);
  const auto name = [](int thread, const char* rest) { return std::to_string(thread) + rest; };
  for (int step = 0; step < kSteps; ++step) {
    hook->next_step();
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, step] {
        const TensorHandle handle = hook->handle(name(t, ".handle.weight"));
        hook->save_tensor(handle, view(value(5000, step, t)));
        hook->save_tensor(name(t, ".inline.weight"), view(value(7, step, t)));
        hook->save_tensor(name(t, ".chunk.weight"), view(value(15000, step, t)));
        hook->save_tensor(name(t, ".stream.weight"), view(value(40000, step, t)));
        hook->save_tensor(name(t, ".new.weight") + std::to_string(step), view(value(20, step, t)),
                          {"mine"});
        hook->save_tensor("tagged " + std::to_string(t), view(value(100, step, t)), {"mine"});
        hook->save_scalar(name(t, ".loss"), step + t);
        hook->save_outputs("module " + std::to_string(t), std::vector{view(any)});
        static_cast<void>(hook->wants("weight of thread " + std::to_string(t)));
        static_cast<void>(hook->committed_step());
      });
    }
  }
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_EQ(report.steps_committed, kSteps);
  const auto trial = open_trial();
  for (int step = 0; step < kSteps; ++step) {
    for (int t = 0; t < kThreads; ++t) {
      const auto saved = [&](const std::string& tensor) {
        return floats(trial->tensor(tensor).value(step));
      };
      EXPECT_EQ(saved(name(t, ".handle.weight")), value(5000, step, t));
      EXPECT_EQ(saved(name(t, ".inline.weight")), value(7, step, t));
      EXPECT_EQ(saved(name(t, ".chunk.weight")), value(15000, step, t));
      EXPECT_EQ(saved(name(t, ".stream.weight")), value(40000, step, t));
      EXPECT_EQ(saved(name(t, ".new.weight") + std::to_string(step)), value(20, step, t));
      EXPECT_EQ(saved("tagged " + std::to_string(t)), value(100, step, t));
      EXPECT_EQ(trial->tensor(name(t, ".loss")).value(step).at(0), step + t);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ManyThreads,
                         ::testing::Combine(::testing::Values(Commit::Step, Commit::Background),
                                            any_store()));

}  // namespace
}  // namespace cupel
