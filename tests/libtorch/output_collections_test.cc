// The collections in which a watch lists what modules return: by the class of the module whose
// parameters an operator reads, or by the operator itself.

#include "operator_recorder.h"
#include "watch_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class OutputCollections : public WatchTest {
 protected:
  OutputCollections() { options.save_all = true; }
  // The outputs in a collection.
  std::vector<std::string> outputs_in(const char* collection) {
    std::vector<std::string> names = names_in(collection);
    std::erase_if(
        names, [](const std::string& name) { return name.find("_output_") == std::string::npos; });
    return names;
  }
};

struct AttendingImpl : torch::nn::Module {
  AttendingImpl() {
    att = register_module("att", torch::nn::MultiheadAttention(4, 2));
    fc = register_module("fc", torch::nn::Linear(4, 2));
  }
  at::Tensor forward(const at::Tensor& x) { return fc(std::get<0>(att(x, x, x))); }
  torch::nn::MultiheadAttention att{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Attending);

TEST_F(OutputCollections, attention_has_what_operators_of_an_attention_module_return) {
  Attending net;
  watch().register_module(*net);
  watch().next_step();
  net->forward(torch::rand({3, 1, 4}));
  EXPECT_THAT(outputs_in("attention"), Contains("att.in_proj_output_0"));
  EXPECT_THAT(outputs_in("attention"), Not(Contains(HasSubstr("fc"))));
}

TEST_F(OutputCollections, attention_has_what_the_attention_operator_returns) {
  if (!libtorch_test::has_operator("scaled_dot_product_attention"))
    GTEST_SKIP() << "this torch has no such operator";
  watch().next_step();
  const at::Tensor x = torch::rand({1, 2, 3, 4});
  libtorch_test::call_operator("scaled_dot_product_attention", "", {x, x, x});
  EXPECT_THAT(outputs_in("attention"), ElementsAre("scaled_dot_product_attention_output_0"));
  EXPECT_THAT(outputs_in("activations"), IsEmpty());
}

TEST_F(OutputCollections, activations_has_outputs_of_an_activation_with_parameters) {
  torch::nn::Sequential net(torch::nn::Linear(3, 3), torch::nn::PReLU());
  watch().register_module(*net, "Net");
  watch().next_step();
  net->forward(torch::randn({2, 3}));
  EXPECT_THAT(outputs_in("activations"), ElementsAre("1_output_0"));
}

}  // namespace
}  // namespace cupel::testing
