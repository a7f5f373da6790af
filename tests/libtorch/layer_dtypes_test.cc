// Layers under autocast, and of tensors that are not plain: channels_last, conjugate and negative
// views. What a capture delivers is compared by bytes with what the layer itself took and returned,
// in the dtype that torch gave it.

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator_recorder.h"

namespace cupel::libtorch_test {
namespace {

using ::testing::ElementsAre;
namespace nn = torch::nn;

// Torch 2 has other names for this.
void switch_autocast(bool on) {
#if TORCH_VERSION_MAJOR < 2
  at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
  at::autocast::set_cpu_enabled(on);
#else
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, on);
#endif
  if (!on) at::autocast::clear_cache();
}

TEST(LayersUnderAutocast, have_inputs_as_given_outputs_in_bf16_and_losses_in_f32) {
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 3));
  OperatorRecorder recorder;
  recorder.watch(*net);
  const at::Tensor x = torch::rand({2, 3});
  at::Tensor output;
  for (int step = 0; step < 2; ++step) {
    const Names names = recorder.during([&] {
      switch_autocast(true);
      output = net->forward(x);
      const at::Tensor loss = torch::mse_loss(output, x);
      switch_autocast(false);
      loss.backward();
    });
    EXPECT_THAT(
        names, ElementsAre("0_input_0", "0_output_0", "relu_input_0", "relu_output_0", "2_input_0",
                           "2_output_0", "MSELoss_input_0", "MSELoss_input_1", "MSELoss_output_0"));
    EXPECT_TRUE(same_bytes(recorder.value("0_input_0"), x));
    EXPECT_EQ(recorder.value("0_output_0").scalar_type(), at::kBFloat16);
    EXPECT_TRUE(same_bytes(recorder.value("2_output_0"), output));
    EXPECT_EQ(recorder.value("MSELoss_output_0").scalar_type(), at::kFloat);
  }
}

TEST(LayersOfViews, of_channels_last_are_matched_and_have_their_values) {
  nn::Conv2d conv(3, 4, 2);
  conv->weight.set_data(conv->weight.to(at::MemoryFormat::ChannelsLast));
  OperatorRecorder recorder;
  recorder.watch(*conv);
  const at::Tensor x = torch::rand({2, 3, 6, 6}).to(at::MemoryFormat::ChannelsLast);
  const at::Tensor returned = conv(x);
  EXPECT_THAT(recorder.during([&] { conv(x).relu_(); }),
              ElementsAre("Net_input_0", "Net_output_0", "relu_input_0", "relu_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("Net_input_0"), x));
  EXPECT_TRUE(same_bytes(recorder.value("Net_output_0"), returned));
}

TEST(LayersOfViews, of_conjugate_views_are_matched_and_have_their_values) {
  OperatorRecorder recorder;
  const at::Tensor weight = recorder.parameter(torch::randn({3, 4}, torch::kComplexFloat));
  const at::Tensor x = torch::randn({2, 3}, torch::kComplexFloat).conj();
  ASSERT_TRUE(x.is_conj());
  const at::Tensor returned = torch::mm(x, weight.conj());
  EXPECT_THAT(recorder.during([&] { torch::mm(x, weight.conj()); }),
              ElementsAre("m_input_0", "m_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("m_input_0"), x));
  EXPECT_TRUE(same_bytes(recorder.value("m_output_0"), returned));
}

TEST(LayersOfViews, of_negative_views_are_matched_and_have_their_values) {
  OperatorRecorder recorder;
  const at::Tensor weight = recorder.parameter(torch::rand({3, 4}));
  const at::Tensor x = torch::_neg_view(torch::rand({2, 3}));
  ASSERT_TRUE(x.is_neg());
  const at::Tensor returned = torch::mm(x, torch::_neg_view(weight));
  EXPECT_THAT(recorder.during([&] { torch::mm(x, torch::_neg_view(weight)); }),
              ElementsAre("m_input_0", "m_output_0"));
  EXPECT_TRUE(same_bytes(recorder.value("m_input_0"), x));
  EXPECT_TRUE(same_bytes(recorder.value("m_output_0"), returned));
}

TEST(LayersOfViews, of_inference_mode_are_matched) {
  nn::Linear net(3, 4);
  OperatorRecorder recorder;
  recorder.watch(*net);
  EXPECT_THAT(recorder.during([&] {
    const c10::InferenceMode inference;
    net(torch::rand({5, 2, 3}));
  }),
              ElementsAre("Net_input_0", "Net_output_0"));
}

}  // namespace
}  // namespace cupel::libtorch_test
