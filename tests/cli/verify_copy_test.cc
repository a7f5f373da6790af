#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/cli_fixture.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class VerifyCommand : public CliTest {
 protected:
  VerifyCommand() { run_.save(0, {filled("w", 100, 1), scalar("loss", 1)}).save_steps({1, 2}); }
  void damage_value() { flip_bit(store_, run_.events_key(), run_.last_location().offset); }
  WorkerWriter run_{store_};
};

TEST_F(VerifyCommand, says_what_was_checked) {
  run_.finish();
  const Ran ran = run({"verify", path()});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out,
            "checked 1 index file, 1 events file, 3 steps, 4 rows, 424 bytes of values: all as "
            "it was written\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(VerifyCommand, damage_is_a_line_and_an_error) {
  run_.finish();
  damage_value();
  const Ran ran = run({"verify", path()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.out, StartsWith("damage  " + run_.events_key() + " at " +
                                  std::to_string(run_.last_location().offset) +
                                  ": the value of w at step 0 does not have its checksum\n"));
  EXPECT_THAT(ran.out, EndsWith(": 1 damage\n"));
}

TEST_F(VerifyCommand, a_remark_is_no_error) {
  const Ran ran = run({"verify", path()});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, StartsWith("remark  " + run_.index_key()));
  EXPECT_THAT(ran.out, EndsWith("all as it was written\n"));
}

TEST_F(VerifyCommand, json_is_one_object_with_all_findings) {
  run_.finish();
  damage_value();
  const Ran ran = run({"verify", path(), "--json"});
  EXPECT_EQ(ran.code, kExitError);
  const Json json = ran.json();
  EXPECT_EQ(json["trial"], path());
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["rows"], 4);
  ASSERT_EQ(json["findings"].size(), 1);
  const Json& finding = json["findings"][0];
  EXPECT_EQ(finding["severity"], "damage");
  EXPECT_EQ(finding["file"], run_.events_key());
  EXPECT_EQ(finding["offset"], run_.last_location().offset);
  EXPECT_THAT(finding["problem"].get<std::string>(), HasSubstr("checksum"));
}

TEST_F(VerifyCommand, names_from_files_cannot_steer_the_terminal) {
  run_.save(3, {filled("evil\x1b[2J\n", 100, 1)}).finish();
  damage_value();
  const Ran ran = run({"verify", path()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 2);
}

TEST_F(VerifyCommand, an_absent_run_is_an_error) {
  const Ran ran = run({"verify", file("absent")});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("There is no directory " + file("absent")));
}

class CopyCommand : public VerifyCommand {
 protected:
  std::string copy() const { return file("copies/first"); }
};

TEST_F(CopyCommand, every_reading_command_says_the_same_of_the_copy) {
  run_.finish();
  const Ran ran = run({"copy", path(), copy()});
  EXPECT_EQ(ran.code, kExitFine) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("copied 3 steps in 4 files, "));
  EXPECT_THAT(ran.out, HasSubstr("of a run that has ended\ncupel verify " + copy()));
  for (const std::vector<std::string>& rest :
       {std::vector<std::string>{"steps", "--json"},
        {"tensors"},
        {"show", "w"},
        {"verify"},
        {"watch", "--no-wait", "--rule", "ExplodingTensor"}}) {
    const auto of = [&](const std::string& trial) {
      std::vector<std::string> arguments = rest;
      arguments.insert(arguments.begin() + 1, trial);
      return run(arguments).out;
    };
    EXPECT_EQ(of(copy()), of(path()));
  }
}

TEST_F(CopyCommand, a_run_that_goes_on_can_be_copied) {
  const Ran ran = run({"copy", path(), copy(), "--json"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.json()["complete"], true);
  EXPECT_EQ(ran.json()["ended"], false);
  EXPECT_EQ(ran.json()["steps"], 3);
  EXPECT_EQ(run({"verify", copy()}).code, kExitFine);
}

TEST_F(CopyCommand, a_destination_with_anything_in_it_is_left_alone) {
  scratch_.add_to_file("copies/first/mine", "text");
  const Ran ran = run({"copy", path(), copy()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("must be empty or not there"));
  EXPECT_FALSE(std::filesystem::exists(copy() + "/collections"));
}

TEST_F(CopyCommand, neither_directory_may_be_in_the_other) {
  std::filesystem::create_directory_symlink(path(), file("link"));
  for (const auto& [source, destination, words] :
       std::vector<std::array<std::string, 3>>{{path(), path() + "/", "the same place"},
                                               {path(), file("link"), "the same place"},
                                               {path(), path() + "/copy", "DST is inside SRC"},
                                               {path(), file("link/copy"), "DST is inside SRC"},
                                               {path(), file(""), "SRC is inside DST"}}) {
    const Ran ran = run({"copy", source, destination});
    EXPECT_EQ(ran.code, kExitError);
    EXPECT_THAT(ran.err, HasSubstr(words)) << destination;
  }
  EXPECT_EQ(run({"copy", path(), path() + "-copy"}).code, kExitFine);
}

#ifdef CUPEL_WITH_S3
TEST_F(CopyCommand, neither_place_in_a_bucket_may_be_in_the_other) {
  EnvironmentGuard environment;
  environment.set("AWS_CONFIG_FILE", "/dev/null");
  for (const auto& [source, destination, words] : std::vector<std::array<std::string, 3>>{
           {"s3://bucket/a", "s3://bucket/a/", "the same place: s3://bucket/a"},
           {"s3://bucket/", "s3://bucket", "the same place: s3://bucket"},
           {"s3://bucket/a", " s3://bucket/a/b", "DST is inside SRC: s3://bucket/a/b"},
           {"s3://bucket/a/b", "s3://bucket", "SRC is inside DST: s3://bucket/a/b"}}) {
    const Ran ran = run({"copy", source, destination});
    EXPECT_EQ(ran.code, kExitError);
    EXPECT_THAT(ran.err, HasSubstr(words)) << destination;
  }
}
#endif

TEST_F(CopyCommand, damage_is_an_error_with_its_place) {
  run_.finish();
  flip_bit(store_, run_.index_key(), 900);
  const Ran ran = run({"copy", path(), copy()});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr(run_.index_key() + ", offset "));
}

}  // namespace
}  // namespace cupel::testing
