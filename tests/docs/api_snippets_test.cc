// The smaller snippets of docs/api.md, each inside a test that runs it in a scratch directory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api_tour.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/cupel.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/tensor_rule.h"
#include "scratch.h"

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ApiSnippets : public ::testing::Test {
 protected:
  // A finished run with a weight, its gradient and the loss at steps 0 to 9.
  static void save_run() {
    cupel::HookOptions options;
    options.out_dir = "runs/mnist";
    options.save_all = true;
    options.save_config = {.save_interval = 1};
    cupel::Hook hook(options);
    hook.set_mode(cupel::Mode::Train);
    for (int i = 0; i < 10; ++i) {
      hook.next_step();
      const std::vector<float> values(20, static_cast<float>(i));
      hook.save_tensor("fc1.weight", cupel::TensorView(values.data(), {4, 5}));
      hook.save_tensor("gradient/fc1.weight", cupel::TensorView(values.data(), {4, 5}));
      hook.save_scalar("loss", 1.0 / (1 + i));
    }
    hook.close();
  }

  cupel_docs::Scratch scratch_;
};

TEST_F(ApiSnippets, the_tour_runs_until_invoke_rule_says_that_there_is_no_more_data) {
  EXPECT_THROW(cupel_docs::tour(), cupel::NoMoreData);
}

TEST_F(ApiSnippets, saving) {
  const std::vector<float> weights(12, 0.5F);
  const std::vector<double> column_major(12, 0.25);
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.save_all = true;
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);
  hook.next_step();

  hook.save_tensor("fc1.weight", cupel::TensorView(weights.data(), {3, 4}));
  hook.save_tensor("flat", cupel::TensorView(std::span(weights)));
  hook.save_tensor("strided",
                   cupel::TensorView(column_major.data(), cupel::DType::F64, {3, 4}, {1, 3}));
  const std::vector<std::string> classes = {"cat", "dog"};
  hook.save_tensor("classes", cupel::TensorView(classes.data(), {classes.size()}));

  const cupel::HookReport report = hook.close();
  for (const std::string& problem : report.problems) std::cerr << problem << '\n';
  for (const std::string& name : report.never_saved) std::cerr << "not saved: " << name << '\n';
  EXPECT_EQ(report.tensors_saved, 4);
  EXPECT_THAT(report.problems, IsEmpty());
}

TEST_F(ApiSnippets, steps_that_the_caller_numbers_and_ends) {
  const std::int64_t iterations = 3;
  const std::vector<float> weights(12, 0.5F), fc1(4);
  const double learning_rate = 0.1;
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.include_collections = {"weights", "activations"};
  options.save_config = {.save_interval = 2};
  cupel::Hook hook(options);
  hook.get_collection("activations").include("_output_").set_save_config({.save_interval = 3});

  for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
    hook.next_step(iteration);
    if (hook.due()) hook.save_tensor("fc1.weight", cupel::TensorView(weights.data(), {3, 4}));
    hook.save_tensor_always("learning_rate", cupel::TensorView(&learning_rate, {1}));
    hook.end_step();  // committed
  }
  hook.save_scalar("loss", 0.25);

  EXPECT_EQ(hook.committed_step(), 2);
  hook.next_step(3);

  const std::array<std::string_view, 2> by_hand = {"weights", "losses"};
  if (hook.due_beyond(by_hand))
    hook.save_outputs("fc1", std::array{cupel::TensorView(std::span(fc1))});

  const cupel::TensorHandle output = hook.next_output("fc1");  // fc1_output_1
  if (hook.wants(output) && fc1.empty()) hook.leave_out(output, "the layer has no values yet");

  EXPECT_TRUE(hook.wants(output));
  EXPECT_THAT(hook.close().problems, IsEmpty());
  const auto trial = cupel::create_trial("runs/mnist");
  EXPECT_THAT(trial->tensor("fc1.weight").steps(), ElementsAre(0, 2));
  EXPECT_THAT(trial->tensor("learning_rate").steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial->tensor("loss").steps(), ElementsAre(3));
  EXPECT_THAT(trial->tensor("fc1_output_0").steps(), ElementsAre(3));
}

