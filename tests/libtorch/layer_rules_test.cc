// The rules by which operators are taken for layers, or left out: names, owners, biases, threads,
// captures, forks. A recorder copies what a capture delivers, and tests compare its names and
// values; no hook is involved.

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cmath>
#include <latch>
#include <optional>
#include <thread>

#include "core/log_capture.h"
#include "operator_recorder.h"

namespace cupel::libtorch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace nn = torch::nn;

class LayerRules : public ::testing::Test {
 protected:
  at::Tensor x = torch::randn({2, 3});
  OperatorRecorder recorder;
};

TEST_F(LayerRules, of_the_root_itself_have_the_name_of_the_root) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  EXPECT_THAT(recorder.during([&] { net(x); }), ElementsAre("Net_input_0", "Net_output_0"));
}

TEST_F(LayerRules, have_the_dotted_path_of_their_module) {
  nn::Sequential body(nn::Tanh(), nn::Linear(3, 4));
  nn::Module root;
  root.register_module("body", body);
  recorder.watch(root);
  EXPECT_THAT(recorder.during([&] { body->forward(x); }),
              ElementsAre("tanh_input_0", "tanh_output_0", "body.1_input_0", "body.1_output_0"));
}

TEST_F(LayerRules, with_a_weight_of_another_name_have_its_stem) {
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}), "experts", "gate_up_proj");
  EXPECT_THAT(recorder.during([&] { torch::mm(x, weight); }),
              ElementsAre("experts.gate_up_proj_input_0", "experts.gate_up_proj_output_0"));
}

TEST_F(LayerRules, with_a_numbered_weight_have_no_stem) {
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}), "rnn", "weight_ih_l0");
  EXPECT_THAT(recorder.during([&] { torch::mm(x, weight); }),
              ElementsAre("rnn_input_0", "rnn_output_0"));
}

TEST_F(LayerRules, called_twice_are_delivered_twice) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  EXPECT_THAT(recorder.during([&] {
    net(x);
    net(x);
  }),
              ElementsAre("Net_input_0", "Net_output_0", "Net_input_1", "Net_output_1"));
}

TEST_F(LayerRules, are_no_operators_whose_tensors_are_all_parameters) {
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}));
  EXPECT_THAT(recorder.during([&] { torch::mm(weight, weight.t()); }), IsEmpty());
}

TEST_F(LayerRules, are_no_products_without_parameters) {
  recorder.parameter(torch::rand({3, 4}));
  EXPECT_THAT(recorder.during([&] { torch::mm(x, x.t()); }), IsEmpty());
}

TEST_F(LayerRules, are_no_element_wise_operators_on_parameters) {
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}));
  EXPECT_THAT(recorder.during([&] {
    (weight * 0.5 + weight.pow(2).sum()).sqrt();
    weight.add_(torch::ones({3, 4}), -0.1);
    weight.norm();
  }),
              IsEmpty());
}

TEST_F(LayerRules, are_no_updates_of_an_optimizer) {
  nn::Linear net(3, 4);
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.1));
  net(x).sum().backward();
  recorder.watch(*net);
  EXPECT_THAT(recorder.during([&] { adam.step(); }), IsEmpty());
}

TEST_F(LayerRules, are_no_operators_of_a_backward_pass) {
  nn::Sequential net(nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 2));
  recorder.watch(*net);
  const at::Tensor loss = net->forward(x).sum();
  EXPECT_THAT(recorder.during([&] { loss.backward(); }), IsEmpty());
}

TEST_F(LayerRules, are_no_operators_within_another_recorded_function) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  EXPECT_THAT(recorder.during([&] {
    RECORD_FUNCTION("a function of the user", {});
    net(x);
  }),
              IsEmpty());
}

TEST_F(LayerRules, are_seen_behind_an_operator_that_throws) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  EXPECT_THAT(recorder.during([&] {
    EXPECT_ANY_THROW(net(torch::rand({2, 5})));
    net(x);
  }),
              ElementsAre("Net_input_0", "Net_input_1", "Net_output_0"));
}

