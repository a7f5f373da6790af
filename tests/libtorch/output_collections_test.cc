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

// Operators of attention that this torch has; 1.13 has none.
std::vector<std::string> attention_operators() {
  std::vector<std::string> names = {"scaled_dot_product_attention"};
  std::erase_if(names, [](const std::string& name) { return !libtorch_test::has_operator(name); });
  return names;
}

class AttentionOperator : public OutputCollections,
                          public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Of, AttentionOperator, ::testing::ValuesIn(attention_operators()),
                         [](const auto& operator_name) { return operator_name.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AttentionOperator);

TEST_P(AttentionOperator, gives_its_outputs_to_attention_and_not_to_activations) {
  watch().next_step();
  const at::Tensor x = torch::rand({1, 2, 3, 4});
  libtorch_test::call_operator(GetParam(), "", {x, x, x});
  EXPECT_THAT(outputs_in("attention"), ElementsAre(GetParam() + "_output_0"));
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
