// Names of roots and of the modules below them, the collections that tell what a tensor is, and
// roots that are refused. Modules are torch's, of classes made here, or of TorchScript. A root that
// is refused must leave the names as they were.

#include <torch/csrc/jit/api/module.h>

#include "watch_fixture.h"

namespace cupel::testing {

template <class T>
struct GenericImpl : torch::nn::Module {
  GenericImpl() { register_parameter("weight", torch::randn({2, 2})); }
};

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

struct PairImpl : torch::nn::Module {
  PairImpl() {
    fc = register_module("fc", torch::nn::Linear(2, 2));
    act = register_module("act", torch::nn::Tanh());
  }
  at::Tensor forward(const at::Tensor& x) { return act(fc(x)); }
  torch::nn::Linear fc{nullptr};
  torch::nn::Tanh act{nullptr};
};
TORCH_MODULE(Pair);

class Roots : public WatchTest {
 protected:
  Roots() {
    options.include_collections = {"weights"};
    watch_options = {.layers = false, .activations = false, .losses = false};
  }
  std::vector<std::string> saved() {
    watch().next_step();
    return names();
  }
  std::string error_of(torch::nn::Module& module, std::string_view name = {}) {
    try {
      watch().register_module(module, name);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  }
};

TEST_F(Roots, are_called_after_their_class_without_namespace_and_impl) {
  torch::nn::Linear linear(2, 2);
  watch().register_module(*linear);
  EXPECT_THAT(saved(), ElementsAre("Linear_weight"));
}

TEST_F(Roots, of_a_template_are_called_without_its_arguments) {
  GenericImpl<std::pair<int, std::string>> generic;
  watch().register_module(generic);
  EXPECT_THAT(saved(), ElementsAre("Generic_weight"));
}

TEST_F(Roots, of_a_class_within_a_function_are_called_after_the_class) {
  struct Local : torch::nn::Module {
    Local() { register_parameter("weight", torch::randn({2})); }
  };
  Local local;
  watch().register_module(local);
  EXPECT_THAT(saved(), ElementsAre("Local_weight"));
}

TEST_F(Roots, may_be_given_a_name) {
  Pair pair;
  watch().register_module(*pair, "policy");
  EXPECT_THAT(saved(), ElementsAre("policy_fc.weight"));
}

TEST_F(Roots, of_the_same_class_are_counted_with_one_warning) {
  Pair a, b, c;
  for (Pair* pair : {&a, &b, &c}) watch().register_module(**pair);
  EXPECT_THAT(saved(),
              UnorderedElementsAre("Pair_fc.weight", "Pair_1_fc.weight", "Pair_2_fc.weight"));
  EXPECT_THAT(logged, HasSubstr("\"Pair\" is called \"Pair_1\""));
  EXPECT_THAT(logged, Not(HasSubstr("Pair_2")));
}

TEST_F(Roots, of_the_same_given_name_are_counted) {
  Pair a;
  Net b;
  watch().register_module(*a, "model");
  watch().register_module(*b, "model");
  EXPECT_THAT(saved(), AllOf(Contains("model_fc.weight"), Contains("model_1_conv1.weight")));
}

TEST_F(Roots, modules_below_the_second_keep_their_path_unless_it_is_taken) {
  options.include_collections = {"activations"};
  Pair a, b;
  Net other;
  watch().register_module(*a);
  watch().register_module(*b);
  watch().register_module(*other);
  watch().next_step();
  // The collection shows that the watch knows an activation by this name.
  for (const char* name : {"act", "Pair_1.act", "body.0", "Net.body.0", "Pair.act"})
    watch().save_outputs(name, {torch::ones({1})});
  EXPECT_THAT(names(),
              UnorderedElementsAre("act_output_0", "Pair_1.act_output_0", "body.0_output_0"));
}

TEST_F(Roots, a_module_that_is_registered_twice_is_refused_with_both_names) {
  Pair pair;
  watch().register_module(*pair, "first");
  EXPECT_THAT(error_of(*pair, "second"), AllOf(HasSubstr("\"first\""), HasSubstr("\"second\"")));
}

TEST_F(Roots, one_below_a_registered_root_is_refused_with_both_names) {
  Net net;
  watch().register_module(*net);
  EXPECT_THAT(error_of(*net->conv1),
              AllOf(HasSubstr("\"Conv2d\""), HasSubstr("\"conv1\""), HasSubstr("\"Net\"")));
}

TEST_F(Roots, one_that_contains_a_registered_root_is_refused_with_both_names) {
  Net net;
  watch().register_module(*net->body);
  EXPECT_THAT(error_of(*net),
              AllOf(HasSubstr("\"Net\""), HasSubstr("\"body\""), HasSubstr("\"Sequential\"")));
}

TEST_F(Roots, a_refused_root_leaves_everything_as_it_was) {
  Pair pair;
  watch().register_module(*pair);
  EXPECT_NE(error_of(*pair), "none");
  Pair other;
  watch().register_module(*other);
  EXPECT_THAT(saved(), UnorderedElementsAre("Pair_fc.weight", "Pair_1_fc.weight"));
}

TEST_F(Roots, may_share_modules_and_parameters_have_the_name_of_the_first) {
  Pair shared;
  auto a = std::make_shared<PairImpl>(), b = std::make_shared<PairImpl>();
  a->register_module("shared", shared.ptr());
  b->register_module("shared", shared.ptr());
  watch().register_module(*a, "a");
  watch().register_module(*b, "b");
  EXPECT_THAT(saved(), UnorderedElementsAre("a_fc.weight", "a_shared.fc.weight", "b_fc.weight"));
}

TEST_F(Roots, a_module_in_the_memory_of_a_destroyed_root_is_no_root_yet) {
  for (int i = 0; i < 20; ++i) {
    Pair pair;
    EXPECT_EQ(error_of(*pair), "none");
  }
}

TEST_F(Roots, of_torchscript_are_called_after_their_class) {
  torch::jit::Module net("__torch__.models.Scripted");
  net.register_parameter("weight", torch::randn({2, 2}), false);
  watch().register_module(net);
  EXPECT_THAT(saved(), ElementsAre("Scripted_weight"));
}

TEST_F(Roots, of_torchscript_are_refused_the_second_time_with_both_names) {
  torch::jit::Module net("Scripted");
  net.register_parameter("weight", torch::randn({2, 2}), false);
  watch().register_module(net, "first");
  torch::jit::Module same = net;
  try {
    watch().register_module(same, "second");
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("\"first\""), HasSubstr("\"second\"")));
  }
}

