#include "cupel/writer/seal_run.h"
#include "cupel/trial/run_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "cupel/core/error.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "cupel/trial/trial.h"
#include "cupel/trial/verify_run.h"
#include "store/scratch_directory.h"
#include "trial/run_builder.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Contents = std::map<std::string, std::vector<std::byte>>;

// The format's tests cut at every byte.
constexpr std::size_t kStride = 41;

class SealRun : public ::testing::Test {
 protected:
  // Two segments with values at each step, of which the second was left open.
  SealRun() {
    run_.save(0, {filled("w", 100, 1), scalar("loss", 0)}).seal();
    for (const std::int64_t step : {1, 2})
      run_.save(step, {filled("w", 100, static_cast<float>(step)), scalar("loss", 1)});
  }

  SealReport seal() { return seal_run(scratch_.path()); }
  std::size_t size(const std::string& key) const {
    return static_cast<std::size_t>(store_.stat(key).value().size);
  }
  void cut(const std::string& key, std::size_t bytes) { store_.cut_back(key, size(key) - bytes); }
  Contents contents() const {
    Contents all;
    for (const ObjectInfo& info : store_.list("")) all[info.key] = *store_.get(info.key);
    return all;
  }
  void restore(const Contents& all) {
    for (const ObjectInfo& info : store_.list("")) store_.remove(info.key);
    for (const auto& [key, bytes] : all) store_.put(key, bytes, Durability::Cached);
  }
  // What is wrong with a run whose steps are to be those; "" if nothing is.
  std::string defect(const std::vector<std::int64_t>& steps) const {
    const VerifyReport report = verify_run(store_);
    if (!report.findings.empty())
      return report.findings.front().file + ": " + report.findings.front().problem;
    const Trial trial(std::make_shared<LocalStore>(scratch_.path()));
    if (trial.steps() != steps) return "other steps";
    for (const std::int64_t step : steps) {
      if (trial.tensor("w").value(step).at(99) != static_cast<double>(step == 0 ? 1 : step))
        return "another value";
    }
    return "";
  }

  const ScratchDirectory scratch_;
  LocalStore store_{scratch_.path()};
  WorkerWriter run_{store_};
};

TEST_F(SealRun, what_was_left_open_is_sealed_with_the_same_rows) {
  const SealReport report = seal();
  EXPECT_EQ(report.sealed, 1U);
  EXPECT_THAT(report.dropped, IsEmpty());
  EXPECT_EQ(defect({0, 1, 2}), "");
}

TEST_F(SealRun, what_joined_a_collection_is_in_it_when_the_segment_is_sealed) {
  run_.save(3, {filled("w", 100, 3), scalar("late", 1).joining({"mine"})});
  EXPECT_EQ(seal().sealed, 1U);
  EXPECT_EQ(defect({0, 1, 2, 3}), "");
  const Trial trial(std::make_shared<LocalStore>(scratch_.path()));
  EXPECT_THAT(trial.tensor_names({.collection = "mine"}), ElementsAre("late"));
}

TEST_F(SealRun, a_sealed_run_is_not_touched) {
  run_.seal();
  const Contents before = contents();
  const SealReport report = seal();
  EXPECT_EQ(report.sealed + report.removed, 0U);
  EXPECT_TRUE(contents() == before);
}

TEST_F(SealRun, what_was_sealed_by_others_is_as_the_writer_would_have_left_it) {
  seal();
  const Contents sealed_later = contents();
  for (const ObjectInfo& info : store_.list("")) store_.remove(info.key);
  WorkerWriter again(store_);
  again.save(0, {filled("w", 100, 1), scalar("loss", 0)}).seal();
  for (const std::int64_t step : {1, 2})
    again.save(step, {filled("w", 100, static_cast<float>(step)), scalar("loss", 1)});
  again.seal();
  EXPECT_TRUE(contents() == sealed_later);
}

TEST_F(SealRun, a_run_that_was_interrupted_is_seen_to_be_so_afterwards) {
  DirectoryLock::try_acquire(scratch_.path(), lock_name("worker_0"));
  seal();
  const Trial trial(std::make_shared<LocalStore>(scratch_.path()));
  EXPECT_EQ(RunFollower(trial).status(), RunStatus::Interrupted);
}

