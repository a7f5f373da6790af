#include "operator_debug_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/log_capture.h"
#include "operator_recorder.h"

namespace cupel::libtorch_test {
namespace {

namespace nn = torch::nn;

int failed_reads = 0, reads = 0;

std::unique_ptr<at::ObserverContext> read_inputs(const at::RecordFunction& function) {
  if (failed_reads != 0) return nullptr;  // each takes long, as torch collects its stack
  ++reads;
  try {
    inputs_as_a_debug_source_reads_them(function);
  } catch (const std::exception&) {
    ++failed_reads;
  }
  return nullptr;
}

TEST(OperatorDebugSource, without_ndebug_and_linked_first_does_no_harm) {
  const cupel::testing::LogCapture log;
  OperatorRecorder recorder;
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2));
  recorder.watch(*net);
  const at::Tensor x = torch::rand({2, 3});
  const Names expected{"0_input_0",     "0_output_0", "relu_input_0",
                       "relu_output_0", "2_input_0",  "2_output_0"};
  for (int step = 0; step < 100; ++step)
    EXPECT_THAT(recorder.during([&] { net->forward(x); }), ::testing::ElementsAreArray(expected));
  EXPECT_THAT(log.lines(), ::testing::IsEmpty());
}

// Else the test above shows nothing.
TEST(OperatorDebugSource, has_the_assertion_that_fails_with_this_torch) {
  reads = failed_reads = 0;
  const at::CallbackHandle callback =
      at::addThreadLocalCallback(at::RecordFunctionCallback(&read_inputs)
                                     .needsInputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  // Memory that was used before: the byte has all kinds of values.
  for (int call = 0; call < 1000; ++call) torch::rand({2, 3}).matmul(torch::rand({3, 2})).sum();
  at::removeCallback(callback);
  EXPECT_GT(reads, 0);
  EXPECT_GT(failed_reads, 0);
}

}  // namespace
}  // namespace cupel::libtorch_test
