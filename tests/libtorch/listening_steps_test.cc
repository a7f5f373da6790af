// What is seen of a step whose mode is set, or that ends, while the watch listens; and the second
// watch of one hook. Sequences of calls of the hook between two steps of the watch lose nothing
// that is due.

#include <ATen/record_function.h>

#include <thread>

#include "watch_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ListeningSteps : public WatchTest {
 protected:
  ListeningSteps() { options.save_all = true; }
  // Returns its output.
  at::Tensor forward() {
    const at::Tensor output = net->forward(images());
    torch::nn::functional::cross_entropy(output, targets());
    return output;
  }
  void expect_everything(const at::Tensor& output) {
    EXPECT_THAT(names(), AllOf(Contains("conv1_input_0"), Contains("relu_output_0"),
                               Contains("CrossEntropyLoss_output_0")));
    ASSERT_THAT(names(), Contains("bn_output_0"));
    EXPECT_EQ(saved_bytes("bn_output_0"), bytes_of(output));
  }
  Net net;
};

TEST_F(ListeningSteps, are_seen_where_the_mode_is_set_to_what_it_was) {
  watch().register_module(*net);
  hook().set_mode(Mode::Train);
  watch().next_step();
  hook().set_mode(Mode::Train);
  expect_everything(forward());
}

TEST_F(ListeningSteps, are_seen_where_the_mode_changes_and_comes_back) {
  watch().register_module(*net);
  hook().set_mode(Mode::Train);
  watch().next_step();
  hook().set_mode(Mode::Eval);
  hook().set_mode(Mode::Train);
  expect_everything(forward());
}

TEST_F(ListeningSteps, have_no_values_of_another_mode) {
  watch().register_module(*net);
  hook().set_mode(Mode::Train);
  watch().next_step();
  torch::relu(images());
  hook().set_mode(Mode::Eval);
  torch::relu(images());
  torch::tanh(images());
  hook().set_mode(Mode::Train);
  const at::Tensor second = torch::relu(images());
  EXPECT_EQ(saved_bytes("relu_output_1"), bytes_of(second));
  EXPECT_THAT(names(), Not(Contains(HasSubstr("tanh"))));
  EXPECT_THAT(close().never_saved, IsEmpty());
}

TEST_F(ListeningSteps, have_nothing_of_what_comes_behind_their_end) {
  watch().register_module(*net);
  watch().next_step();
  const at::Tensor output = forward();
  hook().end_step();
  forward();
  expect_everything(output);
  EXPECT_FALSE(trial().has_tensor("relu_output_1"));
  EXPECT_THAT(close().problems, IsEmpty());
}

TEST_F(ListeningSteps, have_their_last_output_where_another_thread_closes_the_hook) {
  watch().register_module(*net);
  watch().next_step();
  const at::Tensor output = torch::relu(images());
  std::thread([this] { close(); }).join();
  EXPECT_EQ(saved_bytes("relu_output_0"), bytes_of(output));
}

TEST_F(ListeningSteps, of_a_second_watch_of_the_hook_are_refused) {
  watch().register_module(*net);
  EXPECT_THROW(libtorch::Watch second(hook()), UsageError);
  watch().next_step();
  const at::Tensor output = torch::relu(images());
  EXPECT_EQ(saved_bytes("relu_output_0"), bytes_of(output));
}

TEST_F(ListeningSteps, of_a_second_watch_that_listens_to_nothing_are_refused) {
  watch_options = {.layers = false, .activations = false, .losses = false};
  watch();
  EXPECT_THROW(libtorch::Watch second(hook(), watch_options), UsageError);
  EXPECT_THROW(libtorch::Watch third(hook()), UsageError);
  end_watch();
  EXPECT_NO_THROW(libtorch::Watch after(hook()));
}

}  // namespace
}  // namespace cupel::testing