TEST_F(LayerRules, with_weight_norm_are_found_by_the_bias_and_have_one_input) {
  const at::Tensor direction = recorder.parameter(torch::rand({4, 3}), "fc", "weight_v");
  const at::Tensor size = recorder.parameter(torch::rand({4, 1}), "fc", "weight_g");
  const at::Tensor bias = recorder.parameter(torch::rand({4}), "fc", "bias");
  const auto names = recorder.during([&] {
    const at::Tensor weight = torch::_weight_norm(direction, size, 0);
    nn::functional::linear(x, weight, bias);
    torch::linear(x, weight, bias);
  });
  EXPECT_THAT(names, ElementsAre("fc_input_0", "fc_output_0", "fc_input_1", "fc_output_1"));
  EXPECT_TRUE(same_bytes(recorder.value("fc_input_0"), x));
}

TEST_F(LayerRules, with_a_learned_state_have_the_name_of_the_weights) {
  nn::GRU gru(3, 4);
  nn::Module root;
  root.register_module("gru", gru);
  const at::Tensor state = root.register_parameter("state", torch::rand({1, 2, 4}));
  recorder.watch(root);
  EXPECT_THAT(recorder.during([&] {
    gru->forward(torch::rand({5, 2, 3}), state);
  }),
              ElementsAre("gru_input_0", "gru_output_0", "gru_output_1"));
}

// ------------------------------------------------------------------------------------------ bias

class LayerBias : public LayerRules {
 protected:
  at::Tensor weight = recorder.parameter(torch::rand({3, 4}), "fc", "weight");
  at::Tensor bias = recorder.parameter(torch::rand({4}), "fc", "bias");
};

TEST_F(LayerBias, added_in_place_counts_in) {
  at::Tensor sum;
  recorder.during([&] { sum = torch::mm(x, weight).add_(bias); });
  EXPECT_THAT(recorder.names(), ElementsAre("fc_input_0", "fc_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), sum));
}

TEST_F(LayerBias, added_on_either_side_counts_in) {
  at::Tensor sum;
  recorder.during([&] { sum = bias + torch::mm(x, weight); });
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), sum));
}

TEST_F(LayerBias, of_another_module_does_not_count_in) {
  const at::Tensor other = recorder.parameter(torch::rand({4}), "other", "bias");
  const at::Tensor product = torch::mm(x, weight);
  recorder.during([&] { torch::mm(x, weight).add_(other); });
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), product));
}

TEST_F(LayerBias, that_is_no_parameter_does_not_count_in) {
  const at::Tensor product = torch::mm(x, weight);
  recorder.during([&] { torch::mm(x, weight).add_(torch::ones({4})); });
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), product));
}

TEST_F(LayerBias, behind_another_operator_does_not_count_in) {
  const at::Tensor product = torch::mm(x, weight);
  recorder.during([&] { torch::mm(x, weight).neg_().add_(bias); });
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), product));
}

TEST_F(LayerBias, added_to_a_view_of_the_product_does_not_count_in) {
  const at::Tensor product = torch::mm(x, weight);
  recorder.during([&] { torch::mm(x, weight).view({2, 4}).add_(bias); });
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), product));
}

TEST_F(LayerBias, counts_in_once) {
  const at::Tensor sum = torch::addmm(bias, x, weight);
  recorder.during([&] { torch::addmm(bias, x, weight).add_(bias); });
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), sum));
}

TEST_F(LayerBias, added_to_a_norm_or_an_embedding_does_not_count_in) {
  const at::Tensor table = recorder.parameter(torch::rand({7, 4}), "fc", "words");
  const at::Tensor indices = torch::tensor({4, 0});
  recorder.during([&] { torch::embedding(table, indices).add(bias); });
  EXPECT_TRUE(same_bytes(recorder.value("fc.words_output_0"), torch::embedding(table, indices)));
}