TEST_F(Roots, a_name_that_no_tensor_can_have_is_a_problem_of_the_report) {
  Pair pair;
  watch().register_module(*pair, "no \xff utf-8");
  EXPECT_THAT(saved(), IsEmpty());
  EXPECT_THAT(close().problems, Not(IsEmpty()));
}

TEST(Watch, of_a_hook_of_another_profile_is_refused) {
  HookOptions options;
  options.profile = Profile::TensorFlow;
  Hook hook(options, std::make_shared<MemoryStore>());
  EXPECT_THROW(libtorch::Watch{hook}, UsageError);
}

// What a tensor is.

class Tags : public WatchTest {
 protected:
  Tags() { watch_options = {.layers = false, .activations = false, .losses = false}; }
  std::set<std::string, std::less<>> listed(const char* collection) {
    return trial().collection(collection).tensor_names();
  }
};

struct ZooImpl : torch::nn::Module {
  ZooImpl() {
    register_module("words", torch::nn::Embedding(4, 2));
    register_module("bag", torch::nn::EmbeddingBag(4, 2));
    register_module("batch", torch::nn::BatchNorm2d(2));
    register_module("layer", torch::nn::LayerNorm(torch::nn::LayerNormOptions({2})));
    register_module("group", torch::nn::GroupNorm(1, 2));
    register_module("att", torch::nn::MultiheadAttention(2, 1));
    register_module("fc", torch::nn::Linear(2, 2));
    register_module("act", torch::nn::GELU());
    register_module("slope", torch::nn::PReLU());
  }
};
TORCH_MODULE(Zoo);

TEST_F(Tags, norms_are_the_parameters_of_normalisation_layers) {
  Zoo zoo;
  watch().register_module(*zoo);
  watch().next_step();
  EXPECT_THAT(listed("norms"),
              UnorderedElementsAre("Zoo_batch.weight", "Zoo_batch.bias", "Zoo_layer.weight",
                                   "Zoo_layer.bias", "Zoo_group.weight", "Zoo_group.bias"));
}

TEST_F(Tags, embeddings_are_the_tables_of_embeddings) {
  Zoo zoo;
  watch().register_module(*zoo);
  watch().next_step();
  EXPECT_THAT(listed("embeddings"), UnorderedElementsAre("Zoo_words.weight", "Zoo_bag.weight"));
}

TEST_F(Tags, attention_has_the_parameters_of_attention_and_of_its_projections) {
  Zoo zoo;
  watch().register_module(*zoo);
  watch().next_step();
  EXPECT_THAT(listed("attention"),
              UnorderedElementsAre("Zoo_att.in_proj_weight", "Zoo_att.in_proj_bias",
                                   "Zoo_att.out_proj.weight", "Zoo_att.out_proj.bias"));
}

TEST_F(Tags, frozen_are_parameters_without_a_gradient_when_the_first_step_begins) {
  Net net;
  net->conv1->weight.requires_grad_(false);
  watch().register_module(*net);
  net->conv1->bias.requires_grad_(false);
  watch().next_step();
  net->bn->bias.requires_grad_(false);
  watch().next_step();
  EXPECT_THAT(listed("frozen"), UnorderedElementsAre("Net_conv1.weight", "Net_conv1.bias"));
}

