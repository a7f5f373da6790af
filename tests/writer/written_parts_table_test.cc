// What a hook writes of a tensor: the raw value, reductions, the shape.

#include <gmock/gmock.h>

#include "hook_fixture.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Values = std::map<std::string, double>;  // of reductions, by name

const std::vector<float> kFour = {1, -2, 3, 4};

// What the run holds of a tensor at a step; nothing is there when all three are empty.
struct Parts {
  bool raw = false;
  Values reductions = {};
  bool shape = false;
  friend bool operator==(const Parts&, const Parts&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Parts& parts) {
    out << (parts.raw ? "raw " : "") << (parts.shape ? "shape " : "");
    for (const auto& [name, value] : parts.reductions) out << name << '=' << value << ' ';
    return out;
  }
};

class Written : public HookTest {
 protected:
  // Saves one tensor at one step and closes.
  HookReport save(Hook& hook, const TensorView& view, std::string_view name = "fc.weight",
                  const CollectionNames& tags = {}) {
    hook.next_step();
    hook.save_tensor(name, view, tags);
    return hook.close();
  }

  Parts parts(std::string_view name = "fc.weight") const {
    const auto trial = open_trial();
    const auto tensor = trial->find_tensor(name);
    if (!tensor) return {};
    const TensorRecord record = tensor->record(0);
    Parts found{.raw = record.has_value, .reductions = {}, .shape = record.shape.has_value()};
    record.reductions.set.for_each([&](Reduction each) {
      found.reductions[std::string(to_string(each))] = *record.reductions.get(each);
    });
    return found;
  }
};

struct Row {
  const char* name;
  std::optional<ReductionConfig> config;
  Parts parts;  // of a raw value the shape is part
};

class WrittenParts : public Written, public ::testing::WithParamInterface<Row> {
 protected:
  void expect_row() const {
    const Parts& expected = GetParam().parts;
    EXPECT_EQ(parts(), expected);
    const auto trial = open_trial();
    const bool any = expected != Parts{};
    EXPECT_EQ(trial->steps().size(), any ? 1 : 0);
    if (!any) return;
    const Tensor tensor = trial->tensor("fc.weight");
    if (expected.raw) {
      EXPECT_EQ(floats(tensor.value(0)), kFour);
    } else {
      EXPECT_THROW(tensor.value(0), TensorUnavailableForStep);
    }
    if (expected.shape) {
      EXPECT_EQ(tensor.shape(0), Shape({2, 2}));
    } else {
      EXPECT_THROW(tensor.shape(0), ShapeUnavailableForStep);
    }
  }
  TensorView square() const { return TensorView(kFour.data(), {2, 2}); }
};

TEST_P(WrittenParts, are_those_of_the_row_when_the_hook_is_configured) {
  options.reduction_config = GetParam().config;
  save(*make_hook(), square());
  expect_row();
}

