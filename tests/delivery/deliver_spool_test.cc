// Spools with damaged, foreign or superseded files, or on a full disk, and how they are delivered.

#include "cupel/delivery/deliver_spool.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "spool_fixture.h"
#include "store/file_size_limit.h"
#include "trial/run_builder.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FileSizeLimit;
using testing::filled;
using testing::flip_bit;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::WorkerWriter;

class DeliverSpool : public SpoolTest {
 protected:
  Spool::Destination destination() const { return {remote_->location(), "worker_0"}; }
  LocalStore make_spool() const {
    { const Spool spool(spool_directory(), destination()); }
    return LocalStore(spool_directory());
  }
  // Leaves segments of one step each, sealed ones and perhaps an open one; their index keys.
  std::vector<std::string> leave(int sealed, int open = 0, std::int32_t attempt = 0) const {
    LocalStore run = make_spool();
    WorkerWriter writer(run, {.attempt = attempt});
    std::vector<std::string> keys;
    for (int step = 0; step < sealed + open; ++step) {
      writer.save(step, {filled("w", 100, static_cast<float>(step))});
      if (step < sealed) writer.seal();
      keys.push_back(writer.index_key());
    }
    return keys;
  }
  void end_run() const { LocalStore(spool_directory()).put(kEndMarker, {}); }
  static std::string events_of(const std::string& index_key) {
    return SegmentName::parse_index_key(index_key)->events_key();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> keys;
    for (const ObjectInfo& info : LocalStore(spool_directory()).list(""))
      if (!info.key.starts_with(".lock-")) keys.push_back(info.key);
    return keys;
  }
};

TEST_F(DeliverSpool, removes_no_file_that_is_not_the_run_s) {
  leave(2);
  end_run();
  const std::vector<std::string> foreign = {"collections/mine.json",
                                            "collections/000000000/worker_1_collections.json",
                                            "ended/worker_0.txt",
                                            "events/notes",
                                            "index/0000-000000000/page.html",
                                            "src/deep/a.c",
                                            "thesis.txt"};
  LocalStore spool(spool_directory());
  for (const std::string& key : foreign) spool.put(key, {});
  fs::create_directory(spool_directory() + "/empty");
  fs::create_symlink("thesis.txt", spool_directory() + "/stop_training");
  for (int i = 0; i < 2; ++i) {
    const DeliverReport report = deliver("worker_0", options.spool_dir);
    EXPECT_TRUE(report.ok());
    EXPECT_THAT(report.problems, IsEmpty());
    EXPECT_THAT(report.foreign,
                AllOf(SizeIs(foreign.size() + 1), ::testing::IsSupersetOf(foreign)));
    EXPECT_THAT(files(), AllOf(SizeIs(foreign.size() + 1), ::testing::IsSupersetOf(foreign),
                               ::testing::Contains("spool.json")));
    EXPECT_TRUE(fs::is_directory(spool_directory() + "/empty"));
    EXPECT_TRUE(fs::is_symlink(spool_directory() + "/stop_training"));
  }
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1));
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(DeliverSpool, removes_temporary_files_of_a_killed_put) {
  leave(1);
  for (const char* name : {"spool.json.0-1.2.tmp", "training_job_end.ts.0-1.2.tmp",
                           "collections/000000000/worker_0_collections.json.0-1.2.tmp"})
    std::ofstream(spool_directory() + "/" + name) << "{";
  EXPECT_THAT(deliver("worker_0", options.spool_dir).foreign, IsEmpty());
  EXPECT_FALSE(has_spool());
}

TEST_F(DeliverSpool, removes_no_directory_that_is_to_stay) {
  const std::string folder = fs::path(spool_directory()).parent_path().string();
  for (const std::string& stays : {std::string(), folder, options.spool_dir}) {
    leave(1);
    EXPECT_TRUE(deliver("worker_0", stays).ok());
    EXPECT_EQ(has_spool(), stays.empty());
    EXPECT_EQ(fs::exists(folder), stays != options.spool_dir);
    EXPECT_TRUE(fs::exists(options.spool_dir));
    for (const ObjectInfo& info : store->list("")) store->remove(info.key);
    connect_again();
  }
}

