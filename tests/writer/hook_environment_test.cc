// What a hook takes from its surroundings: the environment, configuration files, earlier runs.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "environment_guard.h"
#include "hook_fixture.h"
#include "store/scratch_directory.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HookSurroundings : public HookTest {
 protected:
  // Saves a scalar at each of so many steps.
  static void train(Hook& hook, int steps, Mode mode = Mode::Global) {
    hook.set_mode(mode);
    for (int i = 0; i < steps; ++i) {
      hook.next_step();
      hook.save_scalar("loss", static_cast<double>(hook.step()));
    }
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (scratch_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  testing::ScratchDirectory scratch_;
  testing::EnvironmentGuard environment_;
};
using AnyHookSurroundings = IntoAny<HookSurroundings>;

TEST_F(HookSurroundings, with_saving_switched_off_nothing_is_wanted_and_no_disk_is_touched) {
  environment_.set("USE_SMDEBUG", "0");
  options.out_dir = (scratch_ / "run").string();
  options.save_config.save_interval = -1;  // is not even looked at
  Hook hook(options);
  const TensorHandle weight = hook.handle("fc.weight");
  train(hook, 3);
  EXPECT_FALSE(hook.wants(weight));
  EXPECT_EQ(hook.step(), 2);
  hook.save_tensor(weight, view({1, 2}));
  const HookReport report = hook.close();
  EXPECT_EQ(report.steps_begun, 3);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.never_saved, IsEmpty());
  EXPECT_FALSE(fs::exists(options.out_dir));
  Hook other = Hook::create_from_json_file((scratch_ / "absent.json").string());
  EXPECT_FALSE(other.wants("loss"));
}

TEST_P(AnyHookSurroundings, a_launcher_names_the_worker_and_how_many_there_are) {
  options.include_workers = "all";
  environment_.set("RANK", "1");
  environment_.set("WORLD_SIZE", "2");
  auto hook = make_hook();
  train(*hook, 1);
  hook->close();
  const auto trial = open_trial();
  EXPECT_THAT(trial->workers(), ElementsAre("worker_1"));
  EXPECT_EQ(trial->num_workers(), 2);
}

TEST_P(AnyHookSurroundings, only_rank_0_saves_unless_all_are_asked_for) {
  environment_.set("RANK", "1");
  environment_.set("WORLD_SIZE", "2");
  auto hook = make_hook();
  train(*hook, 1);
  hook->close();
  EXPECT_EQ(count(""), 0);
}

TEST_P(AnyHookSurroundings, a_worker_that_does_not_save_stops_when_asked_to) {
  environment_.set("RANK", "1");
  environment_.set("WORLD_SIZE", "2");
  auto hook = make_hook();
  hook->next_step();
  EXPECT_FALSE(hook->stop_requested());
  store->put(kStopFile, {});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!hook->stop_requested() && std::chrono::steady_clock::now() < until) hook->next_step();
  EXPECT_TRUE(hook->stop_requested());
}

TEST_P(AnyHookSurroundings, a_stop_that_was_asked_of_an_earlier_training_is_not_for_this_one) {
  store->put(kStopFile, {});
  environment_.set("RANK", "1");
  environment_.set("WORLD_SIZE", "2");
  auto hook = make_hook();
  train(*hook, 3);
  EXPECT_FALSE(hook->stop_requested());
}

TEST_F(HookSurroundings, a_configuration_file_makes_a_hook) {
  const std::string path = write("hook.json", R"({
    "LocalPath": ")" + (scratch_ / "run").string() +
                                                  R"(",
    "HookParameters": {"save_interval": "2"},
    "CollectionConfigurations": [
      {"CollectionName": "relu", "CollectionParameters": {"include_regex": "relu", "reductions": "max"}}
    ]})");
  {
    Hook hook = Hook::create_from_json_file(path);
    const std::vector<float> values = ramp(100);
    for (int i = 0; i < 3; ++i) {
      hook.next_step();
      hook.save_tensor("relu_out", view(values));
      hook.save_tensor("other", view(values));
    }
  }
  const auto trial = create_trial((scratch_ / "run").string());
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2));
  EXPECT_THAT(trial->tensor_names(), ElementsAre("relu_out"));
  EXPECT_EQ(trial->tensor("relu_out").reduction_value(2, "max"), 99);
  EXPECT_FALSE(trial->tensor("relu_out").record(2).has_value);
}

