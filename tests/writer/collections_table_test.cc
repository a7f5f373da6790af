// Which collections a hook saves, and what they find.

#include <gmock/gmock.h>

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Names = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

class SavedCollections : public HookTest {
 protected:
  SavedCollections() { options.include_collections.clear(); }

  // Saves each name at each of `steps` steps and closes; tells which are in the run.
  Names saved(Hook& hook, const Names& names, int steps = 1) {
    for (int step = 0; step < steps; ++step) {
      hook.next_step();
      for (const std::string& name : names) hook.save_tensor(name, view({1}));
    }
    report = hook.close();
    return open_trial()->tensor_names();
  }
  Names saved(const Names& names) { return saved(*make_hook(), names); }

  std::size_t times_logged(std::string_view text) const {
    std::size_t times = 0;
    for (std::size_t at = logged_.find(text); at != std::string::npos;
         at = logged_.find(text, at + 1))
      ++times;
    return times;
  }

  HookReport report;
};

// Collections that are saved though nobody names them.
struct Default {
  const char* name;
  Profile profile;
  Names include;
  Names saved;  // of one tensor in each of the collections below
};

class DefaultCollections : public SavedCollections, public ::testing::WithParamInterface<Default> {
 protected:
  // Saves a tensor named like its collection in each; "mine" is the user's own.
  Names saved_of_each(Hook& hook) {
    hook.get_collection("mine").include("^mine$");
    hook.next_step();
    for (const char* name : {"losses", "metrics", "sm_metrics", "gradients", "default", "mine"})
      hook.save_tensor(name, view({1}), name);
    report = hook.close();
    return open_trial()->tensor_names();
  }
};