TEST_F(SealRun, an_index_that_is_cut_anywhere_in_its_last_step_keeps_the_others) {
  const std::string index = run_.index_key();
  const std::size_t whole = size(index);
  run_.save(3, {filled("w", 100, 3), scalar("loss", 1)});
  const Contents killed = contents();
  const std::size_t step = size(index) - whole;
  for (std::size_t bytes = 1; bytes <= step; bytes += kStride) {
    restore(killed);
    cut(index, bytes);
    const SealReport report = seal();
    ASSERT_EQ(report.sealed, 1U) << bytes;
    ASSERT_THAT(report.dropped, ::testing::Not(IsEmpty())) << bytes;
    ASSERT_EQ(defect({0, 1, 2}), "") << bytes;
  }
}

TEST_F(SealRun, values_that_are_cut_anywhere_behind_the_last_step_do_not_matter) {
  const std::string events = run_.events_key();
  const std::size_t whole = size(events);
  run_.encode(3, {filled("w", 100, 3)});  // the index does not get it
  const Contents killed = contents();
  const std::size_t more = size(events) - whole;
  for (std::size_t bytes = 0; bytes <= more; bytes += kStride) {
    restore(killed);
    cut(events, bytes);
    ASSERT_EQ(seal().sealed, 1U) << bytes;
    ASSERT_EQ(defect({0, 1, 2}), "") << bytes;
  }
}

TEST_F(SealRun, a_footer_of_the_values_that_is_cut_anywhere_is_written_anew) {
  const Contents killed = contents();
  const std::size_t open = size(run_.events_key());
  const std::string index = run_.index_key();
  run_.seal();
  const std::vector<std::byte> events = *store_.get(run_.events_key());
  for (std::size_t bytes = open; bytes <= events.size(); bytes += kStride) {
    restore(killed);
    store_.put(run_.events_key(), std::span(events).first(bytes), Durability::Cached);
    ASSERT_EQ(seal().sealed, 1U) << bytes;
    ASSERT_EQ(defect({0, 1, 2}), "") << bytes;
    ASSERT_EQ(*store_.get(run_.events_key()), events);
  }
}

TEST_F(SealRun, a_segment_whose_first_step_is_torn_goes) {
  run_.seal().save(3, {filled("w", 100, 3)});
  cut(run_.index_key(), 1);
  const SealReport report = seal();
  EXPECT_EQ(report.sealed, 0U);
  EXPECT_EQ(report.removed, 2U);
  EXPECT_THAT(report.dropped, SizeIs(2));
  EXPECT_EQ(defect({0, 1, 2}), "");
}

TEST_F(SealRun, values_whose_index_was_never_begun_go) {
  run_.seal().encode(3, {filled("w", 100, 3)});
  EXPECT_EQ(seal().removed, 1U);
  EXPECT_EQ(defect({0, 1, 2}), "");
}

TEST_F(SealRun, a_segment_without_values_is_sealed_without_them) {
  run_.seal().save_steps({3, 4});
  run_.encode(5, {filled("w", 100, 3)});
  EXPECT_EQ(seal().sealed, 1U);
  EXPECT_FALSE(store_.stat(run_.events_key()));
  EXPECT_THAT(verify_run(store_).findings, IsEmpty());
}

TEST_F(SealRun, the_last_segment_of_every_attempt_and_worker_is_sealed) {
  WorkerWriter second(store_, {.attempt = 1});
  second.save(3, {filled("w", 100, 3), scalar("loss", 1)});
  WorkerWriter other(store_, {.worker = "worker_1", .num_workers = 2});
  other.save_steps({0, 1, 2, 3});
  EXPECT_EQ(seal().sealed, 3U);
  EXPECT_THAT(verify_run(store_).findings, IsEmpty());
}

TEST_F(SealRun, damage_is_told_and_left_and_the_rest_is_sealed) {
  flip_bit(store_, run_.index_key(), size(run_.index_key()) / 2);
  const std::vector<std::byte> damaged = *store_.get(run_.index_key());
  const std::string key = run_.index_key();
  WorkerWriter other(store_, {.worker = "worker_1"});
  other.save_steps({0});
  const SealReport report = seal();
  EXPECT_EQ(report.sealed, 1U);
  EXPECT_THAT(report.damaged, ElementsAre(HasSubstr(key)));
  EXPECT_EQ(*store_.get(key), damaged);
}

TEST_F(SealRun, a_collections_file_that_is_too_long_does_not_keep_segments_open) {
  FormatLimits limits;
  limits.collections_file = 5000;
  const format_detail::FormatLimitsForTest low(limits);
  store_.put(collections_key("worker_0"), std::vector<std::byte>(5001));
  const SealReport report = seal();
  EXPECT_EQ(report.sealed, 1U);
  EXPECT_THAT(report.damaged, IsEmpty());
}

