// A spool that has no room, by its bounds or because the disk is full.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <thread>
#include <vector>

#include "spool_fixture.h"
#include "store/file_size_limit.h"

namespace cupel {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FileSizeLimit;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kRoom = 1U << 20U;
constexpr std::size_t kFloats = 10'000;  // 40 KB, less than what is kept free
constexpr int kStepsTooMany = 60;        // more than there is room for

class FullSpool : public SpoolTest {
 protected:
  FullSpool() {
    options.spool_bytes = kRoom;
    options.commit_timeout = 1h;
  }

  std::uint64_t bytes_in_spool() const {
    std::uint64_t bytes = 0;
    for (const ObjectInfo& info : LocalStore(spool_directory()).list("")) bytes += info.size;
    return bytes;
  }
  void await_room() const {
    while (bytes_in_spool() > kRoom / 2) std::this_thread::yield();
  }
  // What is wrong with the values of the steps that were uploaded; "" if nothing.
  std::string defect_of_values() const {
    const auto trial = open_trial();
    for (const std::int64_t step : trial->steps()) {
      const auto values = floats(trial->tensor("fc.weight").value(step));
      if (values != ramp(values.size(), static_cast<float>(step)))
        return "a wrong weight at step " + std::to_string(step);
    }
    return "";
  }
};

TEST_F(FullSpool, makes_a_training_that_blocks_wait_and_loses_nothing) {
  std::atomic<std::uint64_t> most = 0;
  remote_->before([&](std::string_view what, std::string_view) {
    if (what != "put") return;
    std::this_thread::sleep_for(2ms);  // a training that does not wait is far ahead by then
    most = std::max<std::uint64_t>(most, bytes_in_spool());
  });
  auto hook = make_hook();
  remote_->block();
  std::jthread training([&] { train(*hook, kStepsTooMany, kFloats); });
  while (bytes_in_spool() < kRoom * 3 / 4) std::this_thread::yield();
  remote_->unblock();
  training.join();
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_dropped, 0);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(defect(kStepsTooMany - 1, kFloats), "");
  EXPECT_LE(most, kRoom + kRoom / 16);
  remote_->work_again();
}

TEST_F(FullSpool, drops_steps_if_the_option_asks_for_it_and_writes_a_note) {
  options.when_full = WhenFull::DropStep;
  auto hook = make_hook();
  remote_->block();
  train(*hook, kStepsTooMany, kFloats);
  hook->next_step();
  EXPECT_LE(bytes_in_spool(), kRoom);
  remote_->unblock();
  await_room();
  train(*hook, 2, kFloats);
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_GE(report.steps_dropped, kStepsTooMany / 2);
  EXPECT_EQ(report.steps_committed, kStepsTooMany + 2 - report.steps_dropped);
  EXPECT_THAT(report.notes, ElementsAre(AllOf(HasSubstr(R"("kind":"dropped_steps")"),
                                              HasSubstr("the spool was full"))));
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("the spool is full")));
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), SizeIs(report.steps_committed));
  EXPECT_THAT(trial->notes(), SizeIs(1));
  EXPECT_EQ(defect_of_values(), "");
}

// Some steps, then `lost` while no file may grow beyond a limit, and others behind them.
struct FullDisk {
  const char* name;
  rlim_t limit;
  std::size_t floats;  // of the values of steps that are lost
};

class SpoolOnAFullDisk : public FullSpool, public ::testing::WithParamInterface<FullDisk> {
 protected:
  static constexpr int kLost = 3;

  void lose_steps(Hook& hook) {
    hook.next_step();
    hook.save_scalar("loss", 2);
    hook.next_step();  // what was saved before is in the spool
    while (hook.committed_step() < 2) std::this_thread::yield();
    const FileSizeLimit limit(GetParam().limit);
    for (int i = 0; i < kLost; ++i) {
      const std::vector<float> values = ramp(GetParam().floats, static_cast<float>(hook.step()));
      hook.save_tensor("fc.weight", view(values));
      hook.save_scalar("loss", static_cast<double>(hook.step()));
      hook.next_step();
    }
  }
};