TEST_P(DefaultCollections, are_those_of_the_profile_and_the_users) {
  options.profile = GetParam().profile;
  options.include_collections = GetParam().include;
  EXPECT_EQ(saved_of_each(*make_hook()), GetParam().saved);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DefaultCollections,
    ::testing::Values(
        Default{"generic", Profile::Generic, {}, {"losses"}},
        Default{"pytorch", Profile::PyTorch, {}, {"losses"}},
        Default{"mxnet", Profile::MXNet, {}, {"losses"}},
        Default{"tensorflow", Profile::TensorFlow, {}, {"losses", "metrics", "sm_metrics"}},
        Default{"xgboost", Profile::XGBoost, {}, {"metrics"}},
        Default{"generic_and_mine", Profile::Generic, {"mine"}, {"losses", "mine"}},
        Default{"generic_named_twice", Profile::Generic, {"losses", "losses"}, {"losses"}},
        Default{"xgboost_and_mine", Profile::XGBoost, {"mine"}, {"metrics", "mine"}},
        Default{"tensorflow_and_mine",
                Profile::TensorFlow,
                {"mine"},
                {"losses", "metrics", "mine", "sm_metrics"}},
        Default{"all",
                Profile::Generic,
                {"all"},
                {"default", "gradients", "losses", "metrics", "mine", "sm_metrics"}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(SavedCollections, an_end_of_zero_on_losses_leaves_no_step_at_all) {
  auto hook = make_hook();
  hook->get_collection("losses").mutable_save_config().set_end_step(0);
  EXPECT_THAT(saved(*hook, {"loss"}, 3), IsEmpty());
  EXPECT_THAT(open_trial()->steps(), IsEmpty());
  EXPECT_EQ(count(kIndexPrefix), 0);
  EXPECT_EQ(count(kEventsPrefix), 0);
}

TEST_F(SavedCollections, an_end_of_zero_on_losses_keeps_their_listed_steps) {
  auto hook = make_hook();
  hook->get_collection("losses").mutable_save_config() = {.end_step = 0, .save_steps = {2}};
  saved(*hook, {"loss"}, 5);
  EXPECT_THAT(open_trial()->steps(), ElementsAre(2));
}

// How tensors come to be saved: options, and names that are or are not in the run.
struct Selection {
  const char* name;
  std::function<void(HookOptions&)> choose;
  Names names;
  Names saved;
};

class SelectedTensors : public SavedCollections, public ::testing::WithParamInterface<Selection> {};

TEST_P(SelectedTensors, are_in_the_run) {
  GetParam().choose(options);
  EXPECT_EQ(saved(GetParam().names), GetParam().saved);
  EXPECT_THAT(report.problems, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SelectedTensors,
    ::testing::Values(
        Selection{"nothing_asked_for", [](auto&) {}, {"relu_0", "fc.weight", "loss"}, {"loss"}},
        Selection{"include_regex_goes_to_default",
                  [](auto& o) { o.include_regex = {"relu"}; },
                  {"relu_0", "tanh_0", "loss"},
                  {"loss", "relu_0"}},
        Selection{"several_patterns",
                  [](auto& o) {
                    o.include_regex = {"relu", "^tanh"};
                  },
                  {"relu_0", "tanh_0", "my_tanh"},
                  {"relu_0", "tanh_0"}},
        Selection{"relu_star_finds_rel",
                  [](auto& o) { o.include_regex = {"relu*"}; },
                  {"net/rel_7", "Relu_1", "re"},
                  {"net/rel_7"}},
        Selection{"a_pattern_may_hold_a_comma",
                  [](auto& o) { o.include_regex = {"^x{1,2}$"}; },
                  {"x", "xx", "xxx", "2}$"},
                  {"x", "xx"}},
        Selection{"look_ahead_and_look_behind",
                  [](auto& o) { o.include_regex = {"^(?!skip).*(?<!_no)$"}; },
                  {"keep", "skip_a", "a_no"},
                  {"keep"}},
        Selection{"default_without_patterns_saves_nothing",
                  [](auto& o) { o.include_collections = {"default"}; },
                  {"relu_0"},
                  {}},
        Selection{"a_builtin_collection",
                  [](auto& o) { o.include_collections = {"biases"}; },
                  {"fc.bias", "fc.weight"},
                  {"fc.bias"}},
        Selection{"all_included_saves_what_is_in_any_collection",
                  [](auto& o) { o.include_collections = {"all"}; },
                  {"fc.bias", "fc.weight", "gradient/fc.bias", "relu_0"},
                  {"fc.bias", "fc.weight", "gradient/fc.bias"}},
        Selection{"save_all_saves_everything",
                  [](auto& o) { o.save_all = true; },
                  {"relu_0", "fc.weight", "anything at all"},
                  {"anything at all", "fc.weight", "relu_0"}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(SavedCollections, save_all_saves_every_collection_at_its_own_interval) {
  options.save_all = true;
  options.save_config = {.save_interval = 10};
  auto hook = make_hook();
  hook->get_collection("weights").set_save_config({.save_interval = 4});
  hook->get_collection("mine").include("^mine$").set_save_config({.save_interval = 3});
  saved(*hook, {"fc.weight", "mine", "other"}, 13);
  const auto trial = open_trial();
  EXPECT_THAT(trial->tensor("fc.weight").steps(), ElementsAre(0, 4, 8, 10, 12));
  EXPECT_THAT(trial->tensor("mine").steps(), ElementsAre(0, 3, 6, 9, 10, 12));
  EXPECT_THAT(trial->tensor("other").steps(), ElementsAre(0, 10));
}

TEST_F(SavedCollections, patterns_put_on_default_by_hand_save_nothing_and_warn_once) {
  auto hook = make_hook();
  hook->get_collection("default").include("relu");
  EXPECT_THAT(saved(*hook, {"relu_0"}, 3), IsEmpty());
  EXPECT_EQ(times_logged("\"default\""), 1);
  EXPECT_FALSE(report.disabled);
}

TEST_F(SavedCollections, patterns_on_an_included_default_are_saved_without_a_warning) {
  for (const char* included : {"default", "all"}) {
    store = std::make_shared<MemoryStore>();
    options.include_collections = {included};
    auto hook = make_hook();
    hook->get_collection("default").include("relu");
    EXPECT_THAT(saved(*hook, {"relu_0"}), ElementsAre("relu_0"));
    EXPECT_THAT(logged_, Not(HasSubstr("\"default\"")));
  }
}

TEST_F(SavedCollections, patterns_by_hand_join_those_of_include_regex) {
  options.include_regex = {"tanh"};
  auto hook = make_hook();
  hook->get_collection("default").include("relu");
  EXPECT_THAT(saved(*hook, {"relu_0", "tanh_0"}), ElementsAre("relu_0", "tanh_0"));
}

TEST_F(SavedCollections, one_without_patterns_and_names_is_filled_by_calls) {
  options.include_collections = {"mine"};
  auto hook = make_hook();
  hook->get_collection("mine").set_reduction_config({.reductions = {"mean"}});
  hook->next_step();
  hook->save_tensor("a", view({1, 3}), {"mine"});
  report = hook->close();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(open_trial()->tensor("a").reduction_value(0, "mean"), 2);
}

TEST_F(SavedCollections, one_without_patterns_and_names_from_a_file_is_filled_by_calls) {
  HookConfiguration configuration = parse_hook_configuration(
      R"({"HookParameters": {"save_interval": 1},
          "CollectionConfigurations": [{"CollectionName": "mine"}]})",
      "hook.json");
  Hook hook(std::move(configuration), store);
  hook.next_step();
  hook.save_tensor("a", view({1}), {"mine"});
  EXPECT_THAT(hook.close().problems, IsEmpty());
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("a"));
}

TEST_F(SavedCollections, ones_that_nothing_came_into_are_told_at_the_close) {
  options.include_collections = {"mine\x1b", "never_made"};
  auto hook = make_hook();
  hook->get_collection("mine\x1b");
  EXPECT_THAT(saved(*hook, {"loss"}), ElementsAre("loss"));
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("into the collection \"mine\\x1b\""), HasSubstr("never_made")));
}

TEST_F(SavedCollections, ones_with_misspelt_names_cost_an_error_each_and_the_rest_is_saved) {
  for (const bool made : {true, false}) {
    store = std::make_shared<MemoryStore>();
    logged_.clear();
    options.include_collections = {"gradeints", "weights"};
    auto hook = make_hook();
    if (made) hook->get_collection("gradeints");
    EXPECT_THAT(saved(*hook, {"fc.weight", "gradient/fc.weight", "loss"}, 3),
                ElementsAre("fc.weight", "loss"));
    EXPECT_FALSE(report.disabled);
    EXPECT_THAT(report.problems, ElementsAre(HasSubstr("gradeints; did you mean gradients?")));
    EXPECT_EQ(times_logged("gradeints"), 1);
  }
}

TEST_F(SavedCollections, one_with_a_misspelt_name_that_a_call_has_filled_is_no_error) {
  options.include_collections = {"weight"};
  auto hook = make_hook();
  const TensorHandle a = hook->handle("a", {"weight"});
  hook->next_step();
  hook->save_tensor(a, view({1}));
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_THAT(open_trial()->tensor_names(), ElementsAre("a"));
}

TEST_F(SavedCollections,
       a_misspelt_name_is_thrown_once_and_saving_goes_on_when_errors_are_let_out) {
  options.on_error = OnError::Throw;
  auto hook = make_hook();
  hook->get_collection("gradeints");
  try {
    hook->next_step();
    FAIL() << "accepted";
  } catch (const InvalidCollectionConfiguration& error) {
    EXPECT_EQ(error.name, "gradeints");
    EXPECT_THAT(error.what(), HasSubstr("did you mean gradients?"));
  }
  hook->save_tensor("loss", view({1}));
  EXPECT_THAT(saved(*hook, {"loss"}), ElementsAre("loss"));
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1));
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("gradeints")));
}

