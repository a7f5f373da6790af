// What a watch does to training: nothing. Trainings with and without a watch are compared to the
// bit, whatever becomes of the hook, and objects are destroyed in every order. Stores fail on
// purpose; at which steps operators are listened to is asked of torch itself.

#include <ATen/record_function.h>

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "store/wrapped_store.h"
#include "watch_fixture.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kSteps = 12;

// Fails from one append on, in the way that it is told.
class FailingStore final : public WrappedStore {
 public:
  FailingStore(std::shared_ptr<Store> inner, int good_appends, std::function<void()> fail)
      : WrappedStore(std::move(inner)), good_(good_appends), fail_(std::move(fail)) {}
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    if (appends_++ >= good_) fail_();
    WrappedStore::append(key, size, pieces);
  }

 private:
  const int good_;
  const std::function<void()> fail_;
  std::atomic<int> appends_{0};
};

void fail_as_full() { throw StoreFull("index", "no space left"); }
void fail_as_broken() { throw StoreError("index", false, "the medium has failed"); }

class Training : public WatchTest {
 protected:
  Training() { options.save_all = true; }

  // The parameters after some steps, as bytes; `between` is called behind each backward pass.
  static std::string trained(
      libtorch::Watch* watch, const std::function<void(int)>& between = [](int) {}) {
    torch::manual_seed(3);
    Net net;
    torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(0.01));
    if (watch != nullptr) watch->register_module(*net);
    for (int step = 0; step < kSteps; ++step) {
      if (watch != nullptr) watch->next_step();
      optimizer.zero_grad();
      const at::Tensor x = torch::dropout(images(), 0.2, true);
      torch::nn::functional::cross_entropy(net->forward(x), targets()).backward();
      between(step);
      optimizer.step();
    }
    std::string bytes;
    for (const at::Tensor& parameter : net->parameters()) bytes += bytes_of(parameter);
    for (const at::Tensor& buffer : net->buffers()) bytes += bytes_of(buffer);
    return bytes;
  }
};

TEST_F(Training, ends_with_the_same_bits_with_and_without_a_watch) {
  EXPECT_EQ(trained(&watch()), trained(nullptr));
  EXPECT_THAT(close().problems, IsEmpty());
  EXPECT_EQ(close().steps_committed, kSteps);
}

TEST_F(Training, ends_with_the_same_bits_where_reductions_are_saved) {
  options.reduction_config = ReductionConfig{.reductions = {"min", "max", "mean", "std"}};
  EXPECT_EQ(trained(&watch()), trained(nullptr));
}

TEST_F(Training, ends_with_the_same_bits_where_saving_is_switched_off) {
  EnvironmentGuard environment;
  environment.set("USE_SMDEBUG", "0");
  EXPECT_EQ(trained(&watch()), trained(nullptr));
  EXPECT_EQ(close().steps_committed, 0);
}

TEST_F(Training, ends_with_the_same_bits_where_the_store_fails) {
  store = std::make_shared<FailingStore>(store, 3, fail_as_broken);
  EXPECT_EQ(trained(&watch()), trained(nullptr));
  EXPECT_TRUE(close().disabled);
  EXPECT_THAT(close().problems, Contains(HasSubstr("the medium has failed")));
}

TEST_F(Training, ends_with_the_same_bits_where_the_store_fails_from_the_start) {
  store = std::make_shared<FailingStore>(store, 0, fail_as_broken);
  EXPECT_EQ(trained(&watch()), trained(nullptr));
  EXPECT_TRUE(close().disabled);
}

TEST_F(Training, ends_with_the_same_bits_where_the_disk_is_full) {
  store = std::make_shared<FailingStore>(store, 3, fail_as_full);
  EXPECT_EQ(trained(&watch()), trained(nullptr));
  EXPECT_THAT(close().problems, Contains(HasSubstr("no space left")));
}