TEST_F(DeliverSpool, uploads_no_end_without_a_collections_file) {
  make_spool();
  end_run();
  EXPECT_THROW(deliver(), FormatError);
  EXPECT_THAT(files(), ElementsAre("spool.json", kEndMarker));
  EXPECT_EQ(count(""), 0U);
}

TEST_F(DeliverSpool, does_not_end_a_run_that_was_continued_elsewhere) {
  options.segment_bytes = 1;
  options.close_timeout = 0ms;
  {
    auto hook = make_hook();
    train(*hook, 2);
    while (count(kIndexPrefix) == 0) std::this_thread::yield();
    remote_->fail_all();
    train(*hook, 3);
    hook->close();
  }
  connect_again();
  const std::string left = options.spool_dir;
  const testing::ScratchDirectory elsewhere;
  options.spool_dir = elsewhere.path();
  options.existing = Existing::Continue;
  options.close_timeout = 30s;
  auto other = make_hook();
  train(*other, 2);
  while (remote_->puts(kIndexPrefix).empty()) std::this_thread::yield();
  options.spool_dir = left;
  connect_again();
  const DeliverReport report = deliver();
  EXPECT_TRUE(report.ok());
  EXPECT_FALSE(report.ended);
  EXPECT_THAT(remote_->puts(kCollectionsPrefix), IsEmpty()) << "there is a newer one";
  EXPECT_FALSE(open_trial()->ended());
  EXPECT_THAT(files(), ElementsAre("spool.json"));
  other->close();
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(DeliverSpool, a_hook_counts_its_attempt_behind_one_elsewhere) {
  leave(1);
  {
    WorkerWriter writer(*store, {.attempt = 4});
    writer.save(0, {filled("w", 100, 1)}).seal();
  }
  options.existing = Existing::Continue;
  auto hook = make_hook();
  train(*hook, 1);
  hook->close();
  EXPECT_TRUE(open_trial()->ended());
  const auto keys = store->list(kIndexPrefix);
  ASSERT_THAT(keys, SizeIs(3));
  EXPECT_EQ(SegmentName::parse_index_key(keys.back().key)->attempt, 5);
}

struct Damage {
  const char* name;
  void (*damage)(LocalStore& run, const std::string& index_key, const std::string& events_key);
  const char* words;
};

class DeliverADamagedSpool : public DeliverSpool, public ::testing::WithParamInterface<Damage> {};

TEST_P(DeliverADamagedSpool, stops_before_the_damage_and_uploads_no_end) {
  const auto keys = leave(5);
  end_run();
  LocalStore spool(spool_directory());
  GetParam().damage(spool, keys[2], events_of(keys[2]));
  for (int i = 0; i < 2; ++i) {
    const DeliverReport report = deliver();
    EXPECT_THAT(report.problems,
                ElementsAre(HasSubstr(GetParam().words),
                            AllOf(HasSubstr("kept back"), HasSubstr(": 2 segments"))));
    EXPECT_TRUE(report.left.end);
    EXPECT_EQ(report.left.directory, spool_directory());
    EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1));
    EXPECT_FALSE(open_trial()->ended());
    connect_again();
  }
  spool.remove(keys[2]);
  spool.remove(events_of(keys[2]));
  EXPECT_TRUE(deliver().ok());
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 3, 4));
  EXPECT_TRUE(open_trial()->ended());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DeliverADamagedSpool,
    ::testing::Values(Damage{"a_flipped_bit",
                             [](LocalStore& run, const std::string& index, const std::string&) {
                               flip_bit(run, index, 900);
                             },
                             "damaged or foreign"},
                      Damage{"a_torn_index",
                             [](LocalStore& run, const std::string& index, const std::string&) {
                               run.cut_back(index, run.stat(index)->size - 40);
                             },
                             "damaged or foreign"},
                      Damage{"no_index",
                             [](LocalStore& run, const std::string& index, const std::string&) {
                               run.remove(index);
                             },
                             "its index file is missing"},
                      Damage{"no_values",
                             [](LocalStore& run, const std::string&, const std::string& events) {
                               run.remove(events);
                             },
                             "are missing"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(DeliverSpool, a_segment_before_others_that_was_not_sealed_is_damage) {
  LocalStore run = make_spool();
  WorkerWriter writer(run);
  writer.save_steps({0}).seal().save_steps({1}).abandon().save_steps({2}).finish();
  EXPECT_THAT(deliver().problems,
              ElementsAre(HasSubstr("not sealed, and another follows"), HasSubstr("kept back")));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0));
  EXPECT_FALSE(open_trial()->ended());
}