TEST_F(ApiSnippets, collections) {
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.include_collections = {"weights", "relu_out", "attention"};
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);

  hook.get_collection("relu_out")
      .include("relu.*output")
      .set_save_config({.save_interval = 100})
      .set_reduction_config({.reductions = {"min", "max"}, .abs_reductions = {"mean"}});

  cupel::Collection attention("attention");
  attention.include({"attention", "^mha[0-9]+/"}).add_tensor_name("probabilities");
  hook.add_collection(attention);

  const cupel::TensorHandle embedding = hook.handle("embedding", {"weights"});

  hook.next_step();
  EXPECT_TRUE(hook.wants(embedding));
  EXPECT_TRUE(hook.wants("mha3/query"));
  EXPECT_TRUE(hook.wants("relu1_output"));
  EXPECT_FALSE(hook.wants("tanh1_output"));
}

TEST_F(ApiSnippets, a_collection_that_calls_fill) {
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.include_collections = {"maps"};
  cupel::Hook hook(options);
  const std::vector<float> map = {1, -3, 1, 1};

  hook.get_collection("maps").set_reduction_config({.reductions = {"mean", "abs_max", "l2"}});
  hook.next_step();
  hook.save_tensor("head0", cupel::TensorView(map.data(), {2, 2}), {"maps"});

  const cupel::Collections now = hook.collections_now();
  for (const std::string& name : now.at("maps").tensor_names()) std::cout << name << '\n';

  EXPECT_THAT(hook.close().problems, IsEmpty());
  const auto trial = cupel::create_trial("runs/mnist");
  EXPECT_EQ(trial->tensor("head0").reduction_value(0, "abs_max"), 3);
}

TEST_F(ApiSnippets, modes) {
  const std::vector<int> batches(3);
  const std::vector<int> validation(2);
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";

  options.save_config.save_interval = 100;
  options.save_config.mode_save_configs[cupel::Mode::Eval] = {.save_interval = 1};
  cupel::Hook hook(options);
  for (int epoch = 0; epoch < 3; ++epoch) {
    hook.set_mode(cupel::Mode::Train);
    for (const int batch : batches) {
      hook.next_step();
      hook.save_scalar("loss", batch);
    }
    hook.set_mode(cupel::Mode::Eval);
    for (const int batch : validation) {
      hook.next_step();
      hook.save_scalar("loss", batch);
    }
  }
  hook.close();

  EXPECT_EQ(hook.step(), 14);
  EXPECT_EQ(hook.mode_step(cupel::Mode::Eval), 5);
  const auto trial = cupel::create_trial("runs/mnist");
  EXPECT_THAT(trial->modes(), ElementsAre(cupel::Mode::Train, cupel::Mode::Eval));
}

TEST_F(ApiSnippets, reading) {
  save_run();
  double sum = 0;

  const auto trial = cupel::create_trial("runs/mnist");
  for (const std::string& name : trial->tensor_names({.regex = "^fc1"})) {
    const cupel::Tensor tensor = trial->tensor(name);
    for (const std::int64_t step : tensor.steps(cupel::Mode::Train)) {
      const cupel::TensorValue value = tensor.value(step, cupel::Mode::Train);
      for (const float x : value.as<float>()) sum += x;
    }
  }

  const cupel::TensorRecord record = trial->tensor("fc1.weight").record(5);
  if (record.has_value && record.counts) std::cout << record.counts->nan << " NaN\n";

  const cupel::ReductionTable table = trial->reductions({.collection = "gradients"});
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (table.nan[row] > 0) std::cout << table.tensors[table.tensor[row]] << '\n';

  const cupel::NoRefresh frozen(*trial);
  const auto steps = trial->steps();
  const auto names = trial->tensor_names({.step = steps.back()});

  const auto before = cupel::create_trial("runs/mnist");
  const cupel::RunComparison found = cupel::compare_runs(*before, *trial, {.rtol = 1e-6});
  for (const cupel::RunDifference& difference : found.differences)
    std::cout << difference.tensor << " parts at step " << difference.step << '\n';

  EXPECT_TRUE(found.same());
  EXPECT_EQ(sum, 20 * 45);
  EXPECT_THAT(names, ElementsAre("fc1.weight", "gradient/fc1.weight", "loss"));
}

