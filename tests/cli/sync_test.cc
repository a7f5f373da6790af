#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli_fixture.h"
#include "cupel/delivery/spool.h"
#include "cupel/writer/hook.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SyncCommand : public CliTest {
 protected:
  // Steps whose segment is open, and values of one that was not committed.
  static void leave_run(LocalStore& store) {
    WorkerWriter writer(store);
    writer.save(0, {filled("w", 100, 1), scalar("loss", 1)}).save_steps({1, 2});
    const auto events = store.stat(writer.events_key()).value();
    const std::vector<std::byte> torn(40);
    const std::span<const std::byte> piece(torn);
    store.append(writer.events_key(), events.size, std::span(&piece, 1));
  }
  // A directory with this for its address, and with what a killed hook leaves.
  std::string spool_with(const std::string& address, const std::string& name = "spool") {
    scratch_.add_to_file(name + "/spool.json", address);
    LocalStore store(file(name));
    leave_run(store);
    return file(name);
  }
  std::vector<std::string> files_in(const std::string& directory) const {
    std::vector<std::string> files;
    for (const ObjectInfo& info : LocalStore(directory).list(""))
      if (!info.key.starts_with(".lock-")) files.push_back(info.key);
    return files;
  }
};

TEST_F(SyncCommand, seals_what_a_killed_process_left_of_a_run) {
  leave_run(store_);
  const Ran ran = run({"sync", path()});
  EXPECT_EQ(ran.code, kExitFine) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr(path() + ": sealed 1 segment\n"),
                             HasSubstr(": cut off events/"), HasSubstr("40 bytes of a step"),
                             HasSubstr("nothing is left in " + path() + '\n')));
  EXPECT_EQ(run({"sync", path()}).out, "nothing is left in " + path() + '\n') << "again";
  const Ran verified = run({"verify", path()});
  EXPECT_EQ(verified.code, kExitFine);
  EXPECT_THAT(verified.out, HasSubstr("3 steps, 4 rows"));
}

TEST_F(SyncCommand, json_is_one_object_with_an_entry_for_each_directory) {
  leave_run(store_);
  const Json json = run({"sync", path(), "--json"}).json();
  EXPECT_EQ(json["path"], path());
  EXPECT_EQ(json["ok"], true);
  ASSERT_EQ(json["directories"].size(), 1U);
  const Json& entry = json["directories"][0];
  EXPECT_EQ(entry["directory"], path());
  EXPECT_EQ(entry["ok"], true);
  EXPECT_TRUE(entry["destination"].is_null());
  EXPECT_EQ(entry["sealed"], 1);
  EXPECT_EQ(entry["dropped"].size(), 1U);
  EXPECT_EQ(entry["problems"], Json::array());
}

TEST_F(SyncCommand, a_run_that_is_being_written_is_refused) {
  HookOptions options;
  options.out_dir = path();
  options.save_config = {.save_interval = 1};
  Hook hook(options);
  for (int i = 0; i < 3; ++i) {
    hook.next_step();
    hook.save_scalar("loss", i);
  }
  const auto before = files_in(path());
  const Ran ran = run({"sync", path()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("a process is writing this run"));
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(files_in(path()), before);
  hook.close();
  EXPECT_EQ(run({"sync", path()}).code, kExitFine);
}

TEST_F(SyncCommand, what_is_damaged_is_told_and_left_alone) {
  WorkerWriter writer(store_);
  writer.save(0, {filled("w", 100, 1)}).save_steps({1, 2});
  flip_bit(store_, writer.index_key(), 900);
  const Ran ran = run({"sync", path()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("left as it is: The file is damaged or foreign: " +
                                       writer.index_key()),
                             HasSubstr("something is left")));
  const Json json = run({"sync", path(), "--json"}).json();
  EXPECT_EQ(json["ok"], false);
  EXPECT_THAT(json["directories"][0]["problems"][0].get<std::string>(), HasSubstr("damaged"));
}

TEST_F(SyncCommand, what_is_no_directory_is_an_error) {
  scratch_.add_to_file("a_file", "text");
  for (const auto& [target, words] : std::vector<std::pair<std::string, std::string>>{
           {file("absent"), "There is no directory " + file("absent")},
           {file("a_file"), "a_file is a file; a run is a directory"},
           {"s3://bucket/run", "takes a directory of this machine"},
           {"", ""}}) {
    const Ran ran = run({"sync", target});
    EXPECT_EQ(ran.code, kExitError) << target;
    EXPECT_THAT(ran.err, HasSubstr(words)) << target;
    EXPECT_EQ(ran.out, "") << target;
  }
}

TEST_F(SyncCommand, where_no_spool_is_left_there_is_nothing_to_do) {
  fs::create_directory(file("spools"));
  const Ran ran = run({"sync", file("spools")});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out, "nothing is left in " + file("spools") + '\n');
}