TEST_F(HookSurroundings, the_configuration_file_may_be_named_by_the_environment) {
  environment_.set(
      "SMDEBUG_CONFIG_FILE_PATH",
      write("hook.json", R"({"LocalPath": ")" + (scratch_ / "run").string() + R"("})"));
  Hook hook = Hook::create_from_json_file();
  train(hook, 1);
  hook.close();
  EXPECT_THAT(create_trial((scratch_ / "run").string())->steps(), ElementsAre(0));
}

TEST_F(HookSurroundings, all_mistakes_of_a_configuration_file_are_told_at_once) {
  const std::string path =
      write("hook.json", R"({"HookParameters": {"save_interval": "0", "save_all": "maybe"}})");
  try {
    Hook hook = Hook::create_from_json_file(path);
    FAIL() << "it was accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("hook.json"), HasSubstr("save_interval"),
                                    HasSubstr("save_all"), HasSubstr("maybe")));
  }
}

TEST_P(AnyHookSurroundings, a_continued_run_is_counted_on) {
  auto first = make_hook();
  train(*first, 5, Mode::Train);
  train(*first, 2, Mode::Eval);
  first->close();
  options.existing = Existing::Continue;
  auto second = make_hook();
  EXPECT_EQ(second->step(), 6);
  train(*second, 2, Mode::Train);
  EXPECT_EQ(second->mode_step(Mode::Train), 6);
  EXPECT_EQ(second->mode_step(Mode::Eval), 1);
  EXPECT_EQ(second->close().steps_begun, 2);
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(trial->steps(Mode::Train), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(trial->ended());
}

TEST_P(AnyHookSurroundings, a_shorter_attempt_tells_which_steps_it_hides) {
  auto killed = make_hook();
  train(*killed, 8);
  killed->close();
  store->remove(kEndMarker);  // as if it had not come so far
  auto shorter = make_hook();
  EXPECT_THAT(logged_, HasSubstr("has steps up to 7 of an earlier attempt"));
  train(*shorter, 3);
  const HookReport report = shorter->close();
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("steps 3 to 7 of an earlier attempt are")));
  EXPECT_THAT(report.notes,
              ElementsAre(R"({"kind":"hidden_steps","first":0,"last":7,"attempt":1})"));
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  ASSERT_THAT(trial->notes(), SizeIs(1));
  EXPECT_EQ(trial->notes()[0].text, report.notes[0]);
  EXPECT_EQ(trial->notes()[0].step, 0);
}

TEST_P(AnyHookSurroundings, an_attempt_that_hides_no_step_for_good_has_no_problem) {
  auto killed = make_hook();
  train(*killed, 3);
  killed->close();
  store->remove(kEndMarker);
  auto longer = make_hook();
  train(*longer, 4);
  HookReport report = longer->close();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.notes, SizeIs(1));
  options.existing = Existing::Continue;
  logged_.clear();
  auto continued = make_hook();
  train(*continued, 1);
  report = continued->close();
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_THAT(logged_, ::testing::Not(HasSubstr("earlier attempt")));
}

TEST_P(AnyHookSurroundings, steps_that_saved_nothing_count_in_a_continued_run) {
  options.save_config = {.save_interval = 10};
  auto first = make_hook();
  for (int i = 0; i < 15; ++i) {
    first->next_step();
    first->save_tensor("fc.weight", view({1, 2}));
  }
  first->close();
  options.existing = Existing::Continue;
  auto second = make_hook();
  for (int i = 0; i < 10; ++i) {
    second->next_step();
    second->save_tensor("fc.weight", view({1, 2}));
  }
  second->close();
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 10, 20));
}

TEST_F(HookSurroundings, a_training_goes_on_from_where_its_checkpoint_says) {
  const std::string checkpoints = (scratch_ / "checkpoints").string();
  fs::create_directory(checkpoints);
  environment_.set("CHECKPOINT_CONFIG_FILE_PATH",
                   write("checkpoint.json", R"({"LocalPath": ")" + checkpoints + R"("})"));
  {
    auto hook = make_hook();
    train(*hook, 4, Mode::Train);
    std::ofstream(checkpoints + "/model.bin") << "weights after step 3";
    train(*hook, 6, Mode::Train);
    EXPECT_EQ(hook->step(), 9);
    // The process keeps it without a close, as after a crash; so do repetitions of this test.
    static auto& left = *new std::vector<std::unique_ptr<Hook>>;
    left.push_back(std::move(hook));
  }
  auto resumed = make_hook();
  EXPECT_EQ(resumed->step(), 3) << "the steps behind the checkpoint are done again";
  train(*resumed, 1, Mode::Train);
  EXPECT_EQ(resumed->mode_step(Mode::Train), 4);
  resumed->close();
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2, 3, 4));
}

