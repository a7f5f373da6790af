// What a script asks of a run, against what the trial says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string joined(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& one : texts) text += (text.empty() ? "" : ",") + one;
  return "{" + text + "}";
}
std::string joined(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return joined(texts);
}

/// Two workers, two modes, three tensors; the last step lacks one worker.
MemoryRun two_workers() {
  MemoryRun run;
  WorkerWriter first = run.worker({.worker = "worker_2", .num_workers = 2});
  WorkerWriter second = run.worker({.worker = "worker_10", .num_workers = 2});
  for (WorkerWriter* writer : {&first, &second}) {
    writer->collection("gradients", {"^gradient"}, {"listed"}).collection("losses", {"loss"});
    writer->save(At(0, Mode::Train, 0), {raw("gradient/a", {1, 2}), scalar("loss", 1)});
    writer->save(At(3, Mode::Eval, 0), {raw("listed", {3}), scalar("loss", 2)});
    writer->save(At(5, Mode::Train, 2), {raw("gradient/a", {5, -6}), raw("gradient/b", {7})});
  }
  first.save(At(7, Mode::Train, 4), {scalar("loss", 3)});
  first.close();
  second.finish();
  return run;
}

constexpr std::int64_t kLastStep = 7;

std::string asked_trial(const std::string& query, std::int64_t step = kLastStep) {
  return answer(two_workers(), "return say(" + query + ")", step);
}
std::string refused_query(const std::string& query) {
  return JudgedRule(two_workers(), rule_text("local x = " + query)).error(kLastStep);
}

TEST(TrialObject, names_tensors_as_the_trial_does) {
  const MemoryRun run = two_workers();
  const Trial trial = run.open();
  const std::vector<std::pair<std::string, TensorQuery>> cases = {
      {"", {}},
      {"{}", {}},
      {"{ step = 5 }", {.step = 5}},
      {"{ step = 4 }", {.step = 4}},
      {"{ step = 2, mode = 'TRAIN' }", {.step = 2, .mode = Mode::Train}},
      {"{ mode = 'eval' }", {.mode = Mode::Eval}},
      {"{ regex = 'dient/[b]' }", {.regex = "dient/[b]"}},
      {"{ regex = { 'b$', 'lo' } }", {.regex = {"b$", "lo"}}},
      {"{ collection = 'gradients' }", {.collection = "gradients"}},
      {"{ collection = 'gradients', step = 3 }", {.step = 3, .collection = "gradients"}},
      {"{ collection = 'absent' }", {.collection = "absent"}},
  };
  for (const auto& [argument, query] : cases)
    EXPECT_EQ(asked_trial("trial:tensor_names(" + argument + ")"),
              joined(trial.tensor_names(query)))
        << argument;
}

TEST(TrialObject, answers_about_steps_and_modes_as_the_trial_does) {
  const MemoryRun run = two_workers();
  const Trial trial = run.open();
  EXPECT_EQ(asked_trial("trial:steps()"), joined(trial.steps()));
  EXPECT_EQ(asked_trial("trial:steps('train')"), joined(trial.steps(Mode::Train)));
  EXPECT_EQ(asked_trial("trial:steps('EVAL')"), "{0}");
  EXPECT_EQ(asked_trial("trial:steps('PREDICT')"), "{}");
  EXPECT_EQ(asked_trial("trial:modes()"), "{TRAIN,EVAL}");
  EXPECT_EQ(asked_trial("trial:mode(3), trial:mode(5), trial:mode(4)"), "EVAL TRAIN");
  EXPECT_EQ(asked_trial("trial:mode_step(5)"), "2");
  EXPECT_EQ(asked_trial("tostring(trial:mode_step(4))"), "nil");
  EXPECT_EQ(asked_trial("trial:global_step('TRAIN', 2), trial:global_step('eval', 0)"), "5 3");
  EXPECT_EQ(asked_trial("tostring(trial:global_step('EVAL', 1))"), "nil");
  EXPECT_EQ(asked_trial("trial:global_step('GLOBAL', 5)"), "5");
  EXPECT_EQ(asked_trial("trial:last_complete_step()"), std::to_string(trial.last_complete_step()));
}

TEST(TrialObject, shows_nothing_behind_the_step_that_is_judged) {
  EXPECT_EQ(asked_trial("trial:steps()", 3), "{0,3}");
  EXPECT_EQ(asked_trial("trial:has_tensor('gradient/b')", 3), "false");
  EXPECT_EQ(asked_trial("trial:modes()", 0), "{TRAIN}");
}

