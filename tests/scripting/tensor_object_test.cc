// What a script asks of one tensor, against what the tensor says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// "w" of two workers at TRAIN steps 0 and 2, and EVAL step 0; "r" has reductions, "s" a shape.
MemoryRun saved() {
  MemoryRun run;
  WorkerWriter first = run.worker({.worker = "worker_2", .num_workers = 2});
  WorkerWriter second = run.worker({.worker = "worker_10", .num_workers = 2});
  first.save(At(0, Mode::Train, 0), {raw("w", {1, -3})})
      .save(At(1, Mode::Eval, 0), {raw("w", {5})})
      .save(At(4, Mode::Train, 2),
            {raw("w", {2, 2}).with("mean", 7).with(ValueCounts{1, 2, 3, 4}), reduced("r", "l2", 5),
             only_shape("s", {2, 3}), texts("t", {"a", "b"})});
  second.save(At(0, Mode::Train, 0), {raw("w", {10, 30})})
      .save(At(1, Mode::Eval, 0), {raw("w", {50})})
      .save(At(4, Mode::Train, 2), {raw("w", {20, 20})});
  first.close();
  second.finish();
  return run;
}

constexpr std::int64_t kLast = 4;

std::string asked(const std::string& query, const std::string& tensor = "w") {
  return answer(saved(), "local t = trial:tensor('" + tensor + "') return say(" + query + ")",
                kLast);
}
std::string refused(const std::string& query) {
  return JudgedRule(saved(), rule_text("local t = trial:tensor('w') local x = " + query))
      .error(kLast);
}

TEST(TensorObject, its_value_is_that_of_a_step_a_mode_and_a_worker) {
  EXPECT_EQ(asked("t:value(0):to_table()"), "{1.0,-3.0}");
  EXPECT_EQ(asked("t:value(0, { worker = 'worker_10' }):to_table()"), "{10.0,30.0}");
  EXPECT_EQ(asked("t:value(0, { mode = 'EVAL' }):to_table()"), "{5.0}");
  EXPECT_EQ(asked("t:value(2, { mode = 'train', worker = 'worker_10' }):to_table()"),
            "{20.0,20.0}");
  EXPECT_EQ(asked("t:value(4).name"), "w at step 4");
}

TEST(TensorObject, its_shape_is_the_saved_one) {
  EXPECT_EQ(asked("t:shape(4)"), "{2}");
  EXPECT_EQ(asked("t:shape(0, { mode = 'EVAL' })"), "{1}");
  EXPECT_EQ(asked("t:shape(4)", "s"), "{2,3}");
}

TEST(TensorObject, a_reduction_is_the_saved_one_else_computed) {
  EXPECT_EQ(asked("t:reduction_value(4, 'mean')"), "7.0 mean (saved)");
  EXPECT_EQ(asked("t:reduction_value(4, 'max')"), "2.0 max (from raw)");
  EXPECT_EQ(asked("t:reduction_value(4, 'mean', { worker = 'worker_10' })"),
            "20.0 mean (from raw)");
  EXPECT_EQ(asked("t:reduction_value(0, 'mean', { abs = true })"), "2.0 abs_mean (from raw)");
  EXPECT_EQ(asked("t:reduction_value(0, 'abs_mean')"), "2.0 abs_mean (from raw)");
  EXPECT_EQ(asked("t:reduction_value(0, 'sum', { mode = 'EVAL' })"), "5.0 sum (from raw)");
}

TEST(TensorObject, a_reduction_that_is_to_be_saved_may_be_nil) {
  EXPECT_EQ(asked("t:reduction_value(4, 'mean', { saved = true })"), "7.0 mean (saved)");
  EXPECT_EQ(asked("tostring(t:reduction_value(4, 'max', { saved = true }))"), "nil");
  EXPECT_EQ(asked("tostring(t:reduction_value(4, 'mean', { saved = true }))", "r"), "nil");
}

TEST(TensorObject, a_reduction_follows_from_another_where_there_is_no_value) {
  MemoryRun run;
  run.worker().save(0, {reduced("w", "l1", 8)}).finish();
  EXPECT_EQ(answer(run, "return say(trial:tensor('w'):reduction_value(0, 'abs_mean'))"),
            "2.0 l1 / elements (saved)");
}

TEST(TensorObject, a_reduction_that_follows_from_a_saved_one_is_taken_before_the_value_is_read) {
  MemoryRun run;
  run.worker().save(0, {filled("w", 100, 3).with("l1", 50)}).finish();
  EXPECT_EQ(answer(run, "return say(trial:tensor('w'):reduction_value(0, 'abs_mean'))"),
            "0.5 l1 / elements (saved)");
  EXPECT_EQ(answer(run,
                   "for _, _, mean in trial:each { step = 0, reductions = 'abs_mean' } do "
                   "return say(mean) end"),
            "0.5");
}

