#include <gmock/gmock.h>

#include <limits>

#include "cli/cli_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr float kNaNElement = std::numeric_limits<float>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Two directories with a run each.
class DiffCommand : public CliTest {
 protected:
  DiffCommand() : b_store_(file("other")), a_(store_), b_(b_store_) {}

  /// Ends both runs, which hold one tensor each at one step, and compares them.
  Ran diff_of(SavedTensor a, SavedTensor b, const std::vector<std::string>& options = {}) {
    a_.save(0, {std::move(a)});
    b_.save(0, {std::move(b)});
    return diff(options);
  }
  Ran diff(const std::vector<std::string>& options = {}) {
    a_.finish();
    b_.finish();
    return diff_as_they_are(options);
  }
  Ran diff_as_they_are(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments = {"diff", path(), file("other")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run(arguments);
  }

  LocalStore b_store_;
  WorkerWriter a_, b_;
};

TEST_F(DiffCommand, runs_that_agree_are_fine) {
  for (WorkerWriter* one : {&a_, &b_})
    one->save(0, {filled("w", 100, 1), scalar("loss", 1)}).save(1, {scalar("loss", 1)});
  const Ran ran = diff();
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out,
            "the runs agree: 2 steps, 3 rows (2 by their values, 1 by checksum and "
            "statistics)\n");
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST_F(DiffCommand, the_first_difference_is_told) {
  for (WorkerWriter* one : {&a_, &b_}) one->save(0, {scalar("loss", 1)});
  a_.save(7, {raw("w", {1, 0.1F, 3, 4}).shaped({2, 2})});
  b_.save(7, {raw("w", {1, 0.2F, 3, 6}).shaped({2, 2})});
  a_.save(8, {scalar("loss", 1)});
  b_.save(8, {scalar("loss", 2)});
  const Ran ran = diff();
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out,
            "runs part at step 7 (TRAIN 7): w, worker_0\n"
            "  element [0, 1] of (2, 2): 0.1 in A, 0.2 in B (differs by 0.1; 2 of 4 elements "
            "differ, the greatest by 2)\n"
            "before it 1 step and 1 row agree\n");
}

TEST_F(DiffCommand, as_many_as_asked_for_are_told) {
  for (const std::int64_t step : {0, 1, 2}) {
    a_.save(step, {scalar("loss", 1)});
    b_.save(step, {scalar("loss", 2)});
  }
  const Ran two = diff({"--limit", "2"});
  EXPECT_THAT(two.out, AllOf(HasSubstr("step 1 "), Not(HasSubstr("step 2 ")),
                             HasSubstr("there may be more: --limit 2 was reached\n")));
  const Ran all = diff_as_they_are({"--limit", "0"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("step 2 (TRAIN 2): loss, worker_0\n  value: 1 in A, 2 in B "
                                       "(differs by 1)\n"),
                             Not(HasSubstr("there may be more"))));
}

TEST_F(DiffCommand, it_is_told_when_they_part_at_once) {
  EXPECT_THAT(diff_of(scalar("x", 1), scalar("x", 2)).out,
              HasSubstr("\nnothing was compared before it\n"));
}

TEST_F(DiffCommand, what_is_in_one_run_only_is_told) {
  a_.save(0, {scalar("x", 1)}).save(1, {scalar("x", 1)});
  b_.save(0, {scalar("x", 1), only_shape("y", {2, 3})});
  EXPECT_EQ(diff({"--limit", "0"}).out,
            "runs part at step 0 (TRAIN 0): y, worker_0\n"
            "  the tensor is only in B: f32 (2, 3)\n"
            "runs part at step 1 (TRAIN 1)\n"
            "  the step is only in A\n"
            "before the first 0 steps and 1 row agree\n");
}

TEST_F(DiffCommand, types_shapes_and_modes_are_told) {
  a_.save(At(0, Mode::Train, 0), {raw("w", {1, 2})});
  b_.save(At(0, Mode::Eval, 0), {raw_of<double>("w", {1, 2})});
  a_.save(1, {raw("w", {1, 2})});
  b_.save(1, {raw("w", {1, 2, 3})});
  EXPECT_THAT(diff({"--limit", "0"}).out,
              AllOf(HasSubstr("at step 0\n  the step is TRAIN 0 in A, EVAL 0 in B\n"),
                    HasSubstr("  f32 (2) in A, f64 (2) in B\n"),
                    HasSubstr("  f32 (2) in A, f32 (3) in B\n")));
}