TEST(TrialObject, answers_about_tensors_and_workers_as_the_trial_does) {
  EXPECT_EQ(asked_trial("trial:has_tensor('loss'), trial:has_tensor('los')"), "true false");
  EXPECT_EQ(asked_trial("trial:tensor('gradient/a'):name()"), "gradient/a");
  EXPECT_EQ(asked_trial("trial:workers()"), "{worker_2,worker_10}");
  EXPECT_EQ(asked_trial("trial:missing_workers(5)"), "{}");
  EXPECT_EQ(asked_trial("trial:missing_workers(7)"), "{worker_10}");
  EXPECT_EQ(asked_trial("trial:name()"), two_workers().open().name());
}

TEST(TrialObject, tells_of_collections) {
  EXPECT_EQ(asked_trial("trial:collections()"), "{gradients,losses}");
  EXPECT_EQ(asked_trial("trial:collection('gradients').name"), "gradients");
  EXPECT_EQ(asked_trial("trial:collection('gradients').include_regex"), "{^gradient}");
  EXPECT_EQ(asked_trial("trial:collection('gradients').tensor_names"),
            "{gradient/a,gradient/b,listed}");
  EXPECT_EQ(asked_trial("trial:collection('absent').tensor_names"), "{}");
}

TEST(TrialObject, mistakes_in_a_query_are_told) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"trial:tensor_names { stp = 1 }", "tensor_names does not know stp; did you mean step?"},
      {"trial:tensor_names('x')", "tensor_names takes a table of named arguments, not a string"},
      {"trial:tensor_names { step = 'x' }", "tensor_names: step is a string, not a whole number"},
      {"trial:tensor_names { step = 1.5 }", "tensor_names: step is no whole number"},
      {"trial:tensor_names { regex = '(' }", "missing closing parenthesis"},
      {"trial:tensor_names { regex = 'a', collection = 'b' }",
       "tensor_names: regex and collection exclude each other"},
      {"trial:tensor_names { mode = 'TRIAN' }", "TRIAN"},
      {"trial:steps('TRIAN')", "TRIAN"},
      {"trial:tensor()", "tensor: name is not given"},
      {"trial:tensor(nil)", "tensor: name is not given"},
      {"trial:tensor(7)", "tensor: name is a number, not a text"},
      {"trial:has_tensor()", "has_tensor: name is not given"},
      {"trial:collection {}", "collection: name is a table, not a text"},
      {"trial:mode('x')", "mode: step is a string, not a whole number"},
      {"trial:mode_step(1.5)", "mode_step: step is no whole number"},
      {"trial:missing_workers()", "missing_workers: step is not given"},
      {"trial:global_step('TRAIN')", "global_step: step is not given"},
      {"trial:global_step()", "global_step: mode is not given"},
      {"trial.steps()", "a method of a trial is called with another value, a no value"},
      {"trial.steps(self)",
       "a method of a trial is called with another value, a table; write "
       "trial:method(...), with a colon"},
      {"trial:tensr('loss')", "a trial has no tensr; did you mean tensor?"},
      {"trial:each()", "each: step is not given"},
      {"trial:each { step = 1, reductions = { 'men' } }", "men"},
  };
  for (const auto& [query, text] : cases)
    EXPECT_THAT(refused_query(query), HasSubstr(text)) << query;
}

TEST(TrialObject, cannot_be_changed_and_shows_no_address) {
  EXPECT_THAT(refused_query("(function() trial.x = 1 end)()"),
              HasSubstr("attempt to index a trial value"));
  EXPECT_EQ(asked_trial("tostring(trial)"), "trial");
}

// ---- trial:each ----

constexpr const char* kRows =
    "local rows = {} for name, worker, x, y in trial:each(%) do rows[#rows + 1] = name .. ' ' .. "
    "worker .. ' ' .. tostring(x) .. ' ' .. tostring(y) end return table.concat(rows, '; ')";

std::string rows(const std::string& argument, const MemoryRun& run = two_workers(),
                 std::int64_t step = kLastStep) {
  std::string body = kRows;
  return answer(run, body.replace(body.find('%'), 1, argument), step);
}

TEST(TrialObject, each_goes_by_name_then_worker) {
  EXPECT_EQ(rows("{ step = 5 }"),
            "gradient/a worker_2 nil nil; gradient/a worker_10 nil nil; "
            "gradient/b worker_2 nil nil; gradient/b worker_10 nil nil");
}

TEST(TrialObject, each_hands_out_reductions_in_the_order_asked_for) {
  EXPECT_EQ(rows("{ step = 5, reductions = { 'min', 'abs_max' }, regex = 'a$' }"),
            "gradient/a worker_2 -6.0 6.0; gradient/a worker_10 -6.0 6.0");
  EXPECT_EQ(rows("{ step = 2, mode = 'TRAIN', reductions = 'sum', regex = 'b$' }"),
            "gradient/b worker_2 7.0 nil; gradient/b worker_10 7.0 nil");
}