TEST_F(SavedCollections, an_empty_name_among_those_to_save_is_refused) {
  options.include_collections = {""};
  EXPECT_THROW(make_hook(), UsageError);
}

TEST_F(SavedCollections, one_that_is_asked_for_comes_into_being_and_stays_the_same) {
  auto hook = make_hook();
  EXPECT_FALSE(hook->get_collections().contains("mine"));
  Collection& mine = hook->get_collection("mine");
  EXPECT_EQ(&hook->get_collection("mine"), &mine);
  EXPECT_TRUE(mine.include_regex().empty());
  EXPECT_EQ(mine.save_config(), std::nullopt);
  EXPECT_EQ(mine.reduction_config(), std::nullopt);
  EXPECT_TRUE(hook->get_collections().contains("mine"));
}

TEST_F(SavedCollections, one_with_listed_names_needs_no_patterns) {
  options.include_collections = {"mine"};
  auto hook = make_hook();
  hook->get_collection("mine").add_tensor_name("a");
  EXPECT_THAT(saved(*hook, {"a", "ab"}), ElementsAre("a"));
}

TEST_F(SavedCollections, builtin_ones_need_no_patterns) {
  auto hook = make_hook();
  hook->get_collection("metrics");
  hook->get_collection("layers").set_save_config({.save_interval = 2});
  EXPECT_THAT(saved(*hook, {"loss"}), ElementsAre("loss"));
  EXPECT_FALSE(report.disabled);
}