TEST_F(SyncCommand, beside_runs_and_spools_all_else_is_nothing) {
  for (const char* name :
       {"3f1c09d2a7b4e856/worker_0/.lock-worker_0", "3f1c09d2a7b4e856/worker_1/spool.json.1.tmp",
        "lost+found/a_file", "index/page.html", "a_file", "too/deep/for/index/a_file"})
    scratch_.add_to_file("spools/" + std::string(name), "text");
  fs::create_directory(file("spools/4a"));
  const auto before = files_in(file("spools"));
  const Ran ran = run({"sync", file("spools")});
  EXPECT_EQ(ran.code, kExitFine) << ran.err;
  EXPECT_EQ(ran.out, "nothing is left in " + file("spools") + '\n');
  EXPECT_EQ(files_in(file("spools")), before);
}

TEST_F(SyncCommand, runs_where_spools_are_are_sealed) {
  const std::string folder = file("spools") + "/3f1c09d2a7b4e856";
  for (const char* name : {"/worker_0-of-cafe", "/worker_1"}) {
    LocalStore left(folder + name);
    leave_run(left);
  }
  const Spool::Destination destination{"s3://bucket/a", "worker_0"};
  { const Spool spool(Spool::directory_of(file("spools"), destination), destination); }
  const Json json = run({"sync", file("spools"), "--json"}).json();
  EXPECT_EQ(json["ok"], true);
  ASSERT_EQ(json["directories"].size(), 3U);
  EXPECT_EQ(json["directories"][0]["destination"], "s3://bucket/a");
  EXPECT_EQ(json["directories"][1]["directory"], folder + "/worker_0-of-cafe");
  EXPECT_EQ(json["directories"][2]["directory"], folder + "/worker_1");
  for (const int i : {1, 2}) EXPECT_EQ(json["directories"][i]["sealed"], 1);
  EXPECT_EQ(run({"verify", folder + "/worker_1"}).code, kExitFine);
}

// A finished run of three steps, of which a value and nothing else is damaged.
class SalvageCommand : public SyncCommand {
 protected:
  SalvageCommand() {
    WorkerWriter writer(store_);
    for (const std::int64_t step : {0, 1, 2}) {
      writer.save(step, {filled("w", 100, 1), scalar("loss", 1)});
      if (step == 1) offset_ = writer.last_location().offset;
    }
    writer.finish();
    events_ = writer.events_key();
    index_ = writer.index_key();
  }
  Ran salvage(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"sync", path(), "--salvage", file("whole")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  std::uint64_t offset_ = 0;
  std::string events_, index_;
};

TEST_F(SalvageCommand, writes_what_is_whole_and_tells_what_was_left_out) {
  flip_bit(store_, events_, offset_);
  const auto before = files_in(path());
  const Ran ran = salvage();
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "left out  " + events_ + ", offset " + std::to_string(offset_) +
                         ": 1 value: the value of w at step 1 does not have its checksum\n"
                         "salvaged 3 steps, 6 rows, 5 values in 1 segment, of a run that has "
                         "ended\ncupel verify " +
                         file("whole") + " checks what was written\n");
  EXPECT_EQ(ran.err, "cupel sync: something was left out\n");
  EXPECT_EQ(run({"verify", path()}).code, kExitError) << "it stays as it is";
  EXPECT_EQ(files_in(path()), before);
  const Ran verified = run({"verify", file("whole")});
  EXPECT_EQ(verified.code, kExitFine) << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("3 steps, 6 rows"));
}

TEST_F(SalvageCommand, json_lists_what_was_left_out) {
  flip_bit(store_, events_, offset_);
  const Json json = salvage({"--json"}).json();
  EXPECT_EQ(json["source"], path());
  EXPECT_EQ(json["destination"], file("whole"));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["steps"], 3);
  EXPECT_EQ(json["rows"], 6);
  EXPECT_EQ(json["values"], 5);
  ASSERT_EQ(json["left_out"].size(), 1U);
  const Json& part = json["left_out"][0];
  EXPECT_EQ(part["file"], events_);
  EXPECT_EQ(part["offset"], offset_);
  EXPECT_EQ(part["rows"], 0);
  EXPECT_EQ(part["values"], 1);
  EXPECT_TRUE(part["after_step"].is_null());
}

TEST_F(SalvageCommand, of_an_undamaged_run_is_0) {
  const Ran ran = salvage();
  EXPECT_EQ(ran.code, kExitFine) << ran.err;
  EXPECT_EQ(run({"diff", path(), file("whole")}).code, kExitFine);
}