TEST_F(LayerBias, that_cannot_be_added_leaves_the_product) {
  const at::Tensor long_bias = recorder.parameter(torch::rand({5}), "fc", "bias");
  const at::Tensor product = torch::mm(x, weight);
  recorder.during([&] { EXPECT_ANY_THROW(torch::mm(x, weight).add_(long_bias)); });
  EXPECT_THAT(recorder.names(), ElementsAre("fc_input_0", "fc_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), product));
}

// --------------------------------------------------------------------------------------- storage

TEST_F(LayerRules, of_views_of_a_parameter_are_found) {
  const at::Tensor weight = recorder.parameter(torch::rand({8, 3}));
  EXPECT_THAT(recorder.during([&] { torch::mm(x, weight.slice(0, 4, 8).t()); }),
              ElementsAre("m_input_0", "m_output_0"));
}

TEST_F(LayerRules, of_parameters_in_one_storage_are_distinguished) {
  const at::Tensor flat = torch::rand({24});
  const at::Tensor first = recorder.parameter(flat.slice(0, 0, 12).view({3, 4}), "a");
  const at::Tensor second = recorder.parameter(flat.slice(0, 12, 24).view({4, 3}), "b");
  EXPECT_THAT(recorder.during([&] { torch::mm(torch::mm(x, first), second); }),
              ElementsAre("a_input_0", "a_output_0", "b_input_0", "b_output_0"));
}

TEST_F(LayerRules, of_a_storage_beside_its_parameter_are_not_found) {
  const at::Tensor flat = torch::rand({24});
  recorder.parameter(flat.slice(0, 0, 12), "a");
  EXPECT_THAT(recorder.during([&] {
    torch::mm(x, flat.slice(0, 12, 24).view({3, 4}));
  }),
              IsEmpty());
}

TEST_F(LayerRules, of_a_shared_parameter_have_the_first_name) {
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}), "first");
  recorder.parameter(weight, "second");
  EXPECT_THAT(recorder.during([&] { torch::mm(x, weight); }),
              ElementsAre("first_input_0", "first_output_0"));
}

TEST_F(LayerRules, are_found_when_a_module_has_changed_its_dtype) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  recorder.during([&] { net(x); });
  net->to(torch::kDouble);
  const at::Tensor input = x.to(torch::kDouble);
  EXPECT_THAT(recorder.during([&] { net(input); }), ElementsAre("Net_input_0", "Net_output_0"));
}

// The memory of old data is free: another tensor's now, perhaps at the same address.
TEST_F(LayerRules, are_not_found_by_the_memory_that_a_parameter_had) {
  at::Tensor weight = recorder.parameter(torch::rand({3, 4}));
  recorder.during([] {});
  for (int attempt = 0; attempt < 20; ++attempt) {
    weight.set_data(torch::rand({3, 4}));
    const at::Tensor activation = torch::rand({3, 4});
    EXPECT_THAT(recorder.during([&] { torch::mm(x, activation); }), IsEmpty());
  }
}

TEST_F(LayerRules, are_no_operators_on_tensors_without_storage) {
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}));
  const at::Tensor sparse = torch::eye(3).to_sparse();
  recorder.parameter(sparse, "sparse");
  recorder.parameter(at::Tensor(), "undefined");
  EXPECT_THAT(recorder.during([&] { torch::mm(sparse, torch::rand({3, 3})); }), IsEmpty());
  EXPECT_THAT(recorder.during([&] { torch::mm(sparse, weight); }),
              ElementsAre("m_input_0", "m_output_0"));
}

// -------------------------------------------------------------------------------- common modules

TEST(FusedAttention, of_the_root_itself_has_the_name_of_the_root) {
  if (!has_operator("_native_multi_head_attention")) FAIL() << "no such operator";
  OperatorRecorder recorder;
  const at::NoGradGuard no_gradients;
  const at::Tensor query = torch::rand({2, 3, 4});
  const std::vector<c10::IValue> arguments{
      query,
      query,
      query,
      4,
      2,
      recorder.parameter(torch::rand({12, 4}), "Net", "in_proj_weight"),
      recorder.parameter(torch::rand({12}), "Net", "in_proj_bias"),
      recorder.parameter(torch::rand({4, 4}), "out_proj", "weight"),
      recorder.parameter(torch::rand({4}), "out_proj", "bias")};
  EXPECT_THAT(
      recorder.during([&] { call_operator("_native_multi_head_attention", "", arguments); }),
      ElementsAre("Net_input_0", "Net_input_1", "Net_input_2", "Net_output_0"));
}