TEST_F(Training, ends_with_the_same_bits_where_the_hook_is_closed_in_the_middle) {
  EXPECT_EQ(trained(&watch(),
                    [this](int step) {
                      if (step == 5) close();
                    }),
            trained(nullptr));
  EXPECT_EQ(close().steps_committed, 6);
}

TEST_F(Training, ends_with_the_same_bits_where_the_watch_is_destroyed_in_the_middle) {
  torch::manual_seed(3);
  Net net;
  watch().register_module(*net);
  const at::Tensor x = images();
  const auto gradient = [&] {
    net->zero_grad();
    net->forward(x).square().sum().backward();
    return bytes_of(net->conv1->weight.grad());
  };
  watch().next_step();
  const std::string with = gradient();
  end_watch();
  EXPECT_EQ(gradient(), with);
}

TEST_F(Training, gets_no_gradient_saved_behind_the_watch) {
  options.save_config = {.save_interval = 1};
  Net net;
  watch().register_module(*net);
  watch().next_step();
  end_watch();
  net->forward(images()).sum().backward();
  EXPECT_THAT(names(), Not(Contains(HasSubstr("gradient/"))));
}

TEST_F(Training, module_may_be_destroyed_before_the_watch) {
  {
    Net net;
    watch().register_module(*net);
    train_step(net, images(), targets());
  }
  watch().next_step();
  EXPECT_THAT(trial().tensor("Net_conv1.weight").steps(), ElementsAre(0, 1));
}

TEST_F(Training, module_may_be_watched_again_by_another_watch) {
  Net net;
  watch().register_module(*net);
  train_step(net, images(), targets());
  end_watch();
  watch().register_module(*net);
  train_step(net, images(), targets());
  EXPECT_THAT(trial().tensor("gradient/Net_conv1.weight").steps(), ElementsAre(0, 1));
  EXPECT_THAT(close().problems, IsEmpty());
}

TEST_F(Training, two_watches_save_one_module_each_with_its_own_steps) {
  Net net;
  const auto other_store = std::make_shared<MemoryStore>();
  Hook other_hook(options, other_store);
  libtorch::Watch other(other_hook);
  watch().register_module(*net);
  other.register_module(*net);
  other.next_step();
  other.next_step();
  train_step(net, images(), targets());
  other_hook.close();
  EXPECT_THAT(Trial(other_store).tensor("gradient/Net_conv1.weight").steps(), ElementsAre(1));
  EXPECT_THAT(trial().tensor("gradient/Net_conv1.weight").steps(), ElementsAre(0));
}

TEST_F(Training, backward_may_run_on_another_thread) {
  Net net;
  watch().register_module(*net);
  watch().next_step();
  std::thread([&] { net->forward(images()).sum().backward(); }).join();
  EXPECT_EQ(saved_bytes("gradient/Net_conv1.weight"), bytes_of(net->conv1->weight.grad()));
}

TEST_F(Training, a_copy_of_the_module_saves_no_gradients) {
  torch::nn::Linear net(3, 2);
  watch().register_module(*net);
  watch().next_step();
  const auto copy = std::dynamic_pointer_cast<torch::nn::LinearImpl>(net->clone());
  copy->forward(torch::rand({4, 3})).sum().backward();
  ASSERT_TRUE(copy->weight.grad().defined());
  EXPECT_THAT(names(), Not(Contains(HasSubstr("gradient/"))));
}

TEST_F(Training, autograd_meets_no_error_of_a_hook_that_throws) {
  options.on_error = OnError::Throw;
  store = std::make_shared<FailingStore>(store, 0, fail_as_broken);
  Net net;
  watch().register_module(*net);
  EXPECT_NO_THROW(train_step(net, images(), targets()));
  EXPECT_THROW(watch().next_step(), StoreError);
}