TEST_F(SalvageCommand, rows_that_are_lost_are_counted) {
  const auto bytes = *store_.get(index_);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  flip_bit(store_, index_, text.find("cupel.crc32c=") + 1000);
  const Ran ran = salvage();
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.out, HasSubstr("left out  " + index_ + ", offset "));
  EXPECT_THAT(ran.out, HasSubstr(": 6 rows: a step fails its checksum\n"));
  EXPECT_EQ(run({"verify", file("whole")}).code, kExitFine);
}

TEST_F(SalvageCommand, needs_a_run_and_a_destination_that_is_empty_and_apart) {
  scratch_.add_to_file("full/file", "text");
  const auto error = [&](const std::string& from, const std::string& to) {
    const Ran ran = run({"sync", from, "--salvage", to});
    EXPECT_EQ(ran.code, kExitError);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(error(path(), file("full")), HasSubstr("must be empty or not there"));
  EXPECT_THAT(error(path(), path()), HasSubstr("DIR and DST are the same place"));
  EXPECT_THAT(error(path(), path() + "/inside"), HasSubstr("DST is inside DIR"));
  EXPECT_THAT(error(path(), "s3://bucket/a"), HasSubstr("takes a directory of this machine"));
  EXPECT_THAT(error(file("nowhere"), file("whole")), HasSubstr("There is no directory"));
  EXPECT_THAT(error(file("full"), file("whole")), Not(IsEmpty()));
}

TEST_F(SyncCommand, a_directory_that_merely_holds_an_address_keeps_its_files) {
  scratch_.add_to_file("base/victim/spool.json", R"({"url":"s3://bucket/a","worker":"worker_0"})");
  for (const char* name : {"ended/of_the_world.txt", "src/deep/a.c", "thesis.txt"})
    scratch_.add_to_file("base/victim/" + std::string(name), "text");
  const std::string victim = file("base") + "/victim";
  for (const std::string& target : {victim, file("base")}) {
    const Ran ran = run({"sync", target});
    EXPECT_EQ(ran.code, kExitFine) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(victim + ": left alone, being no part of the run: "
                                            "ended/of_the_world.txt and 2 more\n"));
    EXPECT_THAT(files_in(victim),
                ElementsAre("ended/of_the_world.txt", "spool.json", "src/deep/a.c", "thesis.txt"));
  }
  EXPECT_THAT(run({"sync", victim, "--json"}).json()["directories"][0]["foreign"],
              ElementsAre("ended/of_the_world.txt", "src/deep/a.c", "thesis.txt"));
}

TEST_F(SyncCommand, spools_are_seen_to_one_by_one_whatever_is_wrong_with_others) {
  const std::string base = file("spools");
  const Spool::Destination empty{"s3://bucket/a", "worker_0"}, used{"s3://bucket/b", "worker_0"};
  { const Spool spool(Spool::directory_of(base, empty), empty); }
  const Spool in_use(Spool::directory_of(base, used), used);
  spool_with("{", "spools/broken/worker_0");
  const Json json = run({"sync", base, "--json"}).json();
  EXPECT_EQ(json["ok"], false);
  std::map<std::string, Json> by_directory;
  for (const Json& entry : json["directories"]) by_directory[entry["directory"]] = entry;
  ASSERT_EQ(by_directory.size(), 3U);
  EXPECT_EQ(by_directory[Spool::directory_of(base, empty)]["ok"], true);
  EXPECT_EQ(by_directory[Spool::directory_of(base, empty)]["destination"], "s3://bucket/a");
  EXPECT_THAT(by_directory[in_use.directory()]["problems"][0].get<std::string>(),
              HasSubstr("another process is writing this run"));
  EXPECT_THAT(by_directory[base + "/broken/worker_0"]["problems"][0].get<std::string>(),
              HasSubstr("spool.json"));
  EXPECT_FALSE(fs::exists(Spool::directory_of(base, empty))) << "one of many goes when it is empty";
  EXPECT_EQ(run({"sync", base}).code, kExitError);
}

TEST_F(SyncCommand, a_spool_that_is_named_stays_so_that_it_can_be_named_again) {
  const Spool::Destination destination{"s3://bucket/a", "worker_0"};
  const std::string place = Spool::directory_of(file("spools"), destination);
  { const Spool spool(place, destination); }
  for (int i = 0; i < 2; ++i) {
    const Ran ran = run({"sync", place});
    EXPECT_EQ(ran.code, kExitFine) << ran.err;
    EXPECT_EQ(ran.out, "nothing is left in " + place + '\n');
  }
}

TEST_F(SyncCommand, a_directory_that_is_named_stays_whatever_it_holds) {
  const Spool::Destination destination{"s3://bucket/a", "worker_0"};
  const std::string place = Spool::directory_of(file("spools"), destination);
  const std::string folder = fs::path(place).parent_path().string();
  for (const std::string& target : {folder, file("spools")}) {
    { const Spool spool(place, destination); }
    for (int i = 0; i < 2; ++i) {
      const Ran ran = run({"sync", target});
      EXPECT_EQ(ran.code, kExitFine) << ran.err;
      EXPECT_EQ(ran.out, "nothing is left in " + target + '\n');
    }
    EXPECT_FALSE(fs::exists(place));
  }
  EXPECT_FALSE(fs::exists(folder)) << "it was not the last that was named";
}

struct HostileSpool {
  const char* name;
  const char* address;  // OUTSIDE: a directory that is not the spool's
  const char* words;
};

class SyncOfAHostileSpool : public SyncCommand,
                            public ::testing::WithParamInterface<HostileSpool> {};

TEST_P(SyncOfAHostileSpool, is_an_error_and_nothing_is_written_elsewhere) {
  scratch_.add_to_file("outside/mine", "text");
  std::string address = GetParam().address;
  if (const auto at = address.find("OUTSIDE"); at != std::string::npos)
    address.replace(at, 7, file("outside"));
  const std::string place = spool_with(address);
  const auto before = files_in(place);
  for (const std::string& target : {place, file("")}) {
    const Ran ran = run({"sync", target});
    EXPECT_EQ(ran.code, kExitError);
    EXPECT_THAT(ran.err, HasSubstr(GetParam().words));
    EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(files_in(place), before);
  EXPECT_THAT(files_in(file("outside")), ElementsAre("mine"));
}

INSTANTIATE_TEST_SUITE_P(
    Addresses, SyncOfAHostileSpool,
    ::testing::Values(
        HostileSpool{"nothing", "", "it does not say url and worker"},
        HostileSpool{"no_json", "{", "it does not say url and worker"},
        HostileSpool{"numbers", R"({"url":1,"worker":2})", "it does not say url and worker"},
        HostileSpool{"an_array", R"(["url","worker"])", "it does not say url and worker"},
        HostileSpool{"deep", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "it does not say"},
        HostileSpool{"a_directory", R"({"url":"OUTSIDE","worker":"worker_0"})", "needs no spool"},
        HostileSpool{"a_relative_one", R"({"url":"../outside","worker":"worker_0"})",
                     "needs no spool"},
        HostileSpool{"a_file_url", R"({"url":"file://OUTSIDE","worker":"worker_0"})",
                     "cannot open file://"},
        HostileSpool{"a_path_with_a_scheme_in_it", R"({"url":"OUTSIDE/x://y","worker":"worker_0"})",
                     "needs no spool"},
        HostileSpool{"no_bucket", R"({"url":"s3://","worker":"worker_0"})", "s3://"},
        HostileSpool{"control_characters", R"({"url":"gs://\u001b[2J","worker":"worker_0"})",
                     "cannot open gs://"},
        HostileSpool{"a_worker_that_leads_out", R"({"url":"s3://b/r","worker":"../../x"})",
                     "worker"},
        HostileSpool{"no_worker", R"({"url":"s3://b/r","worker":""})", "worker"},
        HostileSpool{"another_worker_s_files", R"({"url":"s3://b/r","worker":"worker_7"})",
                     "the file is missing"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(SyncCommand, an_address_that_is_no_file_of_the_spool_is_none) {
  const std::string place = spool_with("{");
  fs::rename(place + "/spool.json", file("address"));
  fs::create_symlink(file("address"), place + "/spool.json");
  const Json json = run({"sync", place, "--json"}).json();
  EXPECT_EQ(json["ok"], true) << json;
  EXPECT_EQ(json["directories"][0]["sealed"], 1) << "as of any run";
}

TEST_F(SyncCommand, links_in_a_spool_are_not_followed) {
  const std::string place = spool_with("{");
  fs::remove_all(place + "/index");
  scratch_.add_to_file("outside/x_worker_0.arrow.1.tmp", "text");
  fs::create_directory_symlink(file("outside"), place + "/index");
  fs::remove(place + "/spool.json");
  run({"sync", place});
  EXPECT_TRUE(fs::exists(file("outside") + "/x_worker_0.arrow.1.tmp"));
}

TEST_F(SyncCommand, links_to_spools_and_runs_are_not_followed) {
  const std::string spool = spool_with("{"), left = file("left");
  LocalStore left_run(left);
  leave_run(left_run);
  const auto before = files_in(spool);
  fs::create_directory(file("base"));
  fs::create_directory_symlink(spool, file("base") + "/spool");
  fs::create_directory_symlink(left, file("base") + "/run");
  const Json json = run({"sync", file("base"), "--json"}).json();
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["directories"], Json::array());
  EXPECT_EQ(files_in(spool), before);
  EXPECT_EQ(run({"sync", left, "--json"}).json()["directories"][0]["sealed"], 1) << "it was open";
}

}  // namespace
}  // namespace cupel::testing