TEST(TensorObject, its_reductions_are_the_saved_ones_by_name) {
  EXPECT_EQ(answer(saved(),
                   "local texts = {} for _, name in ipairs { 'w', 'r' } do for key, value in "
                   "pairs(trial:tensor(name):reduction_values(4)) do texts[#texts + 1] = name .. "
                   "' ' .. key .. ' ' .. value end end return table.concat(texts, ', ')",
                   kLast),
            "w mean 7.0, r l2 5.0");
  EXPECT_EQ(asked("tostring(next(t:reduction_values(0)))"), "nil");
}

TEST(TensorObject, its_counts_are_the_saved_ones) {
  EXPECT_EQ(answer(saved(),
                   "local c = trial:tensor('w'):counts(4) return say(c.nan, c.pos_inf, c.neg_inf, "
                   "c.zero)",
                   kLast),
            "1 2 3 4");
  EXPECT_EQ(asked("tostring(t:counts(0))"), "nil");
}

TEST(TensorObject, its_record_is_what_the_index_says) {
  const std::string record =
      "local r = t:record(%) return say(r.dtype, r.elements, r.has_value, r.worker, r.mode, "
      "r.step, "
      "r.mode_step, tostring(r.shape and #r.shape))";
  const auto said = [&](const std::string& arguments, const std::string& tensor = "w") {
    std::string body = "local t = trial:tensor('" + tensor + "') " + record;
    return answer(saved(), body.replace(body.find('%'), 1, arguments), kLast);
  };
  EXPECT_EQ(said("4"), "f32 2 true worker_2 TRAIN 4 2 1");
  EXPECT_EQ(said("2, { mode = 'TRAIN', worker = 'worker_10' }"),
            "f32 2 true worker_10 TRAIN 4 2 1");
  EXPECT_EQ(said("4", "r"), "f32 4 false worker_2 TRAIN 4 2 nil");
  EXPECT_EQ(said("4", "s"), "f32 6 false worker_2 TRAIN 4 2 2");
  EXPECT_EQ(said("4", "t"), "utf8 2 true worker_2 TRAIN 4 2 1");
}

TEST(TensorObject, knows_its_steps_and_workers) {
  EXPECT_EQ(asked("t:steps()"), "{0,1,4}");
  EXPECT_EQ(asked("t:steps('TRAIN')"), "{0,2}");
  EXPECT_EQ(asked("t:prev_steps(4)"), "{0,1,4}");
  EXPECT_EQ(asked("t:prev_steps(3, 1)"), "{1}");
  EXPECT_EQ(asked("t:prev_steps(4, 2)"), "{1,4}");
  EXPECT_EQ(asked("t:prev_steps(2, 1, 'TRAIN')"), "{2}");
  EXPECT_EQ(asked("t:workers(4)"), "{worker_2,worker_10}");
  EXPECT_EQ(asked("t:workers(4)", "r"), "{worker_2}");
  EXPECT_EQ(asked("t:workers(0, 'EVAL')"), "{worker_2,worker_10}");
}

TEST(TensorObject, mistakes_in_a_query_are_told) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"t:value()", "value: step is not given"},
      {"t:value(nil)", "value: step is not given"},
      {"t:value(1.5)", "value: step is no whole number"},
      {"t:shape()", "shape: step is not given"},
      {"t:counts()", "counts: step is not given"},
      {"t:record('x')", "record: step is a string, not a whole number"},
      {"t:workers()", "workers: step is not given"},
      {"t:prev_steps()", "prev_steps: step is not given"},
      {"t:prev_steps(4, 'x')", "prev_steps: count is a string, not a whole number"},
      {"t:reduction_values()", "reduction_values: step is not given"},
      {"t:reduction_value()", "reduction_value: step is not given"},
      {"t:value(4, 'EVAL')", "value takes a table of named arguments, not a string"},
      {"t:value(4, { abs = true })", "value does not know abs"},
      {"t:value(4, { wrker = 'x' })", "value does not know wrker; did you mean worker?"},
      {"t:value(4, { mode = 'TRIAN' })", "TRIAN"},
      {"t:reduction_value(4)", "reduction_value: reduction is not given"},
      {"t:reduction_value(4, 'men')", "men"},
      {"t:prev_steps(4, -1)", "how many steps must not be negative"},
      {"t.value(4)",
       "a method of a tensor is called with another value, a number; write "
       "tensor:method(...), with a colon"},
      {"trial.value(t, 4)", "a trial has no value"},
      {"t.values(4)", "a tensor has no values; did you mean value"},
  };
  for (const auto& [query, text] : cases) EXPECT_THAT(refused(query), HasSubstr(text)) << query;
}

