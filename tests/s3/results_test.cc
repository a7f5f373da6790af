// A runner that reads a run in a bucket, and keeps its lines in one.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "cupel/core/error.h"
#include "cupel/rules/rule_runner.h"
#include "cupel/s3/s3_scheme.h"
#include "cupel/trial/trial.h"
#include "s3/s3_server.h"
#include "store/scratch_directory.h"
#include "trial/run_builder.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ResultsInABucket : public S3Test {
 protected:
  void SetUp() override {
    S3Test::SetUp();
    if (IsSkipped()) return;
    environment_.set("AWS_ENDPOINT_URL_S3", server().endpoint());
    environment_.set("XDG_STATE_HOME", scratch_.path());
  }
  std::string location(const std::string& key) const { return "s3://" + bucket() + "/" + key; }
  std::string object(const std::string& key) { return server().curl().get(bucket(), key).value(); }

  /// Judges what is there of the run; returns how many lines were said.
  int judge(const std::string& out) {
    const auto trial = create_trial(location("run"), {.schemes = {s3_scheme()}});
    RuleRunner runner(*trial, {.wait = false, .out = out});
    runner.add("LossNotDecreasing", {{"num_steps", "1"}, {"tensor_regex", "loss"}});
    int said = 0;
    runner.run([&](const VerdictLine&) { ++said; });
    return said;
  }

 private:
  EnvironmentGuard environment_;
  ScratchDirectory scratch_;
};

TEST_F(ResultsInABucket, are_gone_on_from_by_the_next_runner) {
  const auto store = open("run");
  WorkerWriter writer(*store);
  writer.save_steps({0, 1, 2});
  const std::string out = location("results/lines.jsonl");
  EXPECT_EQ(judge(out), 2 + 1);
  EXPECT_THAT(object("results/lines.jsonl.state"), HasSubstr("\"version\":2"));
  writer.save_steps({3, 4}).finish();
  EXPECT_EQ(judge(out), 2 + 1);
  EXPECT_EQ(std::ranges::count(object("results/lines.jsonl"), '\n'), 4 + 1);
  EXPECT_THAT(object("results/lines.jsonl.status.json"), HasSubstr("IssuesFound"));
}

TEST_F(ResultsInABucket, of_somebody_else_stay_as_they_are) {
  const auto store = open("run");
  WorkerWriter(*store).save_steps({0, 1}).finish();
  server().curl().put(bucket(), "notes", "mine\n");
  EXPECT_THAT([&] { judge(location("notes")); },
              ThrowsMessage<UsageError>(HasSubstr("is not this runner's to write")));
  EXPECT_EQ(object("notes"), "mine\n");
}

TEST_F(ResultsInABucket, need_a_bucket) {
  const auto store = open("run");
  WorkerWriter(*store).save_steps({0, 1}).finish();
  EXPECT_THAT([&] { judge("s3://no-such-bucket/lines"); },
              ThrowsMessage<StoreError>(HasSubstr("no-such-bucket")));
}

}  // namespace
}  // namespace cupel::testing
