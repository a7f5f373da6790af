// Compiled as a target of its own, which does not link torch. Where torch's headers are found all
// the same, as those of a system package are, torch's types are incomplete here nevertheless.

#include <gtest/gtest.h>

#include "cupel/libtorch/watch.h"

namespace cupel::libtorch {
namespace {

template <class T>
concept Complete = requires {
  sizeof(T);
};

TEST(Header, compiles_without_headers_of_torch) {
  EXPECT_FALSE(Complete<at::Tensor>);
  EXPECT_FALSE(Complete<torch::nn::Module>);
  EXPECT_FALSE(Complete<torch::jit::Module>);
  EXPECT_TRUE(Complete<Watch>);
}

}  // namespace
}  // namespace cupel::libtorch
