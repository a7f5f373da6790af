// A hook that closes while there is no room in its spool: what it cannot write any more, it tells,
// and what it has written stays a run that can be delivered and ended.

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../../writer/src/resume_point.h"
#include "cupel/trial/verify_run.h"
#include "spool_fixture.h"
#include "store/file_size_limit.h"

namespace cupel {
namespace {

using namespace writer_detail;

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FileSizeLimit;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr rlim_t kSmallFiles = 64U << 10U;
constexpr std::size_t kTooManyFloats = 50'000;  // for a small file

class CloseOnFullDisk : public SpoolTest {};

TEST_F(CloseOnFullDisk, all_that_the_hook_has_to_say_is_in_one_step) {
  options.segment_bytes = 1;
  options.commit_timeout = 1ms;
  auto hook = make_hook();
  remote_->block();
  train(*hook, 2);
  hook->next_step();
  const FileSizeLimit limit(kSmallFiles);
  hook->save_tensor("fc.weight", view(ramp(kTooManyFloats)));
  hook->next_step();  // is not waited for any longer: a note; and close() finds that it is lost
  remote_->unblock();
  EXPECT_EQ(hook->close().steps_dropped, 1);
  EXPECT_EQ(verify_run(*store).damages(), 0U);
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  std::string notes;
  for (const Note& note : trial->notes()) notes += note.text;
  EXPECT_THAT(notes, HasSubstr(R"("kind":"commit_timeout","step":2)"));
  EXPECT_THAT(notes, HasSubstr(R"("kind":"dropped_steps","first":2)"));
  EXPECT_TRUE(trial->ended());
}

TEST_F(CloseOnFullDisk, notes_that_came_with_a_lost_step_are_not_lost) {
  options.commit_timeout = 0ms;  // a note for nearly every step
  auto hook = make_hook();
  train(*hook, 20);
  hook->next_step();
  while (hook->committed_step() < 19) std::this_thread::yield();
  const FileSizeLimit limit(kSmallFiles);
  hook->save_tensor("fc.weight", view(ramp(kTooManyFloats)));
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_dropped, 1);
  EXPECT_THAT(report.notes, Contains(HasSubstr(R"("kind":"dropped_steps","first":20)")));
  std::vector<std::string> notes;
  for (const Note& note : open_trial()->notes()) notes.push_back(note.text);
  EXPECT_EQ(notes, report.notes);
}

TEST_F(CloseOnFullDisk, what_the_hook_has_to_say_is_no_step_that_is_lost) {
  constexpr int kSteps = 60;
  options.spool_bytes = 1U << 20U;
  options.commit_timeout = 1h;
  options.when_full = WhenFull::DropStep;
  auto hook = make_hook();
  remote_->block();
  train(*hook, kSteps, 10'000);
  hook->next_step();
  remote_->unblock();
  const FileSizeLimit limit(0);
  const HookReport report = hook->close();
  EXPECT_GT(report.steps_dropped, 0);
  EXPECT_EQ(report.steps_committed + report.steps_dropped, kSteps);
  EXPECT_THAT(report.problems, Not(Contains(HasSubstr("is lost"))));
}

TEST_F(CloseOnFullDisk, a_run_is_ended_by_whoever_delivers_it) {
  options.segment_age = 1h;
  options.commit_timeout = 1h;
  auto hook = make_hook();
  train(*hook, 3);
  hook->next_step();
  {
    const FileSizeLimit limit(0);
    const HookReport report = hook->close();
    EXPECT_FALSE(report.disabled);
    EXPECT_EQ(report.steps_dropped, 0);
    EXPECT_EQ(report.steps_not_uploaded, 3);
    EXPECT_THAT(report.problems, ElementsAre(HasSubstr("no room for the collections"),
                                             AllOf(HasSubstr("3 steps"), HasSubstr("cupel sync"))));
  }
  hook.reset();
  EXPECT_TRUE(deliver().ok());
  EXPECT_EQ(defect(2), "");
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(CloseOnFullDisk, room_that_uploads_make_is_waited_for) {
  options.include_regex.assign(100, std::string(1000, 'x'));  // a large collections file
  options.segment_age = 1h;
  options.commit_timeout = 1h;
  auto hook = make_hook();
  train(*hook, 3);
  hook->next_step();
  std::optional<FileSizeLimit> limit(kSmallFiles);
  remote_->before([&](std::string_view what, std::string_view key) {
    if (what == "put" && key.starts_with(kIndexPrefix)) limit.reset();
  });
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(defect(2), "");
  EXPECT_TRUE(open_trial()->ended());
  EXPECT_EQ(last_steps(*store, "worker_0").global, 3) << "the last collections file is there";
}

TEST_F(CloseOnFullDisk, what_no_later_step_can_throw_is_told_in_the_report) {
  options.on_error = OnError::Throw;
  options.commit = Commit::Background;
  options.when_full = WhenFull::DropStep;
  options.buffer_bytes = 1U << 20U;
  options.segment_bytes = 1;
  auto hook = make_hook();
  remote_->block();
  train(*hook, 2);
  hook->next_step();
  while (hook->committed_step() < 1) std::this_thread::yield();
  const FileSizeLimit limit(kSmallFiles);
  hook->save_tensor("fc.weight", view(ramp(kTooManyFloats)));
  hook->next_step();  // while it waits for room
  hook->save_tensor("fc.weight", view(ramp(1U << 20U)));
  remote_->unblock();
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_dropped, 2);
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("step 3 is left out"), HasSubstr("step 2 is lost")));
  EXPECT_THAT(logged_, AllOf(HasSubstr("step 3 is left out"), HasSubstr("step 2 is lost")));
}

// The segment that a full disk has cut off is tried again every 100 ms. Here it could be sealed
// when the upload threads are being ended, which takes a second while a request hangs.
TEST_F(CloseOnFullDisk, nothing_is_sealed_while_the_delivery_ends) {
  options.segment_age = 400ms;
  options.commit_timeout = 1h;
  options.close_timeout = 50ms;
  auto hook = make_hook();
  remote_->block();
  train(*hook, 3);
  hook->next_step();
  std::optional<FileSizeLimit> limit(0);
  hook->save_scalar("loss", 3);
  hook->next_step();
  std::jthread making_room([&] {
    std::this_thread::sleep_for(200ms);
    limit.reset();
  });
  const HookReport report = hook->close();
  making_room.join();
  EXPECT_EQ(report.steps_committed, 3);
  EXPECT_EQ(report.last_committed_step, 2);
  EXPECT_EQ(report.steps_dropped, 1);
  EXPECT_EQ(report.steps_not_uploaded, 3);
  hook.reset();
  remote_->unblock();
  EXPECT_TRUE(deliver().ok());
  EXPECT_EQ(defect(2), "");
}

TEST_F(CloseOnFullDisk, a_delivery_that_fails_names_the_spool) {
  options.commit_timeout = 1h;
  auto hook = make_hook();
  train(*hook, 3);
  hook->next_step();
  const std::string garbage = "{";
  LocalStore(spool_directory()).put(collections_key("worker_0"), std::as_bytes(std::span(garbage)));
  const FileSizeLimit limit(0);  // close() does not write that file again
  EXPECT_THAT(hook->close().problems, Contains(AllOf(HasSubstr("cupel sync " + spool_directory()),
                                                     HasSubstr("collections"))));
}

}  // namespace
}  // namespace cupel