TEST_F(DiffCommand, reductions_and_counts_are_told) {
  a_.save(0, {reduced("w", "mean", 0.25).with("max", 1)});
  b_.save(0, {reduced("w", "mean", 0.5).with("max", 1)});
  a_.save(1, {reduced("w", "mean", 1).with(ValueCounts{})});
  b_.save(1, {reduced("w", "mean", 1).with(ValueCounts{.nan = 3})});
  EXPECT_THAT(
      diff({"--limit", "0"}).out,
      AllOf(HasSubstr("  mean: 0.25 in A, 0.5 in B (differs by 0.25; 1 of 2 reductions differs)\n"),
            HasSubstr("  count of nan: 0 in A, 3 in B (differs by 3; 1 of 4 counts differs)\n")));
}

TEST_F(DiffCommand, numbers_that_differ_look_different) {
  EXPECT_THAT(diff_of(scalar("x", 0.1), scalar("x", 0.10000000000000002)).out,
              HasSubstr("value: 0.1 in A, 0.10000000000000002 in B"));
}

TEST_F(DiffCommand, long_texts_are_shown_where_they_part) {
  const std::string head(1000, 'h'), tail(1000, 't');
  const Ran ran = diff_of(texts("t", {head + "\x1b" + tail}), texts("t", {head + "b" + tail}));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("…\"" + std::string(20, 'h') + "\\x1bttt"),
                             HasSubstr("…\"" + std::string(20, 'h') + "bttt")));
  EXPECT_LT(ran.out.size(), 300U);
}

TEST_F(DiffCommand, names_do_not_move_the_cursor) {
  EXPECT_THAT(diff_of(scalar("\x1b[2J", 1), scalar("\x1b[2J", 2)).out,
              AllOf(HasSubstr("\\x1b[2J"), Not(HasSubstr("\x1b"))));
}

TEST_F(DiffCommand, json_has_every_key_when_runs_differ) {
  a_.save(0, {scalar("loss", 1)}).save(3, {raw("w", {1, 0.1F})});
  b_.save(0, {scalar("loss", 1)}).save(3, {raw("w", {1, kNaNElement})});
  const Ran ran = diff({"--json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(
      ran.out,
      R"({"a":")" + path() + R"(","b":")" + file("other") +
          R"(","result":"different","complete":false,"steps":2,"tensors":2,"steps_before":1,)"
          R"("tensors_before":1,"rows":2,"rows_before":1,"agreements":{"values":1,"checksums":0,"statistics":0,"shapes":0,)"
          R"("nothing":0},"values_read":0,"bytes_read":0,"values_only_in_a":0,)"
          R"("values_only_in_b":0,"reductions_only_in_a":0,"reductions_only_in_b":0,)"
          R"("steps_ahead_in_a":0,"steps_ahead_in_b":0,"differences":[{"kind":"element","step":3,)"
          R"("tensor":"w","worker":"worker_0","a":{"mode":"TRAIN","mode_step":3,"dtype":"f32",)"
          R"("elements":2,"shape":[2],"value":0.1},"b":{"mode":"TRAIN","mode_step":3,)"
          R"("dtype":"f32","elements":2,"shape":[2],"value":"NaN"},"index":[1],"statistic":null,)"
          R"("compared":2,"differing":1,"difference":null,"greatest_difference":null}]})"
          "\n");
}

TEST_F(DiffCommand, json_has_the_same_keys_whatever_differs) {
  a_.save(At(0, Mode::Train, 0), {scalar("e", 1), scalar("only", 1), raw("s", {1})});
  b_.save(At(0, Mode::Eval, 0), {scalar("e", kInf), raw("s", {1, 2})});
  a_.save(1, {scalar("e", 1)});
  const Json found = diff({"--json", "--limit", "0"}).json();
  std::vector<std::string> kinds;
  for (const Json& one : found["differences"]) {
    kinds.push_back(one["kind"]);
    EXPECT_EQ(one.size(), 12U) << one;
    for (const char* side : {"a", "b"}) {
      EXPECT_TRUE(one[side].is_null() || one[side].size() == 6U) << one;
    }
  }
  EXPECT_THAT(kinds, ElementsAre("mode", "element", "tensor", "shape", "step"));
  EXPECT_EQ(found["differences"][0]["tensor"], nullptr);
  EXPECT_EQ(found["differences"][1]["b"]["value"], "Infinity");
  EXPECT_EQ(found["differences"][1]["difference"], "Infinity");
  EXPECT_EQ(found["differences"][2]["b"], nullptr);
  EXPECT_EQ(found["complete"], true);
}

