// Files that a hook has left in its spool, and the next hook of the same run and worker.

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "spool_fixture.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LeftSpool : public SpoolTest {
 protected:
  LeftSpool() { options.segment_age = 1h; }

  // Leaves `steps` in the spool, and the end of the run.
  void leave_finished_run(int steps) {
    options.close_timeout = 0ms;
    auto hook = make_hook();
    remote_->fail_all();
    train(*hook, steps);
    EXPECT_EQ(hook->close().steps_not_uploaded, steps);
    options.close_timeout = 30s;
    connect_again();
  }

  // Leaves `steps` in the spool, as a process does that is killed behind the last.
  void leave_killed_run(int steps) {
    options.close_timeout = 0ms;
    auto hook = make_hook();
    const auto killed = remote_;
    killed->block();
    train(*hook, steps);
    hook->next_step();
    copy_spools();
    killed->before([](std::string_view, std::string_view key) {
      throw StoreError(std::string(key), true, "the process is dead");
    });
    killed->interrupt();
    hook.reset();
    options.close_timeout = 30s;
    options.spool_dir = spools_->path();
    connect_again();
  }

  // The next hook uploads in the background: nothing is in the store before this returns.
  void await_first_segment() const {
    while (count(kIndexPrefix) == 0) std::this_thread::yield();
  }

 private:
  // Again if the hook, which may still be sealing, takes a file away meanwhile.
  void copy_spools() {
    constexpr int kAttempts = 100;
    std::error_code failure;
    for (int i = 0; i < kAttempts; ++i) {
      spools_.emplace();
      fs::copy(options.spool_dir, spools_->path(), fs::copy_options::recursive, failure);
      if (!failure) return;
    }
    FAIL() << failure.message();
  }

  std::optional<testing::ScratchDirectory> spools_;
};

TEST_F(LeftSpool, is_uploaded_by_the_next_hook_before_it_has_a_step) {
  leave_killed_run(5);
  EXPECT_EQ(count(kIndexPrefix), 0U);
  options.existing = Existing::Continue;
  auto hook = make_hook();
  await_first_segment();
  EXPECT_EQ(defect(4), "");
  train(*hook, 3);
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_EQ(defect(7), "");
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(LeftSpool, by_a_process_that_was_killed_while_it_removed_uploaded_files_is_delivered) {
  options.segment_bytes = 1;
  leave_killed_run(5);
  LocalStore spool(spool_directory());
  const auto indexes = spool.list(kIndexPrefix);
  ASSERT_GE(indexes.size(), 4U);
  for (const std::size_t uploaded : {0U, 1U}) {
    const auto name = *SegmentName::parse_index_key(indexes[uploaded].key);
    for (const std::string& key :
         {collections_key("worker_0"), name.events_key(), name.index_key()})
      store->put(key, *spool.get(key));
    spool.remove(name.index_key());
  }
  const DeliverReport report = deliver();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(defect(4), "");
}

TEST_F(LeftSpool, is_hidden_from_the_step_on_at_which_the_next_hook_begins) {
  leave_killed_run(5);
  auto hook = make_hook();  // from the beginning: a training that has no checkpoint
  train(*hook, 2);
  hook->close();
  EXPECT_EQ(defect(1), "");
  EXPECT_THAT(store->list(kIndexPrefix), SizeIs(2)) << "both attempts are there";
}

TEST_F(LeftSpool, of_a_finished_run_is_not_touched_unless_asked) {
  leave_finished_run(5);
  EXPECT_THROW(make_hook(), UsageError);
  EXPECT_EQ(count(""), 0U);
  EXPECT_TRUE(deliver().ok());
  EXPECT_EQ(defect(4), "");
  EXPECT_THROW(make_hook(), UsageError) << "now it is in the store";
}

TEST_F(LeftSpool, of_a_finished_run_is_replaced_with_what_was_uploaded) {
  make_hook()->close();
  options.existing = Existing::Replace;
  leave_finished_run(5);
  auto hook = make_hook();
  EXPECT_EQ(count(""), 0U);
  train(*hook, 2);
  hook->close();
  EXPECT_EQ(defect(1), "");
  EXPECT_THAT(store->list(kIndexPrefix), SizeIs(1));
}

TEST_F(LeftSpool, of_a_finished_run_is_continued) {
  leave_finished_run(5);
  options.existing = Existing::Continue;
  auto hook = make_hook();
  train(*hook, 2);
  await_first_segment();
  EXPECT_FALSE(open_trial()->ended());
  hook->close();
  EXPECT_EQ(defect(6), "");
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(LeftSpool, whose_run_was_replaced_meanwhile_is_set_aside) {
  leave_killed_run(5);
  const std::string left = options.spool_dir;
  {  // on another machine
    const testing::ScratchDirectory elsewhere;
    options.spool_dir = elsewhere.path();
    auto other = make_hook();
    train(*other, 2);
    other->close();
  }
  options.spool_dir = left;
  options.existing = Existing::Continue;
  connect_again();
  auto hook = make_hook();
  train(*hook, 1);
  EXPECT_THAT(hook->close().problems,
              ElementsAre(AllOf(HasSubstr("another run"), HasSubstr(spool_directory() + "-of-"))));
  EXPECT_EQ(defect(2), "");
  std::vector<std::string> aside;
  for (const auto& entry : fs::directory_iterator(fs::path(spool_directory()).parent_path()))
    aside.push_back(entry.path().string());
  ASSERT_THAT(aside, SizeIs(1));
  EXPECT_THAT(create_trial(aside[0])->steps(), SizeIs(5));
}

}  // namespace
}  // namespace cupel