TEST_P(AnyHookSurroundings, losses_and_metrics_go_to_the_metric_log) {
  environment_.set("SAGEMAKER_METRICS_DIRECTORY", (scratch_ / "metrics").string());
  auto hook = make_hook();
  hook->set_mode(Mode::Train);
  hook->next_step();
  hook->save_scalar("loss", 0.5);
  hook->save_scalar("accuracy", 0.25, "metrics");
  hook->save_scalar("learning_rate", 0.1);
  hook->save_tensor("fc.weight", view(ramp(4)));
  hook->close();
  std::string lines;
  for (const auto& file : fs::directory_iterator(scratch_ / "metrics")) lines += read(file.path());
  EXPECT_THAT(lines, HasSubstr(R"("MetricName":"loss_TRAIN","Value":0.5)"));
  EXPECT_THAT(lines, HasSubstr(R"("MetricName":"accuracy_TRAIN","Value":0.25)"));
  EXPECT_THAT(lines, ::testing::Not(HasSubstr("learning_rate")));
  EXPECT_THAT(lines, ::testing::Not(HasSubstr("fc.weight")));
}

TEST_P(AnyHookSurroundings, values_of_a_module_are_numbered_through_the_step) {
  options.include_regex = {"conv_(in|out)put"};
  auto hook = make_hook();
  const std::vector<float> a = ramp(4), b = ramp(4, 10);
  const std::vector<TensorView> two = {view(a), view(b)};
  for (int step = 0; step < 2; ++step) {
    hook->next_step();
    hook->save_inputs("conv", two);
    hook->save_outputs("conv", std::span(two).first(1));
    hook->save_outputs("conv", std::span(two).last(1));
  }
  hook->close();
  const auto trial = open_trial();
  EXPECT_THAT(trial->tensor_names({.step = 1}),
              ElementsAre("conv_input_0", "conv_input_1", "conv_output_0", "conv_output_1"));
  EXPECT_EQ(floats(trial->tensor("conv_output_1").value(1)), b);
}

TEST_P(AnyHookSurroundings, several_workers_that_replace_a_run_leave_each_others_files_alone) {
  options.include_workers = "all";
  options.num_workers = 2;
  options.existing = Existing::Replace;
  for (int round = 0; round < 2; ++round) {
    options.worker = "worker_1";
    auto one = make_hook();
    train(*one, 2 + round);
    options.worker = "worker_0";
    auto zero = make_hook();  // comes later, and must not take worker_1's steps away
    train(*zero, 2 + round);
    one->close();
    zero->close();
    EXPECT_EQ(open_trial()->steps().size(), static_cast<std::size_t>(2 + round));
    EXPECT_TRUE(open_trial()->ended());
  }
}

TEST_P(AnyHookSurroundings, an_empty_collection_name_costs_its_call_only) {
  auto hook = make_hook();
  hook->next_step();
  hook->save_scalar("loss", 1, "");
  hook->save_tensor("fc.weight", view(ramp(4)));
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("name is empty")));
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("fc.weight", "loss"));
}

TEST_P(AnyHookSurroundings, a_tensor_saved_before_the_first_step_is_warned_of_once) {
  auto hook = make_hook();
  for (int i = 0; i < 3; ++i) hook->save_tensor("fc.weight", view(ramp(4)));
  EXPECT_THAT(logged_, HasSubstr("before the first next_step()"));
  EXPECT_EQ(logged_.find("before the first"), logged_.rfind("before the first"));
  hook->close();
  EXPECT_THAT(open_trial()->steps(), IsEmpty());
}

TEST_P(AnyHookSurroundings, strings_have_no_reductions_and_make_no_row_for_them) {
  options.reduction_config = {.reductions = {"mean"}};
  auto hook = make_hook();
  hook->next_step();
  const std::vector<std::string> words = {"one", "two"};
  hook->save_tensor("vocabulary.weight", TensorView(words.data(), {2}));
  hook->close();
  EXPECT_THAT(open_trial()->steps(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Into, AnyHookSurroundings, any_store(), name_of_store);

}  // namespace
}  // namespace cupel