TEST_F(DiffCommand, integers_are_exact_in_json) {
  constexpr std::int64_t kBig = (std::int64_t{1} << 60) + 1;
  const Json one =
      diff_of(raw_of<std::int64_t>("n", {kBig}), raw_of<std::int64_t>("n", {kBig + 1}), {"--json"})
          .json()["differences"][0];
  EXPECT_EQ(one["a"]["value"].dump(), "1152921504606846977");
  EXPECT_EQ(one["b"]["value"].dump(), "1152921504606846978");
}

TEST_F(DiffCommand, a_tolerance_makes_near_runs_agree) {
  const Ran ran = diff_of(scalar("x", 1), scalar("x", 1.0625), {"--rtol", "0.0625"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, StartsWith("the runs agree within the tolerance: 1 step, 1 row"));
  EXPECT_EQ(diff_as_they_are({"--atol", "0.0625"}).code, 0);
  EXPECT_EQ(diff_as_they_are({"--atol", "0.06"}).code, 1);
}

TEST_F(DiffCommand, only_what_is_selected_is_compared) {
  for (const std::int64_t step : {0, 1, 2}) {
    a_.save(step, {scalar("x", 1), scalar("y", 1)});
    b_.save(step, {scalar("x", static_cast<double>(step)), scalar("y", 1)});
  }
  a_.collection("ys", {"y"});
  EXPECT_EQ(diff({"--regex", "y"}).code, 0);
  EXPECT_EQ(diff_as_they_are({"--collection", "ys"}).code, 0);
  EXPECT_EQ(diff_as_they_are({"--start-step", "1", "--end-step", "2"}).code, 0);
  EXPECT_EQ(diff_as_they_are({"--start-step", "1"}).code, 1);
  EXPECT_EQ(diff_as_they_are({"--end-step", "1"}).code, 1);
}

TEST_F(DiffCommand, what_is_in_one_run_only_and_no_difference_is_remarked) {
  a_.save(0, {raw("v", {1}), raw("w", {1, 2, 3, 4}).with("mean", 1)});
  b_.save(0, {raw("v", {1}).with("max", 1), reduced("w", "mean", 1)});
  a_.save_steps({1, 2});
  a_.finish();
  const Ran ran = diff_as_they_are();
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out,
            "the runs agree: 1 step, 2 rows (1 by their values, 1 by reductions and counts)\n"
            "only in A: raw values of 1 row\n"
            "only in B: reductions of 1 row\n"
            "not compared: 2 steps of A; B has not come so far and goes on\n");
}

TEST_F(DiffCommand, comparing_nothing_is_an_error) {
  const Ran ran = diff_of(raw("w", {1, 2, 3, 4}), reduced("w", "mean", 1));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("nothing was compared"));
  EXPECT_EQ(diff_as_they_are({"--regex", "nobody"}).code, 2);
  EXPECT_EQ(diff_as_they_are({"--json"}).json()["result"], "nothing");
}

TEST_F(DiffCommand, a_collection_that_neither_run_has_is_an_error) {
  a_.collection("weights", {"w"});
  const Ran ran = diff_of(scalar("w", 1), scalar("w", 1), {"--collection", "weihgts"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("did you mean weights?"));
}

TEST_F(DiffCommand, mistakes_in_the_command_line_are_errors) {
  a_.save_steps({0});
  b_.save_steps({0});
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--rtol=-1e-9"},
                                             {"--atol=nan"},
                                             {"--rtol=inf"},
                                             {"--atol=much"},
                                             {"--limit=-1"},
                                             {"--start-step=-1"},
                                             {"--start-step=0x10"},
                                             {"--end-step=-5"},
                                             {"--start-step=7", "--end-step=7"},
                                             {"--mode=SLEEP"},
                                             {"--regex=("},
                                             {"--regex=a", "--collection=b"}}) {
    const Ran ran = diff(bad);
    EXPECT_EQ(ran.code, 2) << bad.front();
    EXPECT_THAT(ran.out, IsEmpty()) << bad.front();
  }
  EXPECT_EQ(run({"diff", path()}).code, 2);
  EXPECT_EQ(run({"diff", path(), file("absent")}).code, 2);
}

TEST_F(DiffCommand, damage_wins_over_a_difference) {
  a_.save(0, {scalar("x", 1)}).seal().save(1, {scalar("x", 1)}).seal();
  b_.save(0, {scalar("x", 2)}).save(1, {scalar("x", 1)});
  flip_bit(store_, a_.index_key(), store_.get(a_.index_key())->size() / 2);
  const Ran ran = diff();
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr("runs part at step 0"));
  EXPECT_THAT(ran.err, HasSubstr("cupel diff: run A: The file is damaged"));
}

}  // namespace
}  // namespace cupel::testing
