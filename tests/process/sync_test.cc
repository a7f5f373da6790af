// `cupel sync` on a run whose trainer is another process, alive or killed.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "process/program.h"
#include "store/scratch_directory.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;

class SyncOfAProcess : public ::testing::Test {
 protected:
  std::string run() const { return (scratch_ / "run").string(); }

  // Has the trainer begin so many steps; all but the last are committed.
  static void step(Program& trainer, int steps) {
    for (int i = 0; i < steps; ++i) {
      trainer.write(".");
      char key = 0;
      ASSERT_TRUE(trainer.read_char(key));
    }
  }
  struct Ran {
    int code = -1;
    nlohmann::json json;
  };
  static Ran cupel(std::vector<std::string> command) {
    command.insert(command.begin(), CUPEL_COMMAND);
    command.emplace_back("--json");
    Program program(command);
    const std::string line = program.read_line();
    return {program.end(), nlohmann::json::parse(line, nullptr, false)};
  }

 private:
  testing::ScratchDirectory scratch_;
};

TEST_F(SyncOfAProcess, that_lives_is_refused_and_does_not_disturb_it) {
  Program trainer({CUPEL_STEPPING_TRAINER, run()});
  step(trainer, 5);
  const Ran refused = cupel({"sync", run()});
  EXPECT_EQ(refused.code, 2);
  step(trainer, 5);
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_EQ(cupel({"sync", run()}).code, 0);
  const Ran verified = cupel({"verify", run()});
  EXPECT_EQ(verified.code, 0);
  EXPECT_EQ(verified.json["steps"], 10);
  EXPECT_EQ(verified.json["findings"], nlohmann::json::array());
}

TEST_F(SyncOfAProcess, that_was_killed_seals_what_it_left_and_keeps_each_committed_step) {
  Program trainer({CUPEL_STEPPING_TRAINER, run()});
  step(trainer, 7);
  trainer.kill();
  const Ran synced = cupel({"sync", run()});
  EXPECT_EQ(synced.code, 0);
  EXPECT_EQ(synced.json["directories"][0]["sealed"], 1);
  EXPECT_EQ(cupel({"sync", run()}).json["directories"][0]["sealed"], 0) << "again";
  const Ran verified = cupel({"verify", run()});
  EXPECT_EQ(verified.code, 0);
  EXPECT_GE(verified.json["steps"], 6);
  EXPECT_THAT(verified.json["findings"].dump(), ::testing::Not(HasSubstr("not sealed")));
}

TEST_F(SyncOfAProcess, that_was_killed_can_be_gone_on_with_afterwards) {
  {
    Program trainer({CUPEL_STEPPING_TRAINER, run()});
    step(trainer, 7);
    trainer.kill();
  }
  EXPECT_EQ(cupel({"sync", run()}).code, 0);
  Program again({CUPEL_STEPPING_TRAINER, run()});
  step(again, 8);
  EXPECT_EQ(again.end(), 0);
  const Ran verified = cupel({"verify", run()});
  EXPECT_EQ(verified.code, 0);
  EXPECT_EQ(verified.json["ended"], true);
}

}  // namespace
}  // namespace cupel