TEST_F(Training, an_error_of_a_gradient_leaves_the_next_step_where_the_hook_throws) {
  options.on_error = OnError::Throw;
  options.include_regex = {"^gradient"};
  options.save_all = false;
  Net net;
  // A gradient that cannot be saved: sparse, and large.
  auto table = net->register_module(
      "table", torch::nn::Embedding(torch::nn::EmbeddingOptions(5'000'000, 4).sparse(true)));
  watch().register_module(*net);
  watch().next_step();
  EXPECT_NO_THROW(table->forward(torch::tensor({1, 2}, torch::kLong)).sum().backward());
  EXPECT_THROW(watch().next_step(), UsageError);
  EXPECT_EQ(hook().step(), 1);
}

TEST_F(Training, gradients_behind_the_end_of_a_step_are_no_mistake) {
  Net net;
  watch().register_module(*net);
  watch().next_step();
  hook().end_step();
  net->forward(images()).sum().backward();
  EXPECT_THAT(close().problems, IsEmpty());
}

TEST_F(Training, a_thousand_steps_leave_nothing_behind) {
  options.save_all = false;
  options.include_collections = {"weights", "gradients"};
  options.save_config = {.save_interval = 10};
  torch::nn::Linear net(4, 4);
  watch().register_module(*net);
  for (int step = 0; step < 1000; ++step)
    train_step(net, torch::randn({4, 4}), torch::tensor({0, 1, 2, 3}, torch::kLong));
  EXPECT_EQ(close().steps_committed, 100);
  EXPECT_THAT(close().problems, IsEmpty());
}

TEST_F(Training, with_the_default_configuration_saves_the_loss_only) {
  options = HookOptions();
  Net net;
  watch().register_module(*net);
  for (int step = 0; step < 3; ++step) train_step(net, images(), targets());
  EXPECT_THAT(names(), ElementsAre("CrossEntropyLoss_output_0"));
  EXPECT_THAT(names_in("losses"), ElementsAre("CrossEntropyLoss_output_0"));
  EXPECT_EQ(kind("CrossEntropyLoss_output_0"), "f32 ()");
}

TEST_F(Training, step_of_the_network_has_these_tensors) {
  Net net;
  watch().register_module(*net);
  watch().next_step();
  const at::Tensor x = images();
  const at::Tensor convolved = net->conv1(x);
  const at::Tensor rectified = torch::relu(convolved);
  const at::Tensor flat = rectified.flatten(1);
  const at::Tensor mapped = net->body->ptr<torch::nn::LinearImpl>(2)->forward(flat);
  const at::Tensor normalised = net->bn(mapped);
  const at::Tensor loss = torch::nn::functional::cross_entropy(normalised, targets());
  loss.backward();
  const std::map<std::string, at::Tensor> forward = {{"conv1_input_0", x},
                                                     {"conv1_output_0", convolved},
                                                     {"relu_input_0", convolved},
                                                     {"relu_output_0", rectified},
                                                     {"body.2_input_0", flat},
                                                     {"body.2_output_0", mapped},
                                                     {"bn_input_0", mapped},
                                                     {"bn_output_0", normalised},
                                                     {"CrossEntropyLoss_input_0", normalised},
                                                     {"CrossEntropyLoss_input_1", targets()},
                                                     {"CrossEntropyLoss_output_0", loss}};
  std::vector<std::string> expected;
  for (const auto& [name, tensor] : forward) {
    EXPECT_EQ(saved_bytes(name), bytes_of(tensor)) << name;
    expected.push_back(name);
  }
  for (const char* parameter : {"Net_conv1.weight", "Net_conv1.bias", "Net_body.2.weight",
                                "Net_body.2.bias", "Net_bn.weight", "Net_bn.bias"})
    expected.insert(expected.end(), {parameter, "gradient/" + std::string(parameter)});
  EXPECT_THAT(names(), ::testing::UnorderedElementsAreArray(expected));
  EXPECT_THAT(names_in("activations"), ElementsAre("relu_output_0"));
}