TEST_P(SpoolOnAFullDisk, loses_the_steps_that_do_not_fit_and_saving_goes_on) {
  options.segment_age = 1h;
  auto hook = make_hook();
  train(*hook, 2);
  lose_steps(*hook);
  hook->save_tensor("fc.weight", view(ramp(100, static_cast<float>(hook->step()))));
  train(*hook, 2);
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_EQ(report.steps_dropped, kLost);
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("step 3 is lost")));
  EXPECT_THAT(report.notes, ElementsAre(R"({"kind":"dropped_steps","first":3,"last":5,"count":3,)"
                                        R"("why":"the spool was full"})"));
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2, 6, 7, 8));
  EXPECT_THAT(trial->notes(), SizeIs(1));
  EXPECT_TRUE(trial->ended());
  EXPECT_EQ(floats(trial->tensor("fc.weight").value(7)), ramp(100, 7));
  EXPECT_FALSE(has_spool());
}

INSTANTIATE_TEST_SUITE_P(Rows, SpoolOnAFullDisk,
                         ::testing::Values(FullDisk{"for_large_values", 64U << 10U, 50'000},
                                           FullDisk{"for_values_in_pieces", 64U << 10U, 5'000'000},
                                           FullDisk{"for_anything", 0, 100}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(FullSpool, steps_that_are_lost_at_the_end_are_reported) {
  auto hook = make_hook();
  train(*hook, 2);
  hook->next_step();
  {
    const FileSizeLimit limit(64U << 10U);
    hook->save_tensor("fc.weight", view(ramp(50'000)));
    const HookReport report = hook->close();
    EXPECT_EQ(report.steps_dropped, 1);
    EXPECT_EQ(report.last_committed_step, 1);
    EXPECT_THAT(report.problems, Contains(HasSubstr("step 2 is lost")));
  }
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  EXPECT_THAT(trial->notes(), SizeIs(1));
  EXPECT_TRUE(trial->ended());
}

TEST_F(FullSpool, steps_before_a_lost_step_are_uploaded_without_another_step) {
  options.segment_age = 300ms;
  auto hook = make_hook();
  train(*hook, 3);
  hook->next_step();
  {
    const FileSizeLimit limit(0);
    hook->save_scalar("loss", 3);
    hook->next_step();
  }
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (count(kIndexPrefix) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_EQ(defect(2), "");
  train(*hook, 1);
  EXPECT_EQ(hook->close().steps_dropped, 1);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2, 5));
}

TEST_F(FullSpool, steps_that_are_lost_in_the_background_are_counted) {
  options.commit = Commit::Background;
  options.buffer_bytes = kRoom;
  auto hook = make_hook();
  train(*hook, 2);
  {
    const FileSizeLimit limit(0);
    train(*hook, 10, kRoom / 4 / sizeof(float));  // the first were written when the last find room
  }
  train(*hook, 2);
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_GT(report.steps_dropped, 0);
  EXPECT_EQ(report.steps_committed + report.steps_dropped, report.steps_begun);
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("is lost")));
  EXPECT_THAT(open_trial()->steps(), SizeIs(report.steps_committed)) << logged_;
  EXPECT_EQ(defect_of_values(), "");
  EXPECT_THAT(open_trial()->notes(), SizeIs(report.notes.size()));
}

TEST_F(FullSpool, collections_that_come_with_a_lost_step_are_not_lost) {
  auto hook = make_hook();
  remote_->block();
  train(*hook, 2);
  hook->next_step();
  {
    const FileSizeLimit limit(0);
    hook->save_tensor("fc.weight", view(ramp(100)), {"mine"});
    hook->next_step();
  }
  hook->save_tensor("fc.weight", view(ramp(100, 3)));
  hook->next_step();
  {
    const auto trial = create_trial(spool_directory());
    EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 3));
    EXPECT_THAT(trial->tensor_names({.step = 3, .collection = "mine"}), ElementsAre("fc.weight"));
  }
  remote_->unblock();
}

}  // namespace
}  // namespace cupel