TEST_F(ApiSnippets, waiting) {
  save_run();

  const auto trial = cupel::create_trial("runs/mnist", {.wait_for_run = std::chrono::seconds(30)});
  try {
    trial->wait_for_steps({0, 5, 100}, cupel::Mode::Train, {.timeout = std::chrono::seconds(60)});
  } catch (const cupel::StepUnavailable& error) {
    std::cerr << "step " << error.step << " was never saved\n";
  } catch (const cupel::NoMoreData& error) {
    std::cerr << "training ended after step " << error.last_step << '\n';
  } catch (const cupel::StepNotYetAvailable& error) {
    std::cerr << "step " << error.step << " has not come within a minute\n";
  }

  switch (trial->has_passed_step(5, cupel::Mode::Train)) {
    case cupel::StepState::Available:        // saved, and complete
    case cupel::StepState::Unavailable:      // passed without being saved
    case cupel::StepState::NotYetAvailable:  // may still come
      break;
  }
  cupel::RunFollower follower(*trial);
  std::int64_t next = 0;
  for (bool ended = false; !ended;) {
    follower.refresh_if_due();
    ended = trial->ended();
    for (const std::int64_t step : follower.steps_from(next)) {
      std::cout << "step " << step << " is complete\n";
      next = step + 1;
    }
    if (!ended) static_cast<void>(follower.wait_for_change(std::chrono::seconds(1)));
  }

  EXPECT_EQ(next, 10);
  EXPECT_EQ(trial->has_passed_step(5, cupel::Mode::Train), cupel::StepState::Available);
  EXPECT_EQ(trial->has_passed_step(100, cupel::Mode::Train), cupel::StepState::Unavailable);
}

// Keeps state: how often in a row the loss has grown.
class LossGrows : public cupel::Rule {
 public:
  LossGrows(cupel::Trial& trial, int patience) : Rule(trial), patience_(patience) {}
  std::string rule_name() const override { return "LossGrows"; }
  std::string what_it_reads() const override { return "the tensor loss"; }

  cupel::Verdict invoke_at_step(std::int64_t step) override {
    cupel::Verdict verdict;
    const double loss = base_trial().tensor("loss").value(step).at(0);
    growing_ = loss > last_ ? growing_ + 1 : 0;
    if (growing_ >= patience_) verdict.add({.tensor = "loss", .value = loss, .threshold = last_});
    last_ = loss;
    return verdict;
  }

 private:
  const int patience_;
  int growing_ = 0;
  double last_ = 0;
};

class TooWide final : public cupel::TensorRule {
 public:
  struct Options {
    double most = 0;
  };
  static cupel::RuleDefinition definition() {
    return cupel::define_rule<TooWide>(
        {.name = "TooWide", .summary = "values are spread too widely"},
        {cupel::option(&Options::most, {.name = "most",
                                        .default_text = "3",
                                        .range = {.least = 0},
                                        .help = "fires when std is above this (>= 0)"})});
  }
  static cupel::RuleNeeds needs(const Options& /*options*/) {
    return {{{.tensors = {.collections = {"weights"}}, .suffices = cupel::sources_of(kStd)}}};
  }
  TooWide(cupel::Trial& base, const Options& options)
      : TensorRule(base, needs(options)), most_(options.most) {}

 private:
  static constexpr cupel::Reduction kStd{cupel::ReductionOp::Std, false};

  void judge(cupel::TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const auto std = copy.number(kStd);
    if (!std) return;
    copy.judged(std->value > most_, std->value, most_, [&] {
      const std::string compared = cupel::comparison_text(std->value, ">", most_);
      return cupel::JudgementText{std::string(std->origin_text()), compared, "std " + compared};
    });
  }

  double most_;
};

TEST_F(ApiSnippets, a_rule_with_parameters) {
  save_run();
  const auto trial = cupel::create_trial("runs/mnist");
  const auto rule = TooWide::definition().make(*trial, {{"most", "2"}});
  EXPECT_EQ(rule->rule_name(), "TooWide");
  EXPECT_EQ(rule->what_it_reads(), "the collection weights: std, else variance, else raw values");
  EXPECT_FALSE(rule->invoke(5).fired());  // all elements are the same
  EXPECT_THROW(TooWide::definition().make(*trial, {{"most", "-1"}}), cupel::UsageError);
}