TEST(TrialObject, each_takes_what_a_collection_has_and_what_a_pattern_finds) {
  EXPECT_EQ(rows("{ step = 3, collection = 'gradients' }"),
            "listed worker_2 nil nil; listed worker_10 nil nil");
  EXPECT_EQ(rows("{ step = 3, collection = { 'gradients', 'losses' } }"),
            "listed worker_2 nil nil; listed worker_10 nil nil; "
            "loss worker_2 nil nil; loss worker_10 nil nil");
  EXPECT_EQ(rows("{ step = 3, collection = 'gradients', regex = { 'x', '^loss$' } }"),
            "listed worker_2 nil nil; listed worker_10 nil nil; "
            "loss worker_2 nil nil; loss worker_10 nil nil");
  EXPECT_EQ(rows("{ step = 3, collection = {}, regex = '^l.s' }"),
            "listed worker_2 nil nil; listed worker_10 nil nil; "
            "loss worker_2 nil nil; loss worker_10 nil nil");
}

TEST(TrialObject, each_of_a_step_that_nobody_saved_is_nothing) {
  EXPECT_EQ(rows("{ step = 4 }"), "nothing");
  EXPECT_EQ(rows("{ step = 1, mode = 'EVAL' }"), "nothing");
}

TEST(TrialObject, each_skips_what_has_no_such_number_in_the_words_of_built_in_rules) {
  MemoryRun run;
  run.worker()
      .save(0, {raw_of<float>("empty", {}), texts("text", {"x"}), reduced("l2", "l2", 1),
                texts("texts", {}), reduced("mean", "mean", 2)})
      .finish();
  JudgedRule rule(run, rule_text("for name, worker, mean in trial:each { step = step, reductions = "
                                 "'mean' } do self:issue { tensor = name, value = mean } end"));
  EXPECT_THAT(rule.at(0), ElementsAre("fires mean worker_0 2 vs NaN: value 2",
                                      "skips empty worker_0: the tensor is empty",
                                      "skips l2 worker_0: neither mean nor sum nor the raw value "
                                      "was saved",
                                      "skips text worker_0: text is no numbers",
                                      "skips texts worker_0: text is no numbers"));
}

TEST(TrialObject, each_says_nothing_of_other_steps_than_the_judged_one) {
  MemoryRun run;
  run.worker()
      .save(0, {texts("text", {"x"}), raw("bad", {NAN})})
      .save(1, {raw("bad", {1})})
      .finish();
  JudgedRule rule(run, rule_text("for _ in trial:each { step = 0, reductions = 'mean' } do end"));
  EXPECT_THAT(describe(rule.verdict(1)), IsEmpty());
  EXPECT_FALSE(rule.verdict(1).nan_seen());
  EXPECT_TRUE(rule.verdict(0).nan_seen());
}

TEST(TrialObject, each_takes_a_derived_reduction_before_it_reads_the_value) {
  MemoryRun run;
  run.worker().save(0, {filled("w", 100, 3).with("l1", 50)}).finish();
  for (const ObjectInfo& file : run.store->list("events/")) run.store->remove(file.key);
  EXPECT_EQ(rows("{ step = 0, reductions = { 'abs_mean' } }", run, 0), "w worker_0 0.5 nil");
}

TEST(TrialObject, each_counts_its_rows_twice_while_their_room_grows) {
  MemoryRun run;
  std::vector<SavedTensor> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(reduced("w" + std::to_string(i), "mean", 1));
  run.worker().save(0, many).finish();
  Trial trial = run.open();
  const RuleFiles files;
  // Room for 16,384 rows of 20 numbers takes 3 MiB, that for half as many before it the half.
  const std::string body =
      "local means = {} for i = 1, 20 do means[i] = 'mean' end "
      "trial:each { step = 0, reductions = means }";
  const auto rule =
      lua_rule(files.write("rule.lua", rule_text(body)), {.memory = std::size_t{4} << 20U})
          ->make(trial);
  EXPECT_THROW(RuleEvaluation(*rule).at_step(0, RunFollower(trial).snapshot()), ScriptError);
}

TEST(TrialObject, each_may_be_left_early_and_begun_again) {
  EXPECT_EQ(answer(two_workers(),
                   "local names = {} for i = 1, 2 do for name in trial:each { step = 5 } do "
                   "names[i] = name break end end return say(names)",
                   5),
            "{gradient/a,gradient/a}");
}

}  // namespace
}  // namespace cupel::testing