TEST_F(SealRun, committed_values_that_are_gone_are_damage) {
  const std::vector<std::byte> index = *store_.get(run_.index_key());
  cut(run_.events_key(), 50);
  EXPECT_THAT(seal().damaged, ElementsAre(HasSubstr("lacks values")));
  store_.remove(run_.events_key());
  EXPECT_THAT(seal().damaged, ElementsAre(HasSubstr("missing")));
  EXPECT_EQ(*store_.get(run_.index_key()), index);
}

TEST_F(SealRun, values_of_a_segment_that_must_have_had_an_index_are_not_thrown_away) {
  store_.remove("index/0000-000000000/000000000000_worker_0.arrow");
  EXPECT_THAT(seal().damaged, ElementsAre(HasSubstr("its index file is missing")));
  EXPECT_TRUE(store_.stat("events/0000-000000000/000000000000_worker_0.arrow"));
}

// A disk leaves them that was full when the index of the segment was begun: the next segment has
// its number.
TEST_F(SealRun, values_of_a_segment_whose_number_another_has_go) {
  const ScratchDirectory elsewhere;
  LocalStore other(elsewhere.path());
  WorkerWriter begun(other);
  begun.save_steps({0}).seal().save_steps({1}).seal().encode(3, {filled("w", 100, 3)});
  const std::vector<std::byte> values = other.get(begun.events_key()).value();
  run_.seal().save(5, {filled("w", 100, 5), scalar("loss", 1)});
  for (const std::size_t kept : {values.size(), std::size_t{20}, std::size_t{0}}) {
    store_.put(begun.events_key(), std::span(values).first(kept));
    EXPECT_THAT(seal().damaged, IsEmpty()) << kept;
    EXPECT_FALSE(store_.stat(begun.events_key())) << kept;
  }
}

// The same where the first steps of the segments around them take more than a little reading, and
// where the later of them is sealed.
TEST_F(SealRun, values_of_a_segment_whose_number_another_has_go_from_runs_of_many_tensors) {
  const auto many = [] {
    std::vector<SavedTensor> tensors = {filled("w", 100, 5)};
    for (int i = 0; i < 1000; ++i) tensors.push_back(scalar("loss" + std::to_string(i), i));
    return tensors;
  };
  const ScratchDirectory elsewhere;
  LocalStore other(elsewhere.path());
  WorkerWriter begun(other);
  begun.save_steps({0}).seal().save_steps({1}).seal().save_steps({2}).seal();
  begun.encode(4, {filled("w", 100, 3)});
  const std::vector<std::byte> values = other.get(begun.events_key()).value();
  run_.seal().save(3, many()).seal().save(5, many());
  ASSERT_GT(size(run_.index_key()), std::size_t{128} << 10U);
  run_.seal().save(6, many());
  const std::string between = "events/0000-000000000/000000000004_worker_0.arrow";
  ASSERT_EQ(begun.events_key(), between);
  // With its number, which is that of step 5's segment, and without.
  for (const std::size_t kept : {std::size_t{0}, std::size_t{20}}) {
    store_.put(between, std::span(values).first(kept));
    EXPECT_THAT(seal().damaged, IsEmpty()) << kept;
    EXPECT_FALSE(store_.stat(between)) << kept;
  }
  store_.put(between, values);
  EXPECT_THAT(seal().damaged, IsEmpty());
  EXPECT_FALSE(store_.stat(between));
}

TEST_F(SealRun, a_run_that_is_being_written_is_refused) {
  const auto lock = DirectoryLock::try_acquire(scratch_.path(), ".lock-worker_0");
  const Contents before = contents();
  EXPECT_THROW(seal(), UsageError);
  EXPECT_TRUE(contents() == before);
}

TEST_F(SealRun, a_directory_without_a_run_is_an_error) {
  EXPECT_THROW(seal_run((scratch_ / "absent").string()), MissingCollectionFiles);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "absent"));
}

TEST_F(SealRun, what_a_killed_put_left_is_removed) {
  scratch_.add_to_file(run_.index_key() + ".0badf00d-1.0.tmp", "half");
  scratch_.add_to_file("index/0000-000000000/000000000000_other.arrow.0badf00d-1.0.tmp", "half");
  EXPECT_EQ(seal().removed, 1U);
}

TEST_F(SealRun, who_follows_the_run_meanwhile_sees_the_same_steps) {
  const Trial trial(std::make_shared<LocalStore>(scratch_.path()));
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  seal();
  trial.refresh();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.tensor("w").value(2).at(0), 2);
}

}  // namespace
}  // namespace cupel::testing
