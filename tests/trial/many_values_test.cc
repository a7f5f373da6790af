// Values of many steps at once, read by several threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

constexpr std::int64_t kSteps = 40;
constexpr std::int64_t kStepsPerSegment = 10;
// Three megabytes of a tensor in four segments: work for several threads.
constexpr std::size_t kElements = 20'000;

struct LongRun : MemoryRun {
  WorkerWriter writer = worker();
  std::vector<std::string> events;

  LongRun() {
    writer.put_after(kStepsPerSegment);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto value = static_cast<float>(step);
      writer.save(step, {filled("other", 100, -1), filled("w", kElements, value),
                         scalar("loss", static_cast<double>(step))});
      if (step % kStepsPerSegment != kStepsPerSegment - 1) continue;
      events.push_back(writer.events_key());
      writer.seal();
    }
  }
  /// Damages the value of "w" at a step: the last elements are its.
  void damage(std::int64_t step) {
    const auto file = static_cast<std::size_t>(step / kStepsPerSegment);
    const std::vector<std::byte> bytes = *store->get(events[file]);
    const auto steps = static_cast<std::uint64_t>(kStepsPerSegment);
    flip_bit(*store, events[file],
             (static_cast<std::uint64_t>(step) % steps * 2 + 1) * (bytes.size() / steps / 2));
  }
};

TEST(ManyValues, are_those_of_each_step) {
  const LongRun run;
  const Trial trial = run.open();
  const auto values = trial.tensor("w").values();
  ASSERT_THAT(values, SizeIs(kSteps));
  for (const auto& [step, value] : values)
    EXPECT_THAT(value.as<float>(), Each(static_cast<float>(step)));
  const auto losses = trial.tensor("loss").values();
  ASSERT_THAT(losses, SizeIs(kSteps));
  for (const auto& [step, loss] : losses) EXPECT_EQ(loss.at(0), static_cast<double>(step));
}

TEST(ManyValues, of_a_segment_without_its_events_file_are_left_out) {
  const LongRun run;
  run.store->remove(run.events[1]);
  const auto values = run.open().tensor("w").values();
  EXPECT_THAT(values, SizeIs(kSteps - kStepsPerSegment));
  EXPECT_FALSE(values.contains(kStepsPerSegment));
}

TEST(ManyValues, tell_of_the_first_damage_whoever_meets_it) {
  LongRun run;
  run.damage(35);
  run.damage(13);
  run.damage(27);
  const Trial trial = run.open();
  for (int i = 0; i < 20; ++i) {
    try {
      trial.tensor("w").values();
      ADD_FAILURE() << "no damage";
    } catch (const FormatError& error) {
      EXPECT_EQ(error.file, run.events[1]);
    }
  }
}

TEST(ManyValues, let_out_what_the_store_throws_in_any_thread) {
  const LongRun run;
  const auto failing = std::make_shared<StoreWrapper>(run.store);
  const Trial trial = MemoryRun::open_over(failing);
  std::atomic<int> calls{0};
  failing->before_get_range = [&](std::string_view) {
    if (++calls == 17) throw StoreError("some", true, "it failed");
  };
  EXPECT_THROW(trial.tensor("w").values(), StoreError);
  EXPECT_THAT(trial.tensor("w").values(), SizeIs(kSteps));
}

}  // namespace
}  // namespace cupel::testing
