#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_runner.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/trial/trial.h"
#include "run_cli.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "cupel_demo_XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { fs::remove_all(path); }
  fs::path path;
};

class Demo : public ::testing::Test {
 protected:
  // Runs the demo into a subdirectory.
  int run(const std::string& subdirectory, std::uint64_t seed) {
    out_.str("");
    err_.str("");
    return run_cli({"demo", path(subdirectory), "--seed", std::to_string(seed)}, out_, err_);
  }
  std::string path(const std::string& subdirectory) const {
    return (directory_.path / subdirectory).string();
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

 private:
  TemporaryDirectory directory_;
  std::ostringstream out_;
  std::ostringstream err_;
};

constexpr const char* kRuns[] = {"healthy", "vanishing", "exploding"};

// What was saved of a tensor at a step: its bytes, if it was saved raw, and every reduction.
struct Saved {
  std::vector<std::byte> bytes;
  std::vector<double> reductions;
};

Saved saved(const Tensor& tensor, std::int64_t step) {
  Saved result;
  const TensorRecord record = tensor.record(step);
  if (record.has_value) {
    const TensorValue value = tensor.value(step);
    result.bytes.assign(value.bytes().begin(), value.bytes().end());
  }
  record.reductions.set.for_each(
      [&](Reduction reduction) { result.reductions.push_back(*record.reductions.get(reduction)); });
  return result;
}

using Comparison =
    std::function<void(const std::string& place, const Saved& first, const Saved& second)>;

// Compares two demos at every tensor and step that they share; returns how many there were.
std::size_t compare(const std::string& first, const std::string& second,
                    const Comparison& comparison) {
  std::size_t compared = 0;
  for (const std::string run : kRuns) {
    const auto a = create_trial(first + "/" + run);
    const auto b = create_trial(second + "/" + run);
    EXPECT_EQ(a->tensor_names(), b->tensor_names()) << run;
    for (const std::string& name : a->tensor_names()) {
      const std::vector<std::int64_t> steps = a->tensor(name).steps();
      const std::vector<std::int64_t> other_steps = b->tensor(name).steps();
      std::vector<std::int64_t> common;
      std::set_intersection(steps.begin(), steps.end(), other_steps.begin(), other_steps.end(),
                            std::back_inserter(common));
      EXPECT_THAT(common, Not(IsEmpty())) << run << ' ' << name;
      for (const std::int64_t step : common)
        comparison(run + " " + name + " step " + std::to_string(step), saved(a->tensor(name), step),
                   saved(b->tensor(name), step));
      compared += common.size();
    }
  }
  return compared;
}

// The tensors on which a rule fires.
std::set<std::string> found_by(const std::string& rule, const std::string& run) {
  const auto trial = create_trial(run);
  RuleRunner runner(*trial, {.wait = false});
  runner.add(load_rules({.specs = {rule}}, builtin_rules(), {lua_rule_reader()}).rules.at(0));
  std::set<std::string> tensors;
  runner.run([&tensors](const VerdictLine& line) {
    for (const Finding& finding : line.tensors) tensors.insert(finding.tensor);
  });
  return tensors;
}

TEST_F(Demo, finds_every_run_as_announced) {
  ASSERT_EQ(run("demo", 1), 0) << out() << err();
  EXPECT_THAT(out(), Not(HasSubstr("NOT as announced")));
  EXPECT_EQ(err(), "");

  EXPECT_THAT(found_by("VanishingGradient", path("demo/healthy")), IsEmpty());
  EXPECT_THAT(found_by("ExplodingTensor", path("demo/healthy")), IsEmpty());
  EXPECT_THAT(found_by("VanishingGradient", path("demo/vanishing")),
              Contains("gradient/fc1.weight"));
  EXPECT_THAT(found_by("ExplodingTensor", path("demo/vanishing")), IsEmpty());
  EXPECT_THAT(found_by("VanishingGradient", path("demo/exploding")), IsEmpty());
  EXPECT_THAT(found_by("ExplodingTensor", path("demo/exploding")), Not(IsEmpty()));

  const std::string in_lua = path("demo/loss_plateau.lua") + ",patience=50,good_enough=0.5";
  EXPECT_THAT(found_by(in_lua, path("demo/healthy")), IsEmpty());
  EXPECT_THAT(found_by(in_lua, path("demo/vanishing")), Contains("loss"));
}

TEST_F(Demo, has_relus_that_are_found_and_healthy) {
  ASSERT_EQ(run("demo", 1), 0) << out() << err();
  const std::string healthy = path("demo/healthy");
  std::ostringstream checked;
  std::ostringstream messages;
  EXPECT_EQ(run_cli({"check", healthy, "--rule", "DeadRelu"}, checked, messages), 0)
      << checked.str() << messages.str();
  const auto trial = create_trial(healthy);
  ASSERT_THAT(trial->tensor_names(), Contains("relu1_output"));
  RuleRunner runner(*trial, {.wait = false});
  runner.add(load_rules({.specs = {"DeadRelu"}}, builtin_rules(), {}).rules.at(0));
  const RunSummary summary = runner.run([](const VerdictLine&) {});
  ASSERT_EQ(summary.rules.size(), 1U);
  EXPECT_EQ(summary.rules.front().status, RuleStatus::NoIssuesFound);
}

TEST_F(Demo, tells_accuracy_verdicts_and_commands_in_at_most_forty_lines) {
  ASSERT_EQ(run("it's a demo", 7), 0) << out() << err();
  const std::string text = out();
  const std::string accuracy = "held-out accuracy ";
  ASSERT_THAT(text, HasSubstr(accuracy));
  EXPECT_GE(std::stod(text.substr(text.find(accuracy) + accuracy.size())), 90);
  EXPECT_THAT(text, HasSubstr("VanishingGradient  gradient/fc1.weight"));
  EXPECT_THAT(text, HasSubstr("/it'\\''s a demo/vanishing' --rule VanishingGradient --rule '"));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
}

TEST_F(Demo, ends_with_a_drawing_of_the_loss_that_exploded) {
  ASSERT_EQ(run("demo", 1), 0) << out() << err();
  const std::string command = "/exploding loss --plot --log\n";
  ASSERT_THAT(out(), HasSubstr(command));
  const std::string drawing = out().substr(out().find(command) + command.size());
  EXPECT_THAT(drawing, HasSubstr(" ┤"));
  EXPECT_THAT(drawing, HasSubstr("└┬"));
}

TEST_F(Demo, runs_in_a_directory_that_looks_like_a_parameter) {
  EXPECT_EQ(run("a,b=c", 7), 0) << out() << err();
}

TEST_F(Demo, stops_the_exploding_training_at_the_step_that_explodes) {
  ASSERT_EQ(run("demo", 3), 0) << out() << err();
  const auto trial = create_trial(path("demo/exploding"));
  const std::vector<std::int64_t> steps = trial->steps();
  RuleRunner runner(*trial, {.wait = false});
  runner.add("ExplodingTensor");
  const RunSummary summary = runner.run([](const VerdictLine&) {});
  EXPECT_EQ(summary.rules.at(0).first_step, steps.back());
  EXPECT_LT(steps.size(), 100U);
}

TEST_F(Demo, another_seed_changes_every_saved_value) {
  ASSERT_EQ(run("first", 1), 0) << out() << err();
  ASSERT_EQ(run("second", 2), 0) << out() << err();
  const auto differ = [](const std::string& place, const Saved& a, const Saved& b) {
    if (!a.bytes.empty()) {
      EXPECT_NE(a.bytes, b.bytes) << place;
    }
    ASSERT_EQ(a.reductions.size(), b.reductions.size()) << place;
    for (std::size_t i = 0; i < a.reductions.size(); ++i)
      EXPECT_NE(a.reductions[i], b.reductions[i]) << place;
  };
  EXPECT_GT(compare(path("first"), path("second"), differ), 2000U);
}

TEST_F(Demo, the_same_seed_gives_the_same_values_also_over_an_earlier_demo) {
  ASSERT_EQ(run("first", 1), 0) << out() << err();
  ASSERT_EQ(run("second", 2), 0) << out() << err();
  ASSERT_EQ(run("second", 1), 0) << out() << err();
  const auto agree = [](const std::string& place, const Saved& a, const Saved& b) {
    EXPECT_EQ(a.bytes, b.bytes) << place;
    EXPECT_EQ(a.reductions, b.reductions) << place;
  };
  compare(path("first"), path("second"), agree);
  for (const std::string run : kRuns)
    EXPECT_EQ(create_trial(path("first/" + run))->steps(),
              create_trial(path("second/" + run))->steps());
}

TEST_F(Demo, a_directory_that_cannot_be_written_is_an_error) {
  std::ofstream(path("file")) << "no directory";
  EXPECT_EQ(run("file", 1), 2);
  EXPECT_THAT(err(), HasSubstr("cupel demo: "));
  EXPECT_THAT(err(), HasSubstr(path("file")));
}

}  // namespace
}  // namespace cupel