TEST(FusedAttention, of_modules_with_equal_beginnings_has_their_path_and_no_part_of_a_name) {
  OperatorRecorder recorder;
  const at::NoGradGuard no_gradients;
  const at::Tensor query = torch::rand({2, 3, 4});
  const std::vector<c10::IValue> arguments{
      query,
      query,
      query,
      4,
      2,
      recorder.parameter(torch::rand({12, 4}), "layers.10", "in_proj_weight"),
      recorder.parameter(torch::rand({12}), "layers.10", "in_proj_bias"),
      recorder.parameter(torch::rand({4, 4}), "layers.1", "weight"),
      recorder.parameter(torch::rand({4}), "layers.1", "bias")};
  EXPECT_THAT(
      recorder.during([&] { call_operator("_native_multi_head_attention", "", arguments); }),
      ElementsAre("layers_input_0", "layers_input_1", "layers_input_2", "layers_output_0"));
}

// --------------------------------------------------------------------- activations and losses

TEST_F(LayerRules, losses_and_activations_are_delivered_only_when_they_are_wanted) {
  nn::Sequential net(nn::Linear(3, 3), nn::ReLU());
  const auto work = [&] { torch::mse_loss(net->forward(x), x); };
  OperatorRecorder layers({.activations = false, .losses = false});
  OperatorRecorder activations({.layers = false, .losses = false});
  OperatorRecorder losses({.layers = false, .activations = false});
  for (OperatorRecorder* one : {&layers, &activations, &losses}) one->watch(*net);
  EXPECT_THAT(layers.during(work), ElementsAre("0_input_0", "0_output_0"));
  EXPECT_THAT(activations.during(work), ElementsAre("relu_input_0", "relu_output_0"));
  EXPECT_THAT(losses.during(work),
              ElementsAre("MSELoss_input_0", "MSELoss_input_1", "MSELoss_output_0"));
}

TEST_F(LayerRules, a_loss_within_another_is_not_counted) {
  const at::Tensor classes = torch::tensor({0, 2});
  EXPECT_THAT(recorder.during([&] { nn::CrossEntropyLoss()(x, classes); }),
              ElementsAre("CrossEntropyLoss_input_0", "CrossEntropyLoss_input_1",
                          "CrossEntropyLoss_output_0"));
}

TEST_F(LayerRules, a_loss_is_delivered_when_its_backward_pass_begins) {
  nn::Linear net(3, 3);
  recorder.watch(*net);
  Names behind_backward;
  recorder.during([&] {
    const at::Tensor loss = torch::mse_loss(net(x), x);
    loss.backward();
    behind_backward = recorder.names();
  });
  EXPECT_THAT(behind_backward, ElementsAre("Net_input_0", "Net_output_0", "MSELoss_input_0",
                                           "MSELoss_input_1", "MSELoss_output_0"));
}

// ------------------------------------------------------------------------------------- switching

TEST_F(LayerRules, are_not_delivered_while_nobody_listens) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  net(x);
  recorder.during([&] {});
  net(x);
  EXPECT_THAT(recorder.values(), IsEmpty());
}

TEST_F(LayerRules, that_are_pending_are_delivered_by_a_pause_and_nothing_behind_it) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  recorder.during([&] {
    net(x);
    recorder.capture().pause();
    EXPECT_THAT(recorder.names(), ElementsAre("Net_input_0", "Net_output_0"));
    net(x);
    recorder.capture().pause();
    EXPECT_EQ(recorder.values().size(), 2);
    recorder.capture().listen(true);
    net(x);
  });
  EXPECT_THAT(recorder.names(),
              ElementsAre("Net_input_0", "Net_output_0", "Net_input_1", "Net_output_1"));
}