TEST(TensorObject, a_nan_that_was_read_is_told) {
  MemoryRun run;
  run.worker()
      .save(0, {scalar("x", NAN), raw("c", {1}).with(ValueCounts{1, 0, 0, 0}), scalar("y", 1)})
      .finish();
  const auto met = [&](const std::string& query) {
    return JudgedRule(run, rule_text(query)).verdict(0).nan_seen();
  };
  EXPECT_TRUE(met("trial:tensor('x'):reduction_value(0, 'mean')"));
  EXPECT_TRUE(met("trial:tensor('c'):counts(0)"));
  EXPECT_FALSE(met("trial:tensor('y'):reduction_value(0, 'mean')"));
}

TEST(TensorObject, values_of_two_steps_are_there_at_once) {
  EXPECT_EQ(asked("(t:value(4) - t:value(0)):to_table()"), "{1.0,5.0}");
}

ScriptLimit limit_reached(const MemoryRun& run, const std::string& body,
                          const ScriptLimits& limits) {
  Trial trial = run.open();
  const RuleFiles files;
  const auto rule = lua_rule(files.write("rule.lua", rule_text(body)), limits)->make(trial);
  try {
    RuleEvaluation(*rule).at_step(0, RunFollower(trial).snapshot());
  } catch (const ScriptError& error) {
    return error.limit;
  } catch (const Error&) {
  }
  return ScriptLimit::None;
}

TEST(TensorObject, a_value_larger_than_the_memory_is_refused_before_it_is_read) {
  MemoryRun run;
  run.worker().save(0, {filled("w", 1U << 20U, 1)}).finish();
  EXPECT_EQ(limit_reached(run, "trial:tensor('w'):value(0)", {.memory = std::size_t{2} << 20U}),
            ScriptLimit::Memory);
}

// A text of 1 MiB of which the index alone is left: who reads it finds that it is missing.
MemoryRun text_that_is_gone() {
  MemoryRun run;
  run.worker().save(0, {texts("t", {std::string(1U << 20U, 'x')})}).finish();
  for (const ObjectInfo& file : run.store->list("events/")) run.store->remove(file.key);
  return run;
}

TEST(TensorObject, a_text_larger_than_the_memory_is_refused_before_it_is_read) {
  const std::string body = "trial:tensor('t'):value(0)";
  EXPECT_EQ(limit_reached(text_that_is_gone(), body, {.memory = std::size_t{1} << 20U}),
            ScriptLimit::Memory);
  EXPECT_EQ(limit_reached(text_that_is_gone(), body, {}), ScriptLimit::None);
}

TEST(TensorObject, a_text_costs_instructions_before_it_is_read) {
  const std::string body = "trial:tensor('t'):value(0)";
  EXPECT_EQ(limit_reached(text_that_is_gone(), body, {.instructions = 10'000}),
            ScriptLimit::Instructions);
}

TEST(TensorObject, a_median_of_the_raw_value_costs_more_than_a_sum) {
  MemoryRun run;
  run.worker().save(0, {filled("w", 1U << 18U, 1)}).finish();
  const ScriptLimits limits{.instructions = 100'000};
  const auto reached = [&](const std::string& body) { return limit_reached(run, body, limits); };
  EXPECT_EQ(reached("trial:tensor('w'):reduction_value(0, 'sum')"), ScriptLimit::None);
  EXPECT_EQ(reached("trial:tensor('w'):reduction_value(0, 'median')"), ScriptLimit::Instructions);
  EXPECT_EQ(reached("trial:each { step = 0, reductions = 'sum' }"), ScriptLimit::None);
  EXPECT_EQ(reached("trial:each { step = 0, reductions = 'median' }"), ScriptLimit::Instructions);
}

TEST(TensorObject, a_value_of_more_than_half_of_the_memory_can_be_read) {
  MemoryRun run;
  run.worker().save(0, {filled("w", 1U << 20U, 1)}).finish();
  Trial trial = run.open();
  const RuleFiles files;
  const auto rule = lua_rule(files.write("rule.lua", rule_text("trial:tensor('w'):value(0)")),
                             {.memory = std::size_t{6} << 20U});
  EXPECT_THAT(
      describe(RuleEvaluation(*rule->make(trial)).at_step(0, RunFollower(trial).snapshot())),
      IsEmpty());
}

TEST(TensorObject, its_text_says_what_it_is) {
  EXPECT_EQ(asked("tostring(t)"), "tensor w: f32[2], 3 steps from 0 to 4");
  EXPECT_EQ(asked("tostring(t)", "r"), "tensor r: f32, 4 elements, step 4");
  EXPECT_EQ(asked("tostring(t)", "s"), "tensor s: f32[2, 3], step 4");
}

TEST(TensorObject, its_text_is_of_the_steps_up_to_the_one_that_is_judged) {
  EXPECT_EQ(answer(saved(), "return tostring(trial:tensor('w'))", 1),
            "tensor w: f32[1], 2 steps from 0 to 1");
}

}  // namespace
}  // namespace cupel::testing