TEST_F(Tags, activations_and_attention_have_outputs_that_are_given_by_hand) {
  options.save_all = true;
  Zoo zoo;
  watch().register_module(*zoo);
  watch().next_step();
  for (const char* module : {"act", "slope", "att", "fc", "unknown"}) {
    watch().save_inputs(module, {torch::ones({1})});
    watch().save_outputs(module, {torch::ones({1})});
  }
  EXPECT_THAT(listed("activations"), UnorderedElementsAre("act_output_0", "slope_output_0"));
  EXPECT_THAT(listed("attention"), Contains("att_output_0"));
}

TEST_F(Tags, of_torchscript_modules_are_by_the_name_of_their_type) {
  torch::jit::Module norm("__torch__.torch.nn.modules.normalization.LayerNorm");
  norm.register_parameter("weight", torch::ones({2}), false);
  torch::jit::Module net("Scripted");
  net.register_module("norm", norm);
  watch().register_module(net);
  watch().next_step();
  EXPECT_THAT(listed("norms"), ElementsAre("Scripted_norm.weight"));
}

// Classes of a user's own: nothing in the names says what they are.
struct ScalingImpl : torch::nn::Module {
  ScalingImpl() { gain = register_parameter("gain", torch::ones({4})); }
  at::Tensor forward(const at::Tensor& x) { return torch::layer_norm(x, {4}, gain); }
  at::Tensor gain;
};
TORCH_MODULE(Scaling);
struct OwnTableImpl : torch::nn::Module {
  OwnTableImpl() { table = register_parameter("table", torch::rand({9, 4})); }
  at::Tensor forward(const at::Tensor& x) { return torch::embedding(table, x); }
  at::Tensor table;
};
TORCH_MODULE(OwnTable);
struct MixingImpl : torch::nn::Module {
  MixingImpl() { kernel = register_parameter("kernel", torch::rand({4, 4})); }
  at::Tensor forward(const at::Tensor& x) { return torch::matmul(x, kernel); }
  at::Tensor kernel;
};
TORCH_MODULE(Mixing);
struct OwnImpl : torch::nn::Module {
  OwnImpl() {
    register_module("lookup", lookup);
    register_module("scaling", scaling);
    register_module("mixing", mixing);
  }
  at::Tensor forward(const at::Tensor& x) { return mixing(scaling(lookup(x))); }
  OwnTable lookup;
  Scaling scaling;
  Mixing mixing;
};
TORCH_MODULE(Own);

TEST_F(Tags, of_classes_of_the_users_own_come_from_the_first_steps_operators) {
  watch_options.layers = true;
  Own own;
  watch().register_module(*own);
  watch().next_step();
  own->forward(torch::arange(9));
  EXPECT_THAT(listed("norms"), ElementsAre("Own_scaling.gain"));
  EXPECT_THAT(listed("embeddings"), ElementsAre("Own_lookup.table"));
  EXPECT_THAT(listed("attention"), IsEmpty());
  EXPECT_THAT(close().never_saved, Not(Contains(HasSubstr("_output_"))));
}

TEST_F(Tags, that_the_first_step_shows_save_their_tensors_at_that_step) {
  watch_options.layers = true;
  options.include_collections = {"norms"};
  Own own;
  watch().register_module(*own);
  watch().next_step();
  own->forward(torch::arange(9));
  EXPECT_THAT(names(), ElementsAre("Own_scaling.gain"));
}

TEST_F(Tags, of_classes_of_the_users_own_are_listened_for_at_one_step) {
  watch_options.layers = true;
  Own own;
  watch().register_module(*own);
  watch().next_step();
  EXPECT_TRUE(at::hasCallbacks());
  watch().next_step();
  EXPECT_FALSE(at::hasCallbacks());
  own->forward(torch::arange(9));
  EXPECT_THAT(listed("norms"), IsEmpty());
}

TEST_F(Tags, save_nothing_by_themselves) {
  Zoo zoo;
  watch().register_module(*zoo);
  watch().next_step();
  watch().save_outputs("act", {torch::ones({1})});
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_THAT(close().problems, IsEmpty());
}

TEST_F(Tags, save_their_tensors_where_they_are_included) {
  options.include_collections = {"norms", "frozen"};
  Net net;
  net->conv1->weight.requires_grad_(false);
  watch().register_module(*net);
  watch().next_step();
  EXPECT_THAT(names(), UnorderedElementsAre("Net_bn.weight", "Net_bn.bias", "Net_conv1.weight"));
  EXPECT_THAT(close().problems, IsEmpty());
}

}  // namespace
}  // namespace cupel::testing