TEST_F(ApiSnippets, running_rules) {
  save_run();
  const auto trial = cupel::create_trial("runs/mnist");

  cupel::RuleRunner runner(*trial, {.jobs = 2, .wait = false});
  runner.add("ExplodingTensor", {{"collection_names", "weights,gradients"}});
  runner.add({.definition = cupel::builtin_rules().find("VanishingGradient"),
              .name = "strict",
              .parameters = {{"threshold", "1e-6"}}});
  runner.add(std::make_unique<LossGrows>(*trial, 3));
  const cupel::RunSummary summary =
      runner.run([](const cupel::VerdictLine& line) { std::cout << cupel::to_json(line) << '\n'; });
  for (const cupel::RuleSummary& rule : summary.rules)
    std::cout << rule.name << ": " << cupel::to_string(rule.status) << '\n';

  EXPECT_THAT(summary.rules, SizeIs(3));
  EXPECT_FALSE(summary.had_errors());
}

TEST_F(ApiSnippets, rules_with_definitions) {
  save_run();
  const auto trial = cupel::create_trial("runs/mnist");
  cupel::RuleRunner runner(*trial, {.wait = false});

  cupel::RuleCatalog catalog = cupel::builtin_rules();
  catalog.add(TooWide::definition());
  runner.add(catalog.require("too_wide").make(*trial, {{"most", "3"}}));

  const cupel::RunSummary summary = runner.run([](const cupel::VerdictLine&) {});
  ASSERT_THAT(summary.rules, SizeIs(1));
  EXPECT_EQ(summary.rules[0].rule, "TooWide");
  EXPECT_EQ(summary.rules[0].steps_evaluated, 10);
}

TEST_F(ApiSnippets, rules_in_lua) {
  save_run();
  std::filesystem::copy(
      std::filesystem::path(CUPEL_SOURCE_DIR) / "examples/rules/gradient_too_large.lua", ".");
  const auto trial = cupel::create_trial("runs/mnist");
  cupel::RuleRunner runner(*trial, {.wait = false});

  const cupel::RuleFile file =
      cupel::read_lua_rules("gradient_too_large.lua", {.time = std::chrono::seconds(5)});
  for (const cupel::RuleProblem& error : file.errors)
    std::cerr << error.file << ":" << error.line << ": " << error.message << "\n";
  runner.add(file.definitions.at(0)->make(*trial, {{"threshold", "0.5"}}));

  const cupel::RunSummary summary = runner.run([](const cupel::VerdictLine&) {});
  ASSERT_THAT(summary.rules, SizeIs(1));
  EXPECT_EQ(summary.rules[0].steps_fired, 9);  // the gradients at step i are i
}

TEST_F(ApiSnippets, one_rule_without_a_runner) {
  save_run();
  const auto trial = cupel::create_trial("runs/mnist");

  LossGrows rule(*trial, 3);
  try {
    cupel::invoke_rule(rule, {.raise_eval_cond = true});
  } catch (const cupel::RuleEvaluationConditionMet& fired) {
    std::cout << fired.rule << " fired at step " << fired.step << '\n';
  } catch (const cupel::NoMoreData&) {
    std::cout << "the run has ended\n";
  }
}

TEST_F(ApiSnippets, errors) {
  save_run();

  try {
    const auto trial = cupel::create_trial("runs/mnist");
    const double norm = trial->tensor("fc1.weight").reduction_value(5, "l2");
    std::cout << norm << '\n';
  } catch (const cupel::TensorUnavailableForStep& error) {
    std::cerr << error.name << " is not there at step " << error.step << '\n';
  } catch (const cupel::FormatError& error) {
    std::cerr << "damage in " << error.file << " at byte " << error.offset << '\n';
  } catch (const cupel::Error& error) {
    std::cerr << error.what() << '\n';
  }
}

TEST_F(ApiSnippets, logging) {
  cupel::set_log_sink([](cupel::LogLevel level, std::string_view message) {
    if (level >= cupel::LogLevel::Warning) std::cerr << "cupel: " << message << '\n';
  });
  cupel::set_log_sink({});
}

TEST_F(ApiSnippets, threads) {
  const std::vector<float> first(100, 1.0F);
  const std::vector<float> second(100, 2.0F);
  cupel::HookOptions options;
  options.out_dir = "runs/mnist";
  options.save_all = true;
  options.save_config = {.save_interval = 1};
  cupel::Hook hook(options);

  for (int i = 0; i < 10; ++i) {
    hook.next_step();
    std::jthread other([&] { hook.save_tensor("second", cupel::TensorView(std::span(second))); });
    hook.save_tensor("first", cupel::TensorView(std::span(first)));
    other.join();  // saves are over before the next step begins
  }

  EXPECT_EQ(hook.close().tensors_saved, 20);
}

}  // namespace