TEST_P(WrittenParts, are_those_of_the_row_when_the_collection_is_configured) {
  // A hook that wants something else is not asked, unless the collection leaves it to the hook.
  if (GetParam().config)
    options.reduction_config = {
        .reductions = {"prod"}, .save_raw_tensor = true, .save_shape = true};
  auto hook = make_hook();
  if (GetParam().config) hook->get_collection("weights").set_reduction_config(*GetParam().config);
  save(*hook, square());
  expect_row();
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrittenParts,
    ::testing::Values(
        Row{"none_anywhere", {}, {.raw = true, .shape = true}},
        Row{"all_empty", ReductionConfig{}, {}},
        Row{"reductions",
            ReductionConfig{.reductions = {"min", "mean"}},
            {.reductions = {{"min", -2}, {"mean", 1.5}}}},
        Row{"reductions_and_raw",
            ReductionConfig{.reductions = {"min"}, .save_raw_tensor = true},
            {.raw = true, .reductions = {{"min", -2}}, .shape = true}},
        Row{"shape_only", ReductionConfig{.save_shape = true}, {.shape = true}},
        Row{"raw_only", ReductionConfig{.save_raw_tensor = true}, {.raw = true, .shape = true}},
        Row{"reductions_and_shape",
            ReductionConfig{.reductions = {"max"}, .save_shape = true},
            {.reductions = {{"max", 4}}, .shape = true}},
        Row{"shape_and_raw_are_both_kept",
            ReductionConfig{.save_raw_tensor = true, .save_shape = true},
            {.raw = true, .shape = true}},
        Row{"abs_reductions",
            ReductionConfig{.abs_reductions = {"min", "sum"}},
            {.reductions = {{"abs_min", 1}, {"abs_sum", 10}}}},
        Row{"norms", ReductionConfig{.norms = {"l1"}}, {.reductions = {{"l1", 10}}}},
        Row{"abs_norms", ReductionConfig{.abs_norms = {"l1"}}, {.reductions = {{"abs_l1", 10}}}},
        Row{"median", ReductionConfig{.reductions = {"median"}}, {.reductions = {{"median", 2}}}},
        Row{"the_four_lists_together",
            ReductionConfig{.reductions = {"max"},
                            .abs_reductions = {"mean"},
                            .norms = {"l1"},
                            .abs_norms = {"l1"}},
            {.reductions = {{"max", 4}, {"abs_mean", 2.5}, {"l1", 10}, {"abs_l1", 10}}}},
        Row{"duplicates",
            ReductionConfig{.reductions = {"sum", "sum"}},
            {.reductions = {{"sum", 6}}}},
        Row{"text_form",
            ReductionConfig::parse(" min,, l1_norm ,abs_max,min"),
            {.reductions = {{"min", -2}, {"l1", 10}, {"abs_max", 4}}}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(Written, all_twenty_reductions_may_be_saved_of_a_tensor) {
  const std::vector<std::string> all = {"min", "max",      "mean", "std",
                                        "sum", "variance", "prod", "median"};
  options.reduction_config = {
      .reductions = all, .abs_reductions = all, .norms = {"l1", "l2"}, .abs_norms = {"l1", "l2"}};
  save(*make_hook(), view(kFour));
  EXPECT_EQ(parts().reductions.size(), Reduction::kCount);
}

TEST_F(Written, a_collection_without_a_config_takes_the_hooks) {
  options.reduction_config = {.reductions = {"max"}};
  options.include_collections = {"mine"};
  auto hook = make_hook();
  hook->get_collection("mine").include("^t$");
  save(*hook, view(kFour), "t");
  EXPECT_EQ(parts("t"), (Parts{.reductions = {{"max", 4}}}));
}

TEST_F(Written, a_tensor_of_several_collections_gets_the_union_of_what_they_want) {
  options.include_collections = {"a", "b", "c", "not_active"};
  auto hook = make_hook();
  const auto add = [&](const char* name, const ReductionConfig& config) -> Collection& {
    return hook->get_collection(name).include("^t$").set_reduction_config(config);
  };
  add("a", {.reductions = {"min"}});
  add("b", {.reductions = {"min", "max"}});
  add("c", {.save_shape = true});
  add("not_active", {.save_raw_tensor = true}).mutable_save_config().set_end_step(0);
  add("not_included", {.save_raw_tensor = true});
  save(*hook, view(kFour), "t");
  EXPECT_EQ(parts("t"), (Parts{.reductions = {{"min", -2}, {"max", 4}}, .shape = true}));
}

TEST_F(Written, a_loss_in_a_collection_with_reductions_is_saved_raw_and_reduced) {
  options.include_collections = {"mine"};
  auto hook = make_hook();
  hook->get_collection("mine").include("loss").set_reduction_config({.reductions = {"max"}});
  save(*hook, view(kFour), "loss");
  EXPECT_EQ(parts("loss"), (Parts{.raw = true, .reductions = {{"max", 4}}, .shape = true}));
}

TEST_F(Written, two_collections_named_with_the_call_both_have_their_say) {
  options.include_collections = {"a", "b"};
  auto hook = make_hook();
  hook->get_collection("a").include("^x$").set_reduction_config({.reductions = {"min"}});
  hook->get_collection("b").include("^x$").set_reduction_config({.reductions = {"max"}});
  save(*hook, view(kFour), "t", {"a", "b"});
  EXPECT_EQ(parts("t"), (Parts{.reductions = {{"min", -2}, {"max", 4}}}));
}

// Collections of scalars are saved raw whatever is configured.
struct Scalar {
  Profile profile;
  const char* collection;
};

class ScalarCollections : public Written, public ::testing::WithParamInterface<Scalar> {
 protected:
  ScalarCollections() {
    options.profile = GetParam().profile;
    options.include_collections = {name()};
  }
  static const char* name() { return GetParam().collection; }
};

TEST_P(ScalarCollections, are_saved_raw_when_the_hook_wants_reductions) {
  options.reduction_config = {.reductions = {"mean"}};
  auto hook = make_hook();
  hook->get_collection(name()).include("^t$");
  save(*hook, view(kFour), "t");
  EXPECT_EQ(parts("t"), (Parts{.raw = true, .shape = true}));
}

TEST_P(ScalarCollections, are_saved_raw_when_they_want_reductions_themselves) {
  auto hook = make_hook();
  hook->get_collection(name()).include("^t$").set_reduction_config({.norms = {"l2"}});
  save(*hook, view(kFour), "t");
  EXPECT_EQ(parts("t"), (Parts{.raw = true, .shape = true}));
}

TEST_P(ScalarCollections, are_saved_raw_when_a_call_in_the_loop_makes_them) {
  options.reduction_config = {.abs_reductions = {"max"}};
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("t", view(kFour), name());
  hook->close();
  EXPECT_EQ(parts("t"), (Parts{.raw = true, .shape = true}));
}

INSTANTIATE_TEST_SUITE_P(Rows, ScalarCollections,
                         ::testing::Values(Scalar{Profile::Generic, "losses"},
                                           Scalar{Profile::Generic, "metrics"},
                                           Scalar{Profile::Generic, "sm_metrics"},
                                           Scalar{Profile::Generic, "feature_importance"},
                                           Scalar{Profile::Generic, "average_shap"},
                                           Scalar{Profile::XGBoost, "feature_importance"},
                                           Scalar{Profile::XGBoost, "average_shap"}),
                         [](const auto& row) {
                           return std::string(row.param.profile == Profile::XGBoost ? "xgboost_"
                                                                                    : "generic_") +
                                  row.param.collection;
                         });

TEST_F(Written, xgboost_ignores_the_hooks_reductions_and_says_so_once) {
  options.profile = Profile::XGBoost;
  options.include_collections = {"predictions", "trees"};
  options.reduction_config = {.reductions = {"mean"}};
  auto hook = make_hook();
  hook->get_collection("trees").set_reduction_config({.reductions = {"max"}});
  hook->next_step();
  hook->save_tensor("predictions", view(kFour));
  hook->save_tensor("trees/Gain", view(kFour));
  hook->next_step();
  hook->close();
  EXPECT_EQ(parts("predictions"), (Parts{.raw = true, .shape = true}));
  EXPECT_EQ(parts("trees/Gain"), (Parts{.reductions = {{"max", 4}}})) << "its own are kept";
  EXPECT_THAT(logged_, HasSubstr("reduction_config"));
  EXPECT_EQ(logged_.find("reduction_config"), logged_.rfind("reduction_config"));
}

TEST_F(Written, other_profiles_say_nothing_of_the_hooks_reductions) {
  options.reduction_config = {.reductions = {"mean"}};
  save(*make_hook(), view(kFour));
  EXPECT_THAT(logged_, Not(HasSubstr("reduction_config")));
}

TEST_F(Written, an_empty_tensor_is_saved_with_its_shape) {
  const std::vector<float> none;
  save(*make_hook(), TensorView(none.data(), {0, 3}));
  EXPECT_EQ(open_trial()->tensor("fc.weight").shape(0), Shape({0, 3}));
}

TEST_F(Written, an_empty_tensor_among_others_costs_them_nothing) {
  options.reduction_config = {.reductions = {"min", "mean", "median"}, .save_raw_tensor = true};
  const std::vector<float> none;
  auto hook = make_hook();
  hook->next_step();
  hook->save_tensor("empty.weight", view(none));
  hook->save_tensor("fc.weight", view(kFour));
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_EQ(parts().reductions, (Values{{"min", -2}, {"mean", 1.5}, {"median", 2}}));
}

TEST_F(Written, a_dry_run_logs_what_it_would_save_and_writes_nothing) {
  options.dry_run = true;
  options.save_config = {.save_interval = 2};
  auto hook = make_hook();
  for (int step = 0; step < 4; ++step) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(kFour));
    hook->save_tensor("relu_0", view(kFour));
  }
  const HookReport report = hook->close();
  for (const char* wanted : {"step 0 would save fc.weight", "step 2 would save fc.weight"})
    EXPECT_THAT(logged_, HasSubstr(wanted));
  EXPECT_THAT(logged_, AllOf(Not(HasSubstr("step 1")), Not(HasSubstr("save relu_0"))));
  EXPECT_THAT(report.never_saved, ElementsAre("relu_0"));
  EXPECT_EQ(count(""), 0);
}

TEST_F(Written, texts_have_no_reductions_and_are_saved_raw_all_the_same) {
  options.reduction_config = {.reductions = {"min"}, .save_raw_tensor = true};
  const std::vector<std::string> words = {"one", "two"};
  EXPECT_THAT(save(*make_hook(), TensorView(words.data(), {2})).problems, IsEmpty());
  EXPECT_EQ(parts(), (Parts{.raw = true, .shape = true}));
}

}  // namespace
}  // namespace cupel