TEST_F(LayerRules, outputs_are_not_kept_when_they_have_been_delivered) {
  nn::Linear net(3, 4);
  recorder.watch(*net);
  at::Tensor output;
  recorder.during([&] {
    output = net(x).detach();
    torch::zeros({1});
    EXPECT_EQ(output.use_count(), 1);
  });
}

TEST_F(LayerRules, copies_of_our_own_are_ignored_and_flush_nothing) {
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}), "fc", "weight");
  const at::Tensor bias = recorder.parameter(torch::rand({4}), "fc", "bias");
  at::Tensor sum;
  recorder.during([&] {
    at::Tensor product = torch::mm(x, weight);
    {
      const libtorch_detail::IgnoredOperators ignored;
      product.clone().relu();
    }
    sum = product.add_(bias);
  });
  EXPECT_THAT(recorder.names(), ElementsAre("fc_input_0", "fc_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("fc_output_0"), sum));
}

TEST(OperatorCaptures, several_see_the_same_operators_under_their_own_names) {
  nn::Linear net(3, 4);
  OperatorRecorder one, two;
  one.parameter(net->weight, "one");
  two.parameter(net->weight, "two");
  const at::Tensor x = torch::randn({2, 3});
  one.during([&] { two.during([&] { net(x); }); });
  EXPECT_THAT(one.names(), ElementsAre("one_input_0", "one_output_0"));
  EXPECT_THAT(two.names(), ElementsAre("two_input_0", "two_output_0"));
}

TEST(OperatorCaptures, one_that_ends_leaves_the_other_listening) {
  nn::Linear net(3, 4);
  std::optional<OperatorRecorder> one(std::in_place);
  OperatorRecorder two;
  one->watch(*net);
  two.watch(*net);
  one->capture().listen(true);
  EXPECT_THAT(two.during([&] {
    one.reset();
    net(torch::rand({2, 3}));
  }),
              ElementsAre("Net_input_0", "Net_output_0"));
}

TEST(OperatorCaptures, deliver_what_is_pending_and_go_on_listening) {
  OperatorRecorder recorder;
  EXPECT_THAT(recorder.during([&] {
    torch::relu(torch::rand({2}));
    recorder.capture().deliver();
    EXPECT_THAT(recorder.names(), ElementsAre("relu_input_0", "relu_output_0"));
    torch::relu(torch::rand({2}));
  }),
              ElementsAre("relu_input_0", "relu_output_0", "relu_input_1", "relu_output_1"));
}

TEST(OperatorCaptures, a_receiver_that_throws_is_logged_once_and_the_operators_run) {
  const cupel::testing::LogCapture log;
  nn::Linear net(3, 4);
  OperatorCapture capture({}, [](const CapturedValues&) { throw std::runtime_error("receiver"); });
  capture.add_parameter(net->weight, "Net", "weight", "Net");
  const at::Tensor x = torch::rand({2, 3});
  const at::Tensor expected = net(x);
  capture.listen(true);
  EXPECT_TRUE(same_bytes(net(x), expected));
  EXPECT_TRUE(same_bytes(net(x), expected));
  capture.listen(false);
  EXPECT_THAT(log.lines(),
              ElementsAre(::testing::Pair(LogLevel::Warning, ::testing::HasSubstr("receiver"))));
}

TEST(OperatorCaptures, gradients_are_off_in_the_receiver_and_as_before_behind_it) {
  nn::Linear net(3, 4);
  bool in_receiver = true;
  OperatorCapture capture(
      {}, [&](const CapturedValues&) { in_receiver = torch::GradMode::is_enabled(); });
  capture.add_parameter(net->weight, "Net", "weight", "Net");
  capture.listen(true);
  const at::Tensor output = net(torch::rand({2, 3}));
  capture.listen(false);
  EXPECT_FALSE(in_receiver);
  EXPECT_TRUE(torch::GradMode::is_enabled());
  EXPECT_TRUE(output.requires_grad());
}

// ---------------------------------------------------------------------------------------- threads

TEST(OperatorThreads, operators_of_each_are_matched_by_themselves) {
  OperatorRecorder recorder;
  nn::Linear a(3, 4), b(3, 4);
  for (const auto& [module, net] : {std::pair("a", a), std::pair("b", b)}) {
    recorder.parameter(net->weight, module, "weight");
    recorder.parameter(net->bias, module, "bias");
  }
  std::barrier turn(2);
  const auto run = [&](nn::Linear net) {
    for (int call = 0; call < 50; ++call) {
      net(torch::rand({5, 2, 3}));  // a product and its bias
      turn.arrive_and_wait();
    }
  };
  recorder.during([&] {
    std::thread other(run, b);
    run(a);
    other.join();
  });
  EXPECT_EQ(recorder.values().size(), 4 * 50);
  std::map<std::string, std::set<std::thread::id>> threads;
  for (const auto& value : recorder.values()) threads[value.name.substr(0, 1)].insert(value.thread);
  EXPECT_EQ(threads["a"], std::set{std::this_thread::get_id()});
  for (int call = 0; call < 50; ++call) {
    const std::string number = std::to_string(call);
    for (const auto& [module, net] : {std::pair("a", a), std::pair("b", b)}) {
      nn::Linear layer = net;
      EXPECT_TRUE(same_bytes(layer(recorder.value(module + ("_input_" + number))),
                             recorder.value(module + ("_output_" + number))));
    }
  }
}

TEST(OperatorThreads, what_is_pending_on_another_is_delivered_by_a_pause) {
  OperatorRecorder recorder;
  nn::Linear net(3, 4);
  recorder.watch(*net);
  std::latch done(1), paused(1);
  recorder.during([&] {
    std::thread other([&] {
      net(torch::rand({2, 3}));
      done.count_down();
      paused.wait();
    });
    done.wait();
    EXPECT_EQ(recorder.values().size(), 1);
    recorder.capture().pause();
    EXPECT_EQ(recorder.values().size(), 2);
    paused.count_down();
    other.join();
  });
}

TEST(OperatorThreads, what_is_pending_on_one_that_has_ended_is_delivered) {
  OperatorRecorder recorder;
  nn::Linear net(3, 4);
  recorder.watch(*net);
  EXPECT_THAT(recorder.during([&] { std::thread([&] {
                                      net(torch::rand({2, 3}));
                                    }).join(); }),
              ElementsAre("Net_input_0", "Net_output_0"));
}

TEST(OperatorThreads, captures_come_and_go_while_operators_run) {
  nn::ModuleList nets(nn::Linear(3, 4), nn::Linear(3, 4), nn::Linear(3, 4));
  const auto train = [](nn::Linear net) {
    const at::Tensor x = torch::rand({2, 3});
    torch::mse_loss(net(x).relu(), torch::zeros({2, 4})).backward();
  };
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (const std::size_t k : {0, 1})
    threads.emplace_back([&, net = nn::Linear(nets->ptr<nn::LinearImpl>(k))] {
      while (!stop) train(net);
    });
  std::size_t seen = 0;
  for (int k = 0; k < 200; ++k) {
    OperatorRecorder recorder;
    recorder.watch(*nets);
    recorder.capture().listen(true);
    train(nn::Linear(nets->ptr<nn::LinearImpl>(2)));
    if (k % 2 != 0) continue;  // its end finds it listening
    recorder.capture().listen(false);
    for (const auto& value : recorder.values()) seen += value.name == "2_output_0" ? 1 : 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, 100);
}

TEST(OperatorProcesses, a_capture_is_silent_in_the_child_of_a_fork_and_the_child_may_have_its_own) {
  OperatorRecorder recorder;
  nn::Linear net(3, 4);
  recorder.watch(*net);
  const at::Tensor x = torch::rand({2, 3});
  recorder.during([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      net(x);
      recorder.capture().listen(false);
      OperatorRecorder own;
      own.watch(*net);
      const bool is_right = own.during([&] { net(x); }).size() == 2 && recorder.values().empty();
      ::_exit(is_right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    net(x);
  });
  EXPECT_THAT(recorder.names(), ElementsAre("Net_input_0", "Net_output_0"));
}

}  // namespace
}  // namespace cupel::libtorch_test