TEST_F(DeliverSpool, uploads_sealed_segments_from_a_full_disk_and_seals_the_rest_then) {
  leave(3, 1);
  end_run();
  std::optional<FileSizeLimit> limit(0);
  remote_->before([&](std::string_view what, std::string_view key) {
    if (what == "put" && key.starts_with(kIndexPrefix)) limit.reset();  // there is room now
  });
  const DeliverReport report = deliver();
  remote_->work_again();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.segments_uploaded, 4U);
  EXPECT_EQ(report.sealing.sealed, 1U);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(DeliverSpool, reports_a_segment_that_it_had_no_room_to_seal) {
  leave(3, 1);
  end_run();
  {
    const FileSizeLimit limit(0);
    const DeliverReport report = deliver();
    EXPECT_EQ(report.segments_uploaded, 3U);
    EXPECT_EQ(report.left.steps, 1);
    EXPECT_TRUE(report.left.end);
    EXPECT_THAT(report.left.why, HasSubstr("append"));
    EXPECT_FALSE(report.stopped);
  }
  EXPECT_FALSE(open_trial()->ended());
  EXPECT_TRUE(deliver().ok());
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(DeliverSpool, the_next_hook_makes_room_by_uploading) {
  leave(3, 1);
  std::optional<FileSizeLimit> limit(0);
  remote_->before([&](std::string_view what, std::string_view key) {
    if (what == "put" && key.starts_with(kIndexPrefix)) limit.reset();
  });
  options.existing = Existing::Continue;
  auto hook = make_hook();
  remote_->work_again();
  hook->next_step();
  hook->save_scalar("loss", 1);
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2, 3, 4));
}

// Takes the rights of an ordinary user, where the tests run as root.
class Unprivileged {
 public:
  Unprivileged() : before_(::geteuid()) {
    if (before_ == 0 && ::seteuid(65534) != 0) throw std::runtime_error("seteuid");
  }
  ~Unprivileged() {
    if (before_ == 0 && ::seteuid(0) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  uid_t before_;
};

TEST_F(DeliverSpool, a_folder_that_cannot_be_read_does_not_hide_spools) {
  const testing::ScratchDirectory base;
  fs::permissions(base.path(), fs::perms(0755));
  const std::string spool = (base / "worker_1").string();
  { const Spool made(spool, destination()); }
  for (const char* name : {"lost+found", "worker_0"}) {
    fs::create_directory(base / name);
    fs::permissions(base / name, fs::perms::none);
  }
  std::vector<std::string> found;
  {
    const Unprivileged nobody;
    found = Spool::find(base.path());
    EXPECT_THROW(Spool::find((base / "lost+found").string()), StoreError) << "it is what was named";
  }
  EXPECT_THAT(found, ElementsAre((base / "worker_0").string(), spool)) << "no worker is lost+found";
  for (const char* name : {"lost+found", "worker_0"})
    fs::permissions(base / name, fs::perms::owner_all);
}

}  // namespace
}  // namespace cupel