TEST_F(Training, activations_are_numbered_within_a_step) {
  for (int step = 0; step < 2; ++step) {
    watch().next_step();
    torch::relu(torch::relu(images()));
  }
  for (const char* name : {"relu_output_0", "relu_output_1"})
    EXPECT_THAT(trial().tensor(name).steps(), ElementsAre(0, 1));
  EXPECT_FALSE(trial().has_tensor("relu_output_2"));
}

TEST_F(Training, layers_of_two_roots_with_the_same_paths_are_told_apart) {
  Net a, b;
  watch().register_module(*a);
  watch().register_module(*b);
  watch().next_step();
  const at::Tensor first = a->conv1(images()), second = b->conv1(images());
  EXPECT_EQ(saved_bytes("conv1_output_0"), bytes_of(first));
  EXPECT_EQ(saved_bytes("Net_1.conv1_output_0"), bytes_of(second));
}

TEST_F(Training, operators_behind_the_watch_are_not_seen) {
  watch().next_step();
  end_watch();
  torch::relu(images());
  EXPECT_THAT(names(), IsEmpty());
}

// Whether operators are listened to in the steps 0 and 1, as "on off".
class Listening : public WatchTest {
 protected:
  Listening() {
    options.include_collections = {"weights", "biases", "gradients"};
    watch_options.losses = false;
  }
  std::string steps() {
    Net net;
    watch().register_module(*net);
    std::string result;
    for (int step = 0; step < 2; ++step) {
      watch().next_step();
      if (step > 0) result += " ";
      result += at::hasCallbacks() ? "on" : "off";
    }
    end_watch();
    EXPECT_FALSE(at::hasCallbacks());
    return result;
  }
};

TEST_F(Listening, is_off_where_only_parameters_and_gradients_are_due) {
  EXPECT_EQ(steps(), "off off");
}

TEST_F(Listening, is_off_where_only_what_a_tensor_is_is_due) {
  options.include_collections = {"norms", "embeddings", "frozen"};
  EXPECT_EQ(steps(), "off off");
}

TEST_F(Listening, is_off_where_a_collection_is_due_that_calls_fill) {
  options.include_collections = {"mine"};
  hook().get_collection("mine");
  EXPECT_EQ(steps(), "off off");
}

TEST_F(Listening, is_off_where_nothing_is_listened_for) {
  watch_options = {.layers = false, .activations = false, .losses = false};
  options.save_all = true;
  EXPECT_EQ(steps(), "off off");
}

TEST_F(Listening, is_off_where_nothing_is_due) {
  options.save_all = true;
  options.save_config = {.save_interval = 5, .start_step = 5};
  EXPECT_EQ(steps(), "off off");
}

TEST_F(Listening, is_on_where_losses_are_due) {
  watch_options.losses = true;
  options.save_config = {.save_interval = 2};
  EXPECT_EQ(steps(), "on off");
}

TEST_F(Listening, is_on_where_everything_is_due) {
  options.save_all = true;
  EXPECT_EQ(steps(), "on on");
}

TEST_F(Listening, is_on_where_a_pattern_is_due) {
  options.include_regex = {"relu_output"};
  EXPECT_EQ(steps(), "on on");
}

TEST_F(Listening, is_on_where_activations_are_due) {
  options.include_collections = {"activations"};
  EXPECT_EQ(steps(), "on on");
}

TEST_F(Listening, is_on_where_weights_have_a_pattern_more) {
  hook().get_collection("weights").include("relu_output");
  EXPECT_EQ(steps(), "on on");
}

TEST_F(Listening, is_on_where_a_collection_lists_names) {
  hook().get_collection("weights").add_tensor_name("relu_output_0");
  EXPECT_EQ(steps(), "on on");
}

TEST_F(Listening, ends_with_a_step_that_the_hook_was_closed_before) {
  options.save_all = true;
  Net net;
  watch().register_module(*net);
  watch().next_step();
  EXPECT_TRUE(at::hasCallbacks());
  close();
  watch().next_step();
  EXPECT_FALSE(at::hasCallbacks());
}

}  // namespace
}  // namespace cupel::testing