TEST_F(SavedCollections, one_that_is_included_but_never_made_is_warned_of_by_name) {
  options.include_collections = {"nowhere"};
  EXPECT_THAT(saved({"loss"}), ElementsAre("loss"));
  EXPECT_EQ(times_logged("nowhere"), 1);
}

TEST_F(SavedCollections, one_that_is_added_replaces_the_one_of_its_name) {
  options.include_collections = {"weights"};
  auto hook = make_hook();
  Collection kernels("weights");
  kernels.include("kernel$");
  hook->add_collection(kernels);
  EXPECT_THAT(saved(*hook, {"fc.kernel", "fc.weight"}), ElementsAre("fc.kernel"));
}

TEST_F(SavedCollections, matched_names_are_listed_in_the_run_after_the_close) {
  options.include_collections = {"weights"};
  saved({"fc.weight", "loss", "unsaved"});
  const auto trial = open_trial();
  EXPECT_THAT(trial->collection("weights").tensor_names(), ElementsAre("fc.weight"));
  EXPECT_THAT(trial->collection("losses").tensor_names(), ElementsAre("loss"));
}

// Who writes, of two workers.
struct Writers {
  const char* name;
  const char* include_workers;
  std::int64_t num_workers;
  Names workers;
  Names weights;  // listed in the collection, over the workers
};

class WorkersOfARun : public SavedCollections, public ::testing::WithParamInterface<Writers> {};

TEST_P(WorkersOfARun, are_those_of_the_row) {
  options.include_workers = GetParam().include_workers;
  options.num_workers = 2;
  options.include_collections = {"weights"};
  std::vector<std::unique_ptr<Hook>> hooks;
  for (const char* worker : {"worker_1", "worker_0"}) {
    options.worker = worker;
    hooks.push_back(make_hook());
    hooks.back()->next_step();
    hooks.back()->save_tensor(worker + std::string(".weight"), view({1}));
  }
  for (const auto& hook : hooks) hook->close();
  const auto trial = open_trial();
  EXPECT_EQ(trial->workers(), GetParam().workers);
  EXPECT_EQ(trial->num_workers(), GetParam().num_workers);
  EXPECT_EQ(trial->tensor_names(), GetParam().weights);
  const auto listed = trial->collection("weights").tensor_names();
  EXPECT_EQ(Names(listed.begin(), listed.end()), GetParam().weights);
  EXPECT_TRUE(trial->ended());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WorkersOfARun,
    ::testing::Values(
        Writers{"one", "one", 1, {"worker_0"}, {"worker_0.weight"}},
        Writers{"all", "all", 2, {"worker_0", "worker_1"}, {"worker_0.weight", "worker_1.weight"}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace cupel
